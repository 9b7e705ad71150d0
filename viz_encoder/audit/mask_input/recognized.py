"""What a mask is: a preset, or a preset under a usual mistake, with the line that mends it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.conventions import Convention
from viz_encoder.audit.mask_input.presets import PRESETS, PairMask
from viz_encoder.shown import counted

KNOWN = (
    "causal",
    "padding-right",
    "padding-left",
    "causal-window",
    "prefix",
    "documents",
    "window",
)
SIZES = 16  # each size is tried from its least to so many more
SHORT = 256  # longer masks are compared with presets without sizes alone


@dataclass(frozen=True)
class Recognized:
    """What a mask is, in a sentence; "" of one that is not known."""

    says: str = ""
    line: str = ""  # that mends it, where it is a known mask under a usual mistake
    mistake: str = ""  # that mistake, in words
    wrong: bool = False  # it is not what was meant


@dataclass(frozen=True)
class RecognizedMistake:
    """How a mask is not what was meant, and what makes it so: of True = may attend, and as lines.

    A line mends `mask`, a tensor, in the convention that a code passes.
    """

    words: str
    mended: Callable[[PairMask], PairMask]
    keep: str
    ignore: str
    ones: str
    added: str

    def line(self, convention: Convention) -> str:
        """The line to write where the mask is passed in that convention."""
        if convention is Convention.ADDED:
            return self.added
        if convention in (Convention.ONES, Convention.KEY_ONES):
            return self.ones
        return self.keep if convention is Convention.KEEP else self.ignore


EYE = "torch.eye(len(mask), dtype=mask.dtype)"
CLOSED = "torch.where({} == 0, -torch.inf, 0.0)"
INVERTED, ASKEW = "inverted (True and False swapped)", "transposed (its rows are keys)"
MISTAKES = (
    RecognizedMistake(INVERTED, lambda m: ~m, "~mask", "~mask", "1 - mask", CLOSED.format("mask")),
    RecognizedMistake(ASKEW, lambda m: m.T, *["mask.T"] * 4),
    RecognizedMistake(
        "without the diagonal (no token may attend to itself)",
        lambda m: m | torch.eye(len(m), dtype=torch.bool),
        keep=f"mask | {EYE}",
        ignore=f"mask & ~{EYE}",
        ones=f"torch.maximum(mask, {EYE})",
        added="mask.fill_diagonal_(0.0)",
    ),
    RecognizedMistake(
        "inverted and transposed",
        lambda m: ~m.T,
        *("~mask.T", "~mask.T", "1 - mask.T", CLOSED.format("mask.T")),
    ),
    RecognizedMistake(
        "shifted (tokens may attend to the next one)",
        lambda m: _up_to_next(m),
        keep="mask.tril()",
        ignore="mask | torch.ones_like(mask).triu(1)",
        ones="mask.tril()",
        added="mask + torch.full_like(mask, -torch.inf).triu(1)",
    ),
    RecognizedMistake(
        "upside down (its rows run from the last query to the first)",
        lambda m: m.flip(0),
        *["mask.flip(-2)"] * 4,
    ),
)


def recognized(
    mask: Bool[Tensor, "query key"],
    meant: tuple[str, Bool[Tensor, "query key"]] | None = None,
    what: str = "This mask",
    convention: Convention = Convention.KEEP,
) -> Recognized:
    """Name the mask by a preset, or by a preset under a usual mistake.

    Args:
        mask: rows = queries, columns = keys, True = may attend.
        meant: the label and the mask it should be; without it, each preset is tried.
        what: the mask in the sentence.
        convention: in which a code passes it, and in which the line is written.
    """
    if meant is None and (mask.all() or not mask.any()):
        return Recognized()
    candidates = [*_candidates(len(mask))] if meant is None else [meant]
    for label, candidate in candidates:
        if torch.equal(mask, candidate):
            return Recognized(f"{what} is “{label}”.")
    for mistake in MISTAKES:
        mended = mistake.mended(mask)
        for label, candidate in candidates:
            if torch.equal(mended, candidate):
                line = mistake.line(convention)
                says = f"{what} is “{label}”, {mistake.words}: write {line}"
                return Recognized(says, line, mistake.words, wrong=True)
    return Recognized() if meant is None else _differing(mask, *meant, what)


def _differing(mask: PairMask, label: str, meant: PairMask, what: str) -> Recognized:
    more, less = int((mask & ~meant).sum()), int((~mask & meant).sum())
    nothing = " It forbids nothing." * bool(mask.all())
    return Recognized(
        f"{what} is not “{label}”: it allows {counted(more, 'pair')} that it should forbid, and "
        f"forbids {less:,} that it should allow.{nothing}",
        wrong=True,
    )


def named(label: str, sizes: Mapping[str, object]) -> str:
    """A preset with its sizes, as sentences have it: "Causal", "Sliding window, reach 2"."""
    return label + "".join(f", {name} {size}" for name, size in sizes.items())


def _candidates(n_tokens: int) -> Iterator[tuple[str, PairMask]]:
    """Presets that forbid something, by their names; padding is at most half of the tokens."""
    for preset in (PRESETS[name] for name in KNOWN):
        if preset.controls and n_tokens > SHORT:
            continue
        most = n_tokens // 2 if "padding" in preset.name else n_tokens - 1
        ranges = [
            range(each.minimum, min(each.minimum + SIZES, most) + 1) for each in preset.controls
        ]
        for sizes in product(*ranges):
            chosen = dict(zip((each.name for each in preset.controls), sizes, strict=True))
            mask = preset.mask(n_tokens, **chosen)
            if not mask.all():
                yield named(preset.label, chosen), mask


def _up_to_next(mask: PairMask) -> PairMask:
    """The mask without its next tokens, where it has all of them; otherwise as it is."""
    return mask.tril() if mask.diagonal(1).all() and not mask.triu(2).any() else mask
