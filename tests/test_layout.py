"""The layout of the page's two sides: a tab is a folder on both, and knows no other tab."""

import re
from pathlib import Path

import pytest

from viz_encoder.bundled import asset
from viz_encoder.ui.tabs import TABS

ROOT = Path(__file__).parent.parent
WEB = asset("web")
MODULES = sorted(WEB.rglob("*.js"))
NAMES = [tab.name for tab in TABS]
# What each folder may take modules from, beside itself; tabs and the offline page know no tab.
MAY_USE = {"core": set(), "views": {"core"}}
OF_A_TAB = {"core", "views"}


# What stands around a tab must not be chosen by what is in it: each change of a tab would style all
# of it anew, and a click on a head took four times as long. These hold little, or match once.
MAY_HAVE = (
    ":root",
    "#viz-inputs",
    "#viz-notice",
    "#viz-tries",
    "#viz-run-host",
    ".viz-changed",
    '.viz-learn[data-painted$=":1"]',
    ".viz-check",
    ".viz-zoo-section",
)


def test_nothing_around_a_tab_is_styled_by_what_is_in_it():
    for sheet in WEB.rglob("*.css"):
        plain = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)
        for subject in re.findall(r"([^\s,{}>]*?)(?::not\()?:has\(", plain):
            assert subject in MAY_HAVE, f"{sheet.name}: {subject}:has(…)"


def imported(module: Path) -> list[Path]:
    found = re.findall(r'(?:from|import)\s*\(?\s*"(\.[^"]+)"', module.read_text())
    return [(module.parent / path).resolve() for path in found]


def test_a_folder_takes_modules_from_below_alone():
    for module in MODULES:
        folder = module.relative_to(WEB).parts[0]
        for path in imported(module):
            assert path.exists(), f"{module} imports {path}, which is not there"
            other = path.relative_to(WEB.resolve()).parts[0]
            allowed = MAY_USE.get(folder, OF_A_TAB) | {folder}
            assert other in allowed, f"{module.relative_to(WEB)} imports {path.relative_to(WEB)}"


def test_modules_import_each_other():
    assert sum(len(imported(module)) for module in MODULES) > 200  # or nothing was looked at


def test_a_module_opens_with_what_it_is():
    first = {module.name: module.read_text().splitlines()[0] for module in MODULES}
    assert {name: line for name, line in first.items() if not re.match(r"// .{20}", line)} == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_tab_is_a_folder_on_both_sides(name):
    assert (ROOT / "viz_encoder" / "ui" / "tabs" / name / "tab.py").is_file()
    assert (WEB / name / "tab.js").is_file() and (WEB / name / "tab.css").is_file()


def test_no_folder_of_the_browser_side_is_left_over():
    folders = {path.name for path in WEB.iterdir() if path.is_dir()}
    assert folders == {"core", "views", "offline", *NAMES}


def test_only_the_browser_side_is_in_the_served_folder():
    endings = {path.suffix for path in WEB.rglob("*") if path.is_file()}
    assert endings <= {".js", ".css", ".html", ".ts"}


@pytest.mark.parametrize("file", ["page.py", "serve.py", "tab.py", "launch.py"])
def test_the_page_names_no_tab(file):
    text = (ROOT / "viz_encoder" / "ui" / file).read_text().replace('"show_progress": "hidden"', "")
    named = [name for name in NAMES if re.search(rf"tabs\.{name}|[\"']{name}[\"'/]", text)]
    assert named == []
