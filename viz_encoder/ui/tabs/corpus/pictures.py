"""Pictures that a person sends as a corpus: several files in one request, or a .zip file."""

import zipfile
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from viz_encoder.errors import InputError, TooLong
from viz_encoder.inputs.items import PICTURES
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.state.readable import shortened
from viz_encoder.ui.wire.body_limits import json_object
from viz_encoder.ui.wire.bytes import plain_name

ZIP = ".zip"
Named = list[tuple[str, Path]]  # the name that a person knows each file by, and where it is
LETTERS = 60  # per displayed name
KINDS = ", ".join(PICTURES)
HIDDEN = (".", "__")  # how names begin that a computer put into a .zip by itself


def sent_pictures(folder: str, content: bytes, limits: Limits) -> Named:
    """The files of a request: a line of JSON, {"names": […], "sizes": […]}, and then their bytes.

    Raises:
        InputError: something else, or a file that is no picture.
        TooLong: more pictures than this page takes.
    """
    line, _, rest = content.partition(b"\n")
    names, sizes = _listed(json_object(line), len(rest))
    for name in names:
        if not _is_picture(name):
            raise InputError(
                f"{shortened(name, LETTERS)!r} is not a picture; choose one file of texts, or only "
                f"pictures ({KINDS})."
            )
    ends = accumulate(sizes, initial=0)
    parts = (rest[start:stop] for start, stop in pairwise(ends))
    return _written(folder, zip(names, parts, strict=True), len(names), limits)


def zipped_pictures(folder: str, path: Path, limits: Limits) -> Named:
    """The pictures of a .zip file, in the order of their names; other files are left out."""
    try:
        with zipfile.ZipFile(path) as packed:
            found = sorted(
                (each for each in packed.infolist() if _is_picture(each.filename)),
                key=lambda each: each.filename,
            )
            if not found:
                raise InputError(f"{path.name} holds no pictures ({KINDS}).")
            if sum(each.file_size for each in found) > limits.upload_bytes:
                raise TooLong(
                    f"The pictures of {path.name} have over {limits.upload_bytes:,} bytes, the "
                    "most allowed here."
                )
            files = ((each.filename, packed.read(each)) for each in found)
            return _written(folder, files, len(found), limits)
    # RuntimeError for a locked file, NotImplementedError for an unknown compression.
    except (zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError) as fault:
        raise InputError(f"{path.name} cannot be unpacked: {fault}.") from fault


def _listed(said: dict[str, Any], n_bytes: int) -> tuple[list[str], list[int]]:
    """Names and sizes, if they fit together and to the bytes that follow."""
    names, sizes = said.get("names"), said.get("sizes")
    if isinstance(names, list) and isinstance(sizes, list) and len(names) == len(sizes):
        named = all(isinstance(name, str) for name in names)
        whole = all(type(size) is int and size >= 0 for size in sizes)
        if named and whole and sum(sizes) == n_bytes:
            return names, sizes
    raise InputError("What was sent is not a list of pictures.")


def _is_picture(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith(HIDDEN) for part in path.parts)
    return path.suffix.lower() in PICTURES and not hidden


def _written(folder: str, files: Iterable[tuple[str, bytes]], count: int, limits: Limits) -> Named:
    """Each in a folder of its own, for different names may become one."""
    if count > limits.corpus_texts:
        raise TooLong(
            f"The page takes up to {limits.corpus_texts:,} pictures, and these are {count:,}. Use "
            "fewer, or run viz-encoder corpus in a terminal and upload the table it saves."
        )
    found = []
    for number, (name, content) in enumerate(files):
        known = PurePosixPath(name)
        path = Path(folder, str(number), plain_name(known.stem) + known.suffix.lower())
        path.parent.mkdir()
        path.write_bytes(content)
        found.append((shortened(known.name, LETTERS), path))
    return found
