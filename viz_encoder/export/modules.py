"""Browser modules joined into one script, for a page that may load nothing."""

import re
from collections.abc import Mapping
from pathlib import Path

IMPORT = re.compile(r'^import \{([^{}]*)\} from "(\.[^"]*\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|class|const) ([\w$]+)", re.MULTILINE)
NAME = re.compile(r"([\w$]+)(?: as ([\w$]+))?")
LEFT = re.compile(r"^(?:import|export)\b.*|\bimport(?:\.meta|\().*|</script.*", re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
TYPE = re.compile(r"/\*\* @\w+ (?:[^*]|\*(?!/))*\*/ ?")
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


def join_modules(entry: Path, root: Path, instead: Mapping[Path, Path] | None = None) -> str:
    """The entry's script, after all that it needs; each module is a function of its own.

    Only named imports and named exports of functions, classes and constants are known. Comments
    and indents are left out: a notebook keeps a copy of the script in each of its cells.

    Args:
        entry: the module that the page begins with.
        root: the folder by which modules are called.
        instead: modules in whose place others stand, which may themselves import what they replace.

    Raises:
        ValueError: a form that is not known, a name that nobody exports, or modules in a circle.
    """
    exported: dict[Path, list[str]] = {}
    others = {old.resolve(): new.resolve() for old, new in (instead or {}).items()}
    parts = ['"use strict";', "const MODULES = {};"]

    def add(path: Path, importers: tuple[Path, ...]) -> None:
        if path in importers:
            raise ValueError(f"{path.name} imports itself by {importers[-1].name}.")
        if path in exported:
            return
        source = path.read_text(encoding="utf-8")
        imports = []
        for found in IMPORT.finditer(source):
            named = (path.parent / found[2]).resolve()
            other = others.get(named, named)
            needed = named if other == path else other
            add(needed, (*importers, path))
            names = _taken(found[1], exported[needed], path)
            imports.append(f"const {{ {names} }} = {_place(needed, root)};")
        body = EXPORT.sub(r"\1 \2", IMPORT.sub("", source))
        body = _lean(body, path)
        if left := LEFT.search(body):
            raise ValueError(f"{path.name}: {left[0]!r} is no form that can be joined.")
        exported[path] = [found[2] for found in EXPORT.finditer(source)]
        given = f"return {{ {', '.join(exported[path])} }};"
        parts.append(
            "\n".join([f"{_place(path, root)} = (() => {{", *imports, body, given, "})();"])
        )

    add(entry.resolve(), ())
    return "\n".join([*parts, ""])


def _taken(listed: str, exported: list[str], path: Path) -> str:
    """What an import takes, as destructuring says it."""
    taken = []
    for each in filter(None, map(str.strip, listed.split(","))):
        found = NAME.fullmatch(each)
        if found is None or found[1] not in exported:
            raise ValueError(f"{path.name} imports {each!r}, which is not exported there.")
        taken.append(f"{found[1]}: {found[2]}" if found[2] else found[1])
    return ", ".join(taken)


def _lean(body: str, path: Path) -> str:
    """The code without comments on lines of their own, types and indents."""
    lean = TYPE.sub("", COMMENT.sub("", body))
    for line in lean.splitlines():
        if line.replace("\\`", "").count("`") % 2:  # its further lines are text, not code
            raise ValueError(f"{path.name}: {line.strip()!r} opens a text of several lines.")
    return INDENT.sub("", lean)


def _place(path: Path, root: Path) -> str:
    return f'MODULES["{path.relative_to(root.resolve()).as_posix()}"]'
