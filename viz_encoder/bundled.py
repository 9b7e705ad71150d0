"""Locates bundled data files, in the installed package or in the source tree."""

from pathlib import Path

_INSTALLED = Path(__file__).parent / "assets"
ASSETS = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parent.parent / "assets"


def asset(name: str) -> Path:
    """The path of a file or folder in assets/."""
    return ASSETS / name
