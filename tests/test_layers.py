"""Layers: what the import contracts cannot see, and methods that a layer above does.

`make check` holds the imports themselves, also those within functions: see .importlinter.
"""

import ast
import inspect
import re
from pathlib import Path

import pytest

import viz_encoder
from viz_encoder.bundled import asset
from viz_encoder.ui.notebook.show import show
from viz_encoder.ui.tabs import TABS

PACKAGE = Path(viz_encoder.__file__).parent
OWN = re.compile(r"viz_encoder(\.\w*)*")
BY_NAME = re.compile(r"\b(import_module|__import__)\b")


def named_modules(source: str) -> list[str]:
    """Modules of the package that a file which imports by name writes out."""
    if not BY_NAME.search(source):
        return []
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and OWN.fullmatch(text)]


def test_only_the_package_itself_imports_its_modules_by_name():
    files = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    files.pop(PACKAGE / "__init__.py")
    assert sum(bool(BY_NAME.search(text)) for text in files.values()) > 5  # discovery, by __name__
    assert {path: found for path, text in files.items() if (found := named_modules(text))} == {}


METHODS = [
    (kind, name, show if name == "show" else function)  # which is imported late
    for kind, functions in viz_encoder._METHODS.items()
    for name, function in functions.items()
]


def taken(one) -> list[inspect.Parameter]:
    parameters = inspect.signature(one).parameters.values()
    return [each.replace(annotation=each.empty) for each in parameters]


@pytest.mark.parametrize(("kind", "name", "function"), METHODS)
def test_a_function_takes_what_the_method_declares(kind, name, function):
    declared, done = taken(getattr(kind, name)), taken(function)
    if not isinstance(vars(kind)[name], staticmethod):
        assert declared.pop(0).name == "self" and done.pop(0).default is inspect.Parameter.empty
    assert done == declared


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
    "#viz-inputs#viz-inputs",
    "#viz-notice",
    "#viz-tries",
    "#viz-run-host",
    ".viz-changed",
    ".viz-finding-chips",
    '.viz-learn[data-painted$=":1"]',
    ".viz-check",
    ".viz-mask-passes",
    ".viz-routes",
    ".viz-zoo-section",
)


def test_nothing_around_a_tab_is_styled_by_what_is_in_it():
    for sheet in WEB.rglob("*.css"):
        plain = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)
        for subject in re.findall(r"([^\s,{}>]*?)(?::not\()?:has\(", plain):
            assert subject in MAY_HAVE, f"{sheet.name}: {subject}:has(…)"


def imported(module: Path) -> list[Path]:
    found = re.findall(r'(?:from|import)\s*\(?\s*"(\.[^"]+\.js)"', module.read_text())
    return [(module.parent / path).resolve() for path in found]


def test_a_folder_takes_modules_from_below_alone():
    assert sum(len(imported(module)) for module in MODULES) > 200  # or nothing was looked at
    for module in MODULES:
        folder = module.relative_to(WEB).parts[0]
        for path in imported(module):
            assert path.exists(), f"{module} imports {path}, which is not there"
            other = path.relative_to(WEB.resolve()).parts[0]
            allowed = MAY_USE.get(folder, OF_A_TAB) | {folder}
            assert other in allowed, f"{module.relative_to(WEB)} imports {path.relative_to(WEB)}"


def test_a_module_opens_with_what_it_is():
    first = {module.name: module.read_text().splitlines()[0] for module in MODULES}
    assert {name: line for name, line in first.items() if not re.match(r"// .{20}", line)} == {}


def test_a_tab_is_a_folder_on_both_sides_and_none_is_left_over():
    for name in NAMES:
        assert (ROOT / "viz_encoder" / "ui" / "tabs" / name / "tab.py").is_file()
        assert (WEB / name / "tab.js").is_file() and (WEB / name / "tab.css").is_file()
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
