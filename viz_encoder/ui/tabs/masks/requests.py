"""Masks on their way in and out: packed bits, presets, files; every size is checked before use."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from viz_encoder.audit.mask_input.capture_code import NAME as CAPTURE
from viz_encoder.audit.mask_input.conventions import Convention, packed
from viz_encoder.audit.mask_input.mask_code import TARGETS, mask_code
from viz_encoder.audit.mask_input.mask_files import MAX_BYTES, read_masks
from viz_encoder.audit.mask_input.presets import MAX_TOKENS, PRESETS, PairMask, Preset, preset
from viz_encoder.audit.mask_input.recognized import named
from viz_encoder.errors import InputError, SelectionError, TooLong
from viz_encoder.inputs.text import TextReader
from viz_encoder.trace import Trace
from viz_encoder.trace.mask_scope import MaskScope
from viz_encoder.ui.state.padding import side_of
from viz_encoder.ui.state.painted_mask import Mistake, from_bits, mask_from_code
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.store import Entry
from viz_encoder.whole_file import shortened

PAINTED = 2048  # up to so many tokens a mask is painted cell by cell
CELL_BYTES = 32  # per file, with each cell as text
FILE_BYTES = 2**20  # least limit of a file, for batches of short masks
WRITTEN_OUT = 48  # up to so many rows are written out in code; more are loaded from a file
FILE = "mask.npy"
MAX_JSON = 2**16
MAX_DOCUMENTS = 4096
PADDED = (
    "Real [PAD] tokens at the {side}, as in a batch with a longer text; no token may attend to "
    "them: a key_padding_mask (batch, token)."
)


def offered(entry: Entry) -> dict[str, Any]:
    """Presets, conventions, mistakes and calls as data, so that no script knows their names."""
    return {
        "painted": PAINTED,
        "most": MAX_TOKENS,
        "presets": [_preset(each, entry) for each in PRESETS.values()],
        "made": _made(entry),
        "conventions": [{"name": str(each), "words": each.words} for each in Convention],
        "mistakes": [
            {"name": str(each), "words": each.words}
            for each in Mistake
            if each is not Mistake.OTHER  # which a file is, once there is one
        ],
        "targets": [{"name": t.name, "byKey": t.by_key} for t in TARGETS.values()],
        "file": FILE,
        "scoped": CAPTURE,  # the one call of them that takes a mask by layer and head
    }


def _made(entry: Entry) -> dict[str, Any] | None:
    """The preset and its sizes that make the mask of a run, if one does."""
    if entry.masked is None:
        return None
    intent, n_tokens, pad = entry.masked.intent, entry.trace.n_tokens, entry.recipe.pad
    for each in PRESETS.values():
        sizes = each.sizes({})
        if pad is not None and each.name == pad.preset:
            sizes = {"padding": pad.count}
        if torch.equal(each.mask(n_tokens, **sizes), intent):
            return {"name": each.name, "sizes": sizes}
    return None


def _preset(each: Preset, entry: Entry) -> dict[str, Any]:
    controls = [vars(control) for control in each.controls]
    side = side_of(entry.encoder, entry.inputs, each.name)
    return {
        "name": each.name,
        "label": each.label,
        "sentence": PADDED.format(side=side) if side else each.sentence,
        "pads": side,  # where it puts real [PAD] tokens
        "controls": controls,
        "lengths": each.name == "documents",
    }


def require_size(n_tokens: int) -> int:
    """The number of tokens, if a mask is made for so many."""
    if n_tokens > MAX_TOKENS:
        raise TooLong(
            f"This run has {n_tokens:,} tokens; masks are made for up to {MAX_TOKENS:,}. Use a "
            "shorter input."
        )
    return n_tokens


def n_bytes(n_tokens: int) -> int:
    """Bytes of a mask as packed bits."""
    return (require_size(n_tokens) ** 2 + 7) // 8


def unpacked(bits: bytes, n_tokens: int) -> PairMask:
    """A mask from its bits, of which there must be as many as it has cells."""
    if len(bits) != n_bytes(n_tokens):
        raise InputError(
            f"The mask has {len(bits):,} bytes; one over {n_tokens:,} tokens has "
            f"{n_bytes(n_tokens):,}."
        )
    return from_bits(bits, n_tokens)


def made_by(given: object, n_tokens: int) -> PairMask:
    """The mask of {"name": …, "sizes": {…}} or {"lengths": […]}."""
    if not isinstance(given, Mapping):
        raise InputError("Name a preset and its sizes.")
    lengths = given.get("lengths")
    if lengths is None:
        return _named(given).mask(require_size(n_tokens), **_sizes(given))
    if not isinstance(lengths, list) or not 0 < len(lengths) <= MAX_DOCUMENTS:
        raise InputError("Write the lengths of the documents as whole numbers, such as 5, 7, 3.")
    return packed(require_size(n_tokens), lengths)


def meant_by(given: object, n_tokens: int) -> tuple[str, PairMask]:
    """The label of such a mask with its sizes, and the mask; that of {"code": …} is painted."""
    if isinstance(given, Mapping) and isinstance(given.get("code"), str):
        return "the painted mask", mask_from_code(given["code"], require_size(n_tokens))
    mask = made_by(given, n_tokens)
    assert isinstance(given, Mapping)  # made_by says so otherwise
    made, lengths = _named(given), given.get("lengths")
    sizes = made.sizes(_sizes(given)) if lengths is None else {"lengths": lengths}
    return named(made.label, sizes), mask


def _named(given: Mapping[str, Any]) -> Preset:
    name = given.get("name")
    if not isinstance(name, str):
        raise InputError(f"Name one of the presets: {', '.join(PRESETS)}.")
    return preset(name)


def _sizes(given: Mapping[str, Any]) -> dict[str, Any]:
    sizes = given.get("sizes") or {}
    if not isinstance(sizes, Mapping):
        raise InputError("Give the sizes of a preset by name.")
    return dict(sizes)


def typed_scope(layers: str, heads: str, trace: Trace) -> MaskScope:
    """The layers and heads of two fields, as people type lists: "3 – 5", "1, 4 and 7" or "all"."""
    code = f"{_code_of(layers, 'layers')}:{_code_of(heads, 'heads')}"
    return MaskScope.parsed(code, trace.n_layers, trace.n_heads)


def _code_of(typed: str, what: str) -> str:
    written = re.sub(r"\s*[-–—−]\s*", "-", typed.strip().lower())
    if written in ("", "all"):
        return ""
    written = re.sub(r"\s*(?:[,;]?\s*\band\b|[,;]|\s)\s*", ",", written)
    if not re.fullmatch(r"(?a:\d{1,4}(-\d{1,4})?,)+", f"{written.removesuffix(',')},"):
        raise SelectionError(
            f"“{shortened(typed)}” is not a list of {what}; write numbers, such as 3-5 or 1, 4."
        )
    return written.removesuffix(",")


def file_bytes(n_tokens: int) -> int:
    """The largest file that can be a mask of so many tokens."""
    return min(MAX_BYTES, FILE_BYTES + CELL_BYTES * n_tokens**2)


def from_file(
    content: bytes, name: str, convention: str, n_tokens: int, sample: int = 0
) -> tuple[PairMask, int]:
    """One mask of an uploaded .npy or .csv file, and the number of samples in the file.

    One row, a value a token, is meant for every query.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"mask{Path(name).suffix[:8].lower()}")
        path.write_bytes(content)
        masks = read_masks(path, convention, n_tokens, printable(name) or "The file")
    if masks.shape[-1] != n_tokens:
        raise InputError(
            f"{shortened(printable(name))} is for {masks.shape[-1]:,} tokens; this run has "
            f"{n_tokens:,}, including padding and special tokens."
        )
    if not 0 <= sample < len(masks):
        raise SelectionError(
            f"There is no sample {sample} in {shortened(printable(name))}, which has {len(masks)}, "
            "counted from 0."
        )
    return masks[sample].expand(n_tokens, n_tokens).clone(), len(masks)


