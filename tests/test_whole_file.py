"""A file is written whole or not at all, as the umask has it, and only where a file may be."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from viz_encoder import whole_file
from viz_encoder.errors import TraceError
from viz_encoder.whole_file import OURS, private_prefix, require_writable, write_beside, write_whole


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0)
    yield os.umask
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_what_the_umask_leaves(tmp_path, umask):
    for mask in (0o022, 0o077, 0o002):
        umask(mask)
        path = tmp_path / str(mask)
        assert write_whole([b"a", b"bc"], path) == 3 and path.read_bytes() == b"abc"
        assert mode(path) == 0o666 & ~mask
    assert len(os.listdir(tmp_path)) == 3


def test_a_writer_that_puts_a_private_file_there(tmp_path, umask):
    """As safetensors does."""
    umask(0o022)

    def write(beside: Path) -> None:
        beside.unlink()
        os.close(os.open(beside, os.O_CREAT | os.O_WRONLY, 0o600))

    assert write_beside(write, tmp_path / "new") == 0
    assert mode(tmp_path / "new") == 0o644


def test_a_file_that_is_there_keeps_its_permissions(tmp_path, umask):
    umask(0o022)
    path = tmp_path / "mine"
    path.write_bytes(b"before")
    path.chmod(0o600)
    write_whole([b"after"], path)
    assert (path.read_bytes(), mode(path)) == (b"after", 0o600)


KILLED = """
import os, signal, sys, types
sys.modules["viz_encoder"] = package = types.ModuleType("viz_encoder")
package.__path__ = [sys.argv[2]]  # without what the whole package imports
from viz_encoder.whole_file import write_beside

def write(beside):
    beside.with_name(".tmp").write_bytes(bytes(1000))  # as libraries do
    os.kill(os.getpid(), signal.SIGKILL)

write_beside(write, sys.argv[1])
"""


def test_what_a_killed_process_left_is_gone_after_the_next_file(tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(b"before")
    command = [sys.executable, "-c", KILLED, path, Path(whole_file.__file__).parent]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(f"{OURS}*")
    assert path.read_bytes() == b"before" and list(left.iterdir())
    alive = tmp_path / f"{private_prefix()}0"  # of this process
    elsewhere = tmp_path / left.name.replace(OURS, ".viz-encoder-0000-")  # of another machine
    alive.mkdir()
    elsewhere.mkdir()
    write_whole([b"after"], path)
    assert path.read_bytes() == b"after"
    assert sorted(tmp_path.iterdir()) == sorted([path, alive, elsewhere])


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "ahead").symlink_to("coming")
    write_whole([b"after"], tmp_path / "link")
    write_whole([b"new"], tmp_path / "ahead")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "ahead").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"after"
    assert (tmp_path / "coming").read_bytes() == b"new"


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def linked(folder: Path) -> Path:
    (folder / "link").symlink_to(pipe(folder))
    return folder / "link"


def subfolder(folder: Path) -> Path:
    (folder / "sub").mkdir()
    return folder / "sub"


def ring(folder: Path) -> Path:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    return folder / "a"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (pipe, "is a pipe, not a regular file; choose another name"),
        (linked, "is a pipe, not a regular file"),
        (subfolder, "is a folder, not a regular file"),
        (ring, "cannot be written"),
        (lambda folder: folder / "none" / "x", "cannot be written: No such file"),
        (lambda folder: folder / ("x" * 5000), "cannot be written: File name too long"),
        (lambda folder: folder / "a\0b", "cannot be written: embedded null"),
    ],
)
def test_what_is_no_place_for_a_file(tmp_path, make, says):
    path = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    for attempt in (lambda: write_whole([b"x"], path), lambda: require_writable(path)):
        with pytest.raises(TraceError) as fault:
            attempt()
        assert says in str(fault.value) and len(str(fault.value)) < 400
    assert sorted(os.listdir(tmp_path)) == before


def test_a_fault_while_writing_keeps_the_file_that_was_there(tmp_path):
    path = tmp_path / "kept"
    path.write_bytes(b"before")

    def parts():
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(TraceError, match="kept cannot be written: No space left"):
        write_whole(parts(), path)
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["kept"]
