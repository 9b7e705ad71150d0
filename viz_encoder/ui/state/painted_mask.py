"""A mask that a person gave: what was meant, where, and the mistake that was planted."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from reprlib import (
    repr as shown,  # truncates: client input can be of any length
)
from typing import NoReturn

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.presets import MAX_TOKENS, PRESETS
from viz_encoder.errors import SelectionError
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.trace.mask_scope import MaskScope

TOO_LARGE = "large"  # in place of a mask too large for a link


class Mistake(StrEnum):
    """A mistake that code makes with masks, planted so that one sees what it does."""

    NONE = "none"
    IGNORED = "ignored"
    INVERTED = "inverted"
    TRANSPOSED = "transposed"
    OTHER = "other"

    @property
    def words(self) -> str:
        """What the code does with the mask, in words."""
        return _WORDS[self]

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        choices = ", ".join(repr(member.value) for member in cls)
        raise SelectionError(f"There is no mistake {shown(value)}; choose one of {choices}.")


_WORDS = {
    Mistake.NONE: "passes it on unchanged",
    Mistake.IGNORED: "ignores it",
    Mistake.INVERTED: "inverts it (reads True as ignore)",
    Mistake.TRANSPOSED: "transposes it (reads queries as keys)",
    Mistake.OTHER: "passes another mask in its place",
}


@dataclass(frozen=True, eq=False)
class Masked:
    """A mask over so many tokens of one model: what was meant, the mistake, and where."""

    intent: Bool[Tensor, "query key"]
    mistake: Mistake
    scope: MaskScope  # the layers and heads that it was meant for
    preset: str = ""  # name of the preset that makes it, if one does
    other: Bool[Tensor, "query key"] | None = None  # passed in its place, by Mistake.OTHER

    @property
    def passed(self) -> CustomMask | None:
        """What the mistaken code passes to the model; None where it passes none."""
        meant = self.intent
        made = {
            Mistake.NONE: meant,
            Mistake.INVERTED: ~meant,
            Mistake.TRANSPOSED: meant.T,
            Mistake.OTHER: self.other,
        }
        passed = made.get(self.mistake)
        return None if passed is None else self.scope.mask(passed)

    @property
    def words(self) -> str:
        """The mask in a few words, for every view of its run; "" where it changes nothing."""
        forbidden, n_pairs = int((~self.intent).sum()), self.intent.numel()
        if not forbidden and self.mistake is Mistake.NONE:
            return ""
        pairs = f"{forbidden:,} of {n_pairs:,} pairs forbidden" if forbidden else "forbids nothing"
        name = PRESETS[self.preset].label.lower() if forbidden and self.preset else ""
        mistaken = "" if self.mistake is Mistake.NONE else f"; the code {self.mistake.words}"
        where = "" if self.scope.whole else f", in {self.scope.words}"
        return f"{name}{', ' if name else ''}{pairs}{where}{mistaken}"


@dataclass(frozen=True)
class PaintedMask:
    """A mask as a recipe and a link hold it.

    code: a preset's name, or the mask's bits, packed; see mask_link.
    mistake: planted in what the model is passed: its name, or the bits of what is passed instead.
    scope: the code of the layers and heads it applies to; "" for all.
    """

    code: str
    mistake: str = Mistake.NONE
    scope: str = ""

    def __post_init__(self) -> None:
        """Refuse a mistake that there is not."""
        if not self.mistake.startswith(BITS) and Mistake(self.mistake) is Mistake.OTHER:
            raise SelectionError(
                f"“{self.mistake}” does not say which mask is passed; give its bits, as links of "
                f"the page hold them: “{BITS}” and letters."
            )

    @classmethod
    def from_link(cls, query: Mapping[str, str]) -> "PaintedMask | None":
        """The mask of a link, if it has one."""
        code = query.get("ran")
        if code == TOO_LARGE:
            raise SelectionError("The mask of this run was too large for its link")
        mistake = query.get("mistake", Mistake.NONE)
        return cls(code, mistake, query.get("scope", "")) if code else None

    def to_link(self) -> dict[str, str]:
        """Its parts of a link."""
        if max(len(self.code), len(self.mistake)) > MOST_CHARACTERS:
            return {"ran": TOO_LARGE}
        mistake = "" if self.mistake == Mistake.NONE else str(self.mistake)
        more = {"mistake": mistake, "scope": self.scope}
        return {"ran": self.code, **{name: part for name, part in more.items() if part}}

    def over(self, n_tokens: int, n_layers: int, n_heads: int) -> Masked:
        """The mask over the tokens of a run.

        Raises:
            SelectionError: the mask has another number of tokens, or the scope names layers or
                heads that the model does not have.
        """
        scope = MaskScope.parsed(self.scope, n_layers, n_heads)
        preset = self.code if self.code in PRESETS else ""
        intent = mask_from_code(self.code, n_tokens)
        if not self.mistake.startswith(BITS):
            return Masked(intent, Mistake(self.mistake), scope, preset)
        other = mask_from_code(self.mistake, n_tokens)
        return Masked(intent, Mistake.OTHER, scope, preset, other)


MOST_CHARACTERS = 3000
BITS = "z."  # before zlib's bytes as base64, for links
UNREAD = "The mask in this link cannot be read"


def mask_code(mask: Bool[Tensor, "query key"]) -> str:
    """The mask as a short text, of more than MOST_CHARACTERS where no link holds it.

    A preset with its usual sizes is its name; any other mask is its bits, row by row, through zlib.
    """
    for name, preset in PRESETS.items():
        if torch.equal(preset.mask(len(mask)), mask):
            return name
    return bits_code(mask)


def packed_bits(mask: Bool[Tensor, "*axes"]) -> bytes:
    """The bits of a mask, row by row, the first cell in the highest bit; 1 = may attend."""
    return np.packbits(mask.cpu().numpy()).tobytes()


def from_bits(bits: bytes, n_tokens: int) -> Bool[Tensor, "query key"]:
    """The mask of such bits, which are as many as it has cells."""
    cells = np.unpackbits(np.frombuffer(bits, np.uint8), count=n_tokens**2)
    return torch.from_numpy(cells.astype(bool).reshape(n_tokens, n_tokens))


def bits_code(mask: Bool[Tensor, "query key"]) -> str:
    """The bits of a mask as text."""
    packed = zlib.compress(packed_bits(mask), 9)
    return BITS + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def mask_from_code(code: str, n_tokens: int) -> Bool[Tensor, "query key"]:
    """The mask of a code, over that many tokens."""
    if n_tokens > MAX_TOKENS:
        raise SelectionError(f"{UNREAD}: this run has {n_tokens:,} tokens, over {MAX_TOKENS:,}.")
    if code in PRESETS:
        return PRESETS[code].mask(n_tokens)
    size = (n_tokens**2 + 7) // 8
    try:
        letters = code.removeprefix(BITS)
        letters += "=" * (-len(letters) % 4)
        packed = base64.b64decode(letters, altchars=b"-_", validate=True)
        stream = zlib.decompressobj()
        bits = stream.decompress(packed, size + 1)
    except (ValueError, zlib.error):
        raise SelectionError(
            f"{UNREAD}: {shown(code)} is neither a preset nor a packed mask."
        ) from None
    if not code.startswith(BITS) or len(bits) != size or not stream.eof:
        raise SelectionError(f"{UNREAD}: it does not fit the {n_tokens:,} tokens of this run.")
    return from_bits(bits, n_tokens)