def call_of(entry: Entry, scope: str) -> dict[str, Any]:
    """Arguments of vz.capture to repeat a run, and the mask's scope.

    Raises:
        SelectionError: the scope names no layers and heads of this model.
    """
    trace = entry.trace
    places = MaskScope.parsed(scope, trace.n_layers, trace.n_heads)
    texts = trace.sample.texts
    readable = texts or trace.grid is not None
    if entry.encoder is None or not entry.loads_as or not readable or entry.recipe.changes:
        return {"scope": places}
    source = texts[0] if len(texts) == 1 else texts or Path("picture.png")
    call = {"scope": places, "model": entry.loads_as, "source": source}
    pad = entry.recipe.pad
    if pad is not None and isinstance(entry.encoder.reader, TextReader):
        call["pads"] = entry.encoder.reader.pad_id, pad.count, pad.side == "start"
    return call


def code_of(
    mask: PairMask, target: str, given: object, call: Mapping[str, Any] | None = None
) -> str:
    """The lines that give this mask to a call; by its rule where the named preset still makes it.

    `call` is what vz.capture is called with, as `call_of` gives it.

    A longer mask without a rule is loaded from the file that the page saves.

    Raises:
        SelectionError: the call takes no such mask.
    """
    n_tokens = len(mask)
    if isinstance(given, Mapping) and given.get("name") and given.get("lengths") is None:
        sizes = _sizes(given)
        made = _named(given)
        if torch.equal(made.mask(n_tokens, **sizes), mask):
            return mask_code(n_tokens, target, rule=made.name, sizes=sizes, **(call or {}))
    file = FILE if n_tokens > WRITTEN_OUT else ""
    return mask_code(mask, target, file=file, **(call or {}))
