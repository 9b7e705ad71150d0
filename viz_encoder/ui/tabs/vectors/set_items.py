"""Reads a set from a client: lines, a CSV, a text file, images or one of the examples."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from reprlib import repr as shown  # truncates: client input can be of any length

from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError, TooLong
from viz_encoder.inputs.items import PICTURES, Item, read_set

EXAMPLES = {  # title on the button: file or folder in assets/examples/sets
    "Paraphrases": "paraphrases.csv",
    "Senses of “bank”": "bank.csv",
    "4 topics": "topics.csv",
    "Digits": "digits",
}
BUILT_IN = "4 topics"  # the labeled set that is taken where none is given
TEXT_FILES = (".csv", ".tsv", ".txt")
MAX_CHARACTERS = 5_000_000


def example(title: str) -> tuple[Item, ...]:
    """Load an example set."""
    if title not in EXAMPLES:
        raise SelectionError(
            f"There is no example {shown(title)}; choose one of {', '.join(EXAMPLES)}."
        )
    return read_set(asset(f"examples/sets/{EXAMPLES[title]}"))


def given_items(lines: str, files: Sequence[str] | None = None) -> tuple[Item, ...]:
    """Items from the box or from the files, whichever was given.

    Pictures have labels where all their names are such as cat_1.png: what stands before the first
    underscore, if that makes at least two labels.
    """
    text = lines if isinstance(lines, str) else ""
    paths = [Path(path) for path in files or ()]
    if not text.strip() and not paths:
        raise InputError(
            "The set is empty; give one text per line, or files, or choose an example."
        )
    if text.strip() and paths:
        raise InputError("There are both texts in the box and files; clear one of them.")
    if len(text) > MAX_CHARACTERS:
        raise TooLong(
            f"The box holds {len(text):,} characters; at most {MAX_CHARACTERS:,} are read."
        )
    if not paths:
        return read_set(text)
    pictures = [path for path in paths if path.suffix.lower() in PICTURES]
    if len(pictures) == len(paths):
        return named_pictures(pictures, [path.name for path in pictures])
    if pictures or len(paths) > 1:
        raise InputError("Give one CSV or text file, or only pictures; not several kinds at once.")
    if paths[0].suffix.lower() not in TEXT_FILES:
        raise InputError(
            f"{paths[0].name!r} is not a set; give one of {', '.join(TEXT_FILES)}, or pictures."
        )
    return read_set(paths[0])


def given_name(files: Sequence[str] | None = None) -> str:
    """Name of a given set: its file, or its source."""
    paths = [Path(path) for path in files or ()]
    if not paths:
        return "Typed texts"
    return paths[0].name if len(paths) == 1 else "Uploaded pictures"


def named_pictures(paths: Sequence[Path], names: Sequence[str]) -> tuple[Item, ...]:
    """Pictures with the labels that their names carry, if they do."""
    labels = [name.partition("_")[0] if "_" in name else "" for name in names]
    labeled = all(labels) and len(set(labels)) > 1
    items = [Item(path) for path in paths]
    if not labeled:
        return tuple(items)
    return tuple(replace(item, label=label) for item, label in zip(items, labels, strict=True))


def check_count(items: Sequence[Item], most: int | None) -> None:
    """Refuse a set that is larger than this server takes."""
    if most is not None and len(items) > most:
        raise TooLong(f"The set has {len(items):,} items; this server takes up to {most:,}.")


def check_tokens(encoder: LoadedEncoder, items: Sequence[Item], most: int | None) -> None:
    """Refuse a set of more tokens, or patches, than this server takes, before any is encoded."""
    if most is None:
        return
    count = each = 0
    for number, item in enumerate(items, 1):
        if number == 1 or encoder.kind == "text":  # all pictures have as many patches as the first
            each = len(encoder.read(item.source).samples[0].tokens)
        count += each
        if count > most:
            raise TooLong(
                f"The set is too long for this server: over {most:,} tokens after {number:,} of "
                f"its {len(items):,} items. Give fewer or shorter items."
            )


def kind_of(items: Sequence[Item]) -> str:
    """Kind of model that reads these: "text" or "image"."""
    return "image" if isinstance(items[0].source, Path) else "text"
