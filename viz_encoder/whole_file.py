"""A file that appears whole or not at all, and never in the place of anything but a file."""

import hashlib
import importlib.util
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psutil

from viz_encoder.errors import SelectionError, TraceError, VizEncoderError

PICTURES = (".png", ".svg", ".pdf")
LIBRARIES = dict.fromkeys(PICTURES, "kaleido") | {".parquet": "pyarrow", ".arrow": "pyarrow"}
LONGEST = 200  # characters of a path in a sentence
# Folders in which files are made, beside their places; machine and process stand in the name.
OURS = f".viz-encoder-{hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]}-"


def write_whole(parts: Iterable[bytes], path: str | Path) -> int:
    """Write the parts to the path, and give the file's size in bytes; see `write_beside`."""

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            file.writelines(parts)

    return write_beside(write, path)


def write_beside(write: Callable[[Path], None], path: str | Path) -> int:
    """Let `write` fill a new file near the path, then put it there; give its size in bytes.

    It is made in a folder of its own, for some libraries write another file first; folders of
    processes that were killed are removed. A file that is there stays as it was until the new one
    is whole, and hands on its permissions; a new one gets those that the umask leaves
    (0666 & ~umask). A link is followed.

    Raises:
        TraceError: the path is not that of a regular file, or it cannot be written.
    """
    try:
        target = Path(path).resolve()
        kept = _permissions(target, path)
        _remove_leftovers(target.parent)
        folder = target.parent / f"{private_prefix()}{secrets.token_hex(8)}"
        folder.mkdir()
    # A RuntimeError: links in a ring. A ValueError: a NUL, or a letter that no name here can hold.
    except (OSError, ValueError, RuntimeError) as fault:
        raise _fault(path, fault) from fault
    try:
        beside = folder / target.name
        beside.touch()  # as the umask has it, which mkstemp would not ask
        permissions = stat.S_IMODE(beside.stat().st_mode) if kept is None else kept
        write(beside)
        beside.chmod(permissions)  # again: safetensors puts a private file of its own there
        size = beside.stat().st_size
        beside.replace(target)
        return size
    except VizEncoderError:
        raise
    except Exception as fault:  # the disk's, or those of a library that writes
        raise _fault(path, fault) from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def private_prefix() -> str:
    """Prefix of this process's temporary folders beside a file."""
    return f"{OURS}{os.getpid()}-"


def _remove_leftovers(parent: Path) -> None:
    """Remove leftovers of killed processes on this machine."""
    for folder in parent.glob(f"{OURS}*-*"):
        process = folder.name.removeprefix(OURS).partition("-")[0]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def require_writable(path: str | Path) -> None:
    """Refuse at once, before any work, a path where no file could be put."""
    try:
        target = Path(path).resolve()
        _permissions(target, path)
        if not target.parent.is_dir():
            raise TraceError(f"{shortened(path)} cannot be written: No such file or directory.")
    except (OSError, ValueError, RuntimeError) as fault:
        raise _fault(path, fault) from fault


def kind_of(path: str | Path, kinds: Sequence[str]) -> str:
    """The ending of a file that is to be written, such as ".csv", before any work."""
    kind = Path(path).suffix.lower()
    if kind not in kinds:
        fault = "has no known ending; choose one of" if len(kinds) > 1 else "must end in"
        raise SelectionError(f"{shortened(Path(path).name)!r} {fault} {', '.join(kinds)}.")
    library = LIBRARIES.get(kind, "")
    if library and importlib.util.find_spec(library) is None:
        others = [each for each in kinds if LIBRARIES.get(each) != library]
        choose = f", or choose {', '.join(others)}" if others else ""
        chrome = " (it needs Chrome)" if library == "kaleido" else ""
        raise TraceError(
            f"{kind} files are written by {library}, which is not installed. "
            f"Run: pip install {library}{chrome}{choose}."
        )
    return kind


def is_file(path: Path) -> bool:
    """Whether it is a regular file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, not to be looked at, or with a NUL
        return False


def shortened(path: str | Path) -> str:
    """The path as a sentence can hold it."""
    text = str(path)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 40]} … {text[-30:]}"


def _permissions(target: Path, path: str | Path) -> int | None:
    """Permissions of an existing file; None if there is none. Devices and folders are refused."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise TraceError(
            f"{shortened(path)} is {_kind(mode)}, not a regular file; choose another name."
        )
    return stat.S_IMODE(mode)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"


def _fault(path: str | Path, fault: Exception) -> TraceError:
    why = (isinstance(fault, OSError) and fault.strerror) or str(fault)[:LONGEST].rstrip(".")
    return TraceError(f"{shortened(path)} cannot be written: {why}.")
