"""Browser modules joined: into one script for a page that may load nothing, or a folder as one."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

IMPORT = re.compile(r'^import \{([^{}]*)\} from "(\.[^"]*\.js)";\n', re.MULTILINE)
DATA = re.compile(r'^import (\w+) from "(\.[^"]*\.json)" with \{ type: "json" \};\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function\*?|class|const) ([\w$]+)", re.MULTILINE)
NAME = re.compile(r"([\w$]+)(?: as ([\w$]+))?")
LEFT = re.compile(r"^(?:import|export)\b.*|\bimport(?:\.meta|\().*|</script.*", re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
TYPE = re.compile(r"/\*\* @\w+ (?:[^*]|\*(?!/))*\*/ ?")
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


def join_modules(entry: Path, root: Path, instead: Mapping[Path, Path] | None = None) -> str:
    """The entry's script, after all that it needs; each module is a function of its own.

    Only named imports and named exports of functions, classes and constants are known. Comments
    and indents are left out: a notebook keeps a copy of the script in each of its cells. Of a JSON
    file that a module imports, the script holds the parts that the module names.

    Args:
        entry: the module that the page begins with.
        root: the folder by which modules are called.
        instead: modules in whose place others stand, which may themselves import what they replace.

    Raises:
        ValueError: a form that is not known, a name that nobody exports, or modules in a circle.
    """
    joined = _Joined(root, instead)
    joined.add(entry.resolve())
    return "\n".join(['"use strict";', "const MODULES = {};", *joined.parts, ""])


def join_folder(folder: Path, root: Path) -> str:
    """Join all modules of a folder into one that exports MODULES, a table by path.

    It imports the joined modules of the folders that it needs, as `./<folder>.js`, so that a page
    has each module once and asks for one file a folder.

    Raises:
        ValueError: as `join_modules` does.
    """
    joined = _Joined(root, within=folder.resolve())
    for path in sorted(folder.resolve().glob("*.js")):
        joined.add(path)
    first, *others = sorted(joined.needed) or [""]
    table = f'import {{ MODULES }} from "./{first}.js";' if first else "const MODULES = {};"
    more = (f'import "./{each}.js";' for each in others)
    return "\n".join([table, *more, *joined.parts, "export { MODULES };", ""])


class _Joined:
    """Modules in the order in which they can run; those outside `within` are there already."""

    def __init__(
        self, root: Path, instead: Mapping[Path, Path] | None = None, within: Path | None = None
    ) -> None:
        self.root, self.within = root.resolve(), within
        self.parts: list[str] = []
        self.needed: set[str] = set()  # other folders
        self._instead = {old.resolve(): new.resolve() for old, new in (instead or {}).items()}
        self._exported: dict[Path, list[str]] = {}

    def add(self, path: Path, importers: tuple[Path, ...] = ()) -> None:
        """A module, after those that it needs."""
        if path in importers:
            raise ValueError(f"{path.name} imports itself by {importers[-1].name}.")
        if path in self._exported:
            return
        source = path.read_text(encoding="utf-8")
        exported = [found[2] for found in EXPORT.finditer(source)]
        if self.within and path.parent != self.within:
            self.needed.add(path.parent.relative_to(self.root).as_posix())
            self._exported[path] = exported
            return
        imports = []
        for found in IMPORT.finditer(source):
            named = (path.parent / found[2]).resolve()
            other = self._instead.get(named, named)
            needed = named if other == path else other
            self.add(needed, (*importers, path))
            names = _taken(found[1], self._exported[needed], path)
            imports.append(f"const {{ {names} }} = {self._place(needed)};")
        source = IMPORT.sub("", source)
        for name, file in DATA.findall(source):
            imports.append(f"const {name} = {_named(name, path.parent / file, source)};")
        body = _lean(EXPORT.sub(r"\1 \2", DATA.sub("", source)), path)
        if left := LEFT.search(body):
            raise ValueError(f"{path.name}: {left[0]!r} is no form that can be joined.")
        self._exported[path] = exported
        given = f"return {{ {', '.join(exported)} }};"
        self.parts.append(
            "\n".join([f"{self._place(path)} = (() => {{", *imports, body, given, "})();"])
        )

    def _place(self, path: Path) -> str:
        return f'MODULES["{path.relative_to(self.root).as_posix()}"]'


def _taken(listed: str, exported: list[str], path: Path) -> str:
    """Names an import takes, as a destructuring pattern."""
    taken = []
    for each in filter(None, map(str.strip, listed.split(","))):
        found = NAME.fullmatch(each)
        if found is None or found[1] not in exported:
            raise ValueError(f"{path.name} imports {each!r}, which is not exported there.")
        taken.append(f"{found[1]}: {found[2]}" if found[2] else found[1])
    return ", ".join(taken)


def _named(name: str, file: Path, source: str) -> str:
    """The parts of a file's object that a module names, as `name.part`."""
    named = set(re.findall(rf"\b{name}\.(\w+)", source))
    content = json.loads(file.read_text(encoding="utf-8"))
    parts = {part: value for part, value in content.items() if part in named}
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _lean(body: str, path: Path) -> str:
    """The code without comments on lines of their own, types and indents."""
    lean = TYPE.sub("", COMMENT.sub("", body))
    for line in lean.splitlines():
        if line.replace("\\`", "").count("`") % 2:  # its further lines are text, not code
            raise ValueError(f"{path.name}: {line.strip()!r} opens a text of several lines.")
    return INDENT.sub("", lean)
