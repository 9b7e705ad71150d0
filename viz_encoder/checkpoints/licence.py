"""The license that a model's own README states, in its first lines."""

import re
from pathlib import Path

from viz_encoder.checkpoints.files import inside
from viz_encoder.errors import CheckpointError

MAX_BYTES = 100_000
# license: mit, or "mit", or a list whose first entry is on the next line.
STATED = re.compile(
    r"""^license:[ ]*(?:\n[ ]*-[ ]+)?["']?(\w[\w.\-]*)["']?[ ]*$""", re.MULTILINE | re.ASCII
)


def licence_of(folder: Path) -> str:
    """The README header's "license:" entry, or ""."""
    try:
        readme = inside(folder, "README.md")
        with readme.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MAX_BYTES)
    except (CheckpointError, OSError):  # no README, or one that is no file of this folder
        return ""
    header = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
    stated = STATED.search(header[1]) if header else None
    return stated[1] if stated else ""
