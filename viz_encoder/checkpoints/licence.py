"""The licence that a model's own README states, in its first lines."""

import re
from pathlib import Path

MAX_BYTES = 100_000


def licence_of(folder: Path) -> str:
    """What the README's header says after "license:", or nothing."""
    readme = folder / "README.md"
    try:
        if not readme.is_file():
            return ""
        with readme.open(encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_BYTES)
    except OSError:
        return ""
    header = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
    stated = re.search(r"^license:\s*([\w.\-]+)\s*$", header[1], re.MULTILINE) if header else None
    return stated[1] if stated else ""
