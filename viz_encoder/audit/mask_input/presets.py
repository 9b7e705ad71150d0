"""Presets: the usual masks of one sequence, each by its rule, which is one line of Python.

A mask is Bool "query key": rows = queries (who looks), columns = keys (who is looked at), True =
may attend.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shown  # cut short: the value may be a stranger's, of any length
from typing import Annotated

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.arguments import at_least, read_argument
from viz_encoder.errors import InputError, SelectionError, TooLong

MAX_TOKENS = 4096  # 16 MiB as a bool mask

PairMask = Bool[Tensor, "query key"]


@dataclass(frozen=True)
class PresetSize:
    """One integer size of a preset, as a page or a command can ask for it."""

    name: str
    label: str
    minimum: int
    default: int


@dataclass(frozen=True)
class Preset:
    """A mask by its rule: whether `query` may attend to `key`, of positions that broadcast."""

    name: str
    label: str
    sentence: str
    code: str  # the rule, an expression of query, key, n_tokens and {size}
    controls: tuple[PresetSize, ...] = ()

    def mask(self, n_tokens: int, **sizes: int) -> PairMask:
        """The mask over n_tokens; a size that is not given has its default.

        Raises:
            InputError: a size below its minimum or no whole number.
            SelectionError: a size that this preset does not have.
            TooLong: more than MAX_TOKENS tokens.
        """
        position = torch.arange(_require_tokens(n_tokens))
        names = {"query": position[:, None], "key": position[None, :], "n_tokens": n_tokens}
        allowed: Tensor = eval(self.expression(**sizes), names)  # of our own words and of numbers
        return allowed.expand(n_tokens, n_tokens).clone()

    def expression(self, **sizes: int) -> str:
        """The rule as Python, with the sizes put in."""
        return self.code.format(**self.sizes(sizes))

    def sizes(self, given: Mapping[str, int]) -> dict[str, int]:
        """Every size of this preset, checked; defaults where none is given."""
        known = [control.name for control in self.controls]
        for name in given:
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise SelectionError(f"{self.label} has no size {shown(name)}; {has}.")
        return {c.name: _require_size(c, given.get(c.name, c.default)) for c in self.controls}


def custom(rows: Sequence[str] | Bool[Tensor, "query key"]) -> PairMask:
    """A square mask written out: rows such as "1101", or a Bool tensor; 1 = may attend."""
    if isinstance(rows, Tensor):
        mask = rows.clone()
    else:
        written = [row.strip() for row in rows]
        _require_tokens(len(written))
        for number, row in enumerate(written):
            if len(row) != len(written) or set(row) - {"0", "1"}:
                raise InputError(
                    f"Row {number} of the mask is {shown(row)}; with {len(written)} rows each must "
                    f"be {len(written)} signs long, and each sign 1 (may attend) or 0."
                )
        mask = torch.tensor([[sign == "1" for sign in row] for row in written])
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or mask.dtype != torch.bool:
        raise InputError(
            f"The mask is {mask.dtype} of shape {tuple(mask.shape)}; it must be a square of "
            "torch.bool, True = may attend."
        )
    _require_tokens(mask.shape[0])
    return mask


def preset(name: str) -> Preset:
    """The preset of this name.

    Raises:
        SelectionError: there is none.
    """
    if name not in PRESETS:
        raise SelectionError(
            f"There is no mask preset {shown(name)}; choose one of {', '.join(PRESETS)}."
        )
    return PRESETS[name]


def _require_tokens(n_tokens: int) -> int:
    if n_tokens < 1:
        raise InputError(f"A mask over {n_tokens} tokens is not possible; take at least 1.")
    if n_tokens > MAX_TOKENS:
        raise TooLong(f"A mask over {n_tokens:,} tokens is too large; take at most {MAX_TOKENS:,}.")
    return n_tokens


def _require_size(control: PresetSize, value: object) -> int:
    size = Annotated[int, at_least(control.minimum)]
    if type(value) is int:
        value = min(value, MAX_TOKENS)  # a larger one means the same and may overflow
    number: int = read_argument(control.label, value, size, InputError)
    return min(number, MAX_TOKENS)  # numpy's, too


_PADDING = PresetSize("padding", "Padding tokens", 0, 2)
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "none",
            "No mask",
            "Every token may attend to every token.",
            "key >= 0",
        ),
        Preset(
            "padding-right",
            "Padding at the end",
            "No token may attend to the padding at the end: a key_padding_mask (batch, token).",
            "key < n_tokens - {padding}",
            (_PADDING,),
        ),
        Preset(
            "padding-left",
            "Padding at the start",
            "No token may attend to the padding at the start: a key_padding_mask (batch, token).",
            "key >= {padding}",
            (_PADDING,),
        ),
        Preset(
            "keys",
            "Ignored keys",
            "No token may attend to these keys: one row, (batch, 1, 1, token), 0 = ignore.",
            "(key < {first}) | (key >= {first} + {count})",
            (PresetSize("first", "First ignored key", 0, 1), PresetSize("count", "How many", 1, 2)),
        ),
        Preset(
            "causal",
            "Causal",
            "Each token may attend to itself and to earlier tokens.",
            "key <= query",
        ),
        Preset(
            "window",
            "Sliding window",
            "Each token may attend to its neighbors on either side, and to itself.",
            "(query - key).abs() <= {reach}",
            (PresetSize("reach", "Neighbors on either side", 0, 2),),
        ),
        Preset(
            "causal-window",
            "Causal window",
            "Each token may attend to itself and to the last few tokens before it.",
            "(key <= query) & (query - key < {width})",
            (PresetSize("width", "Keys of a token, itself counted", 1, 3),),
        ),
        Preset(
            "dilated",
            "Dilated window",
            "Each token may attend to neighbors a step apart (Longformer, arXiv:2004.05150).",
            "((query - key).abs() <= {reach} * {step}) & ((query - key).abs() % {step} == 0)",
            (
                PresetSize("reach", "Neighbors on either side", 0, 2),
                PresetSize("step", "Distance between them", 1, 2),
            ),
        ),
        Preset(
            "documents",
            "Packed documents",
            "Several documents share one sequence; each token sees its own document only.",
            "query // {length} == key // {length}",
            (PresetSize("length", "Tokens of a document", 1, 4),),
        ),
        Preset(
            "prefix",
            "Prefix, then causal",
            "All see the prefix, the rest is causal (prefix LM, arXiv:1910.10683).",
            "(key <= query) | (key < {prefix})",
            (PresetSize("prefix", "Tokens of the prefix", 0, 3),),
        ),
    )
}
