"""MaskScope: the layers and heads where a mask applies; and checks of a mask that was passed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.plain_tensor import plain_tensor
from viz_encoder.model.layer_masks import CustomMask

FORM = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*", re.ASCII)
MOST_CHARACTERS = 4000
FEW = 4  # layers listed individually
HOW = (
    "write layers and heads, such as 3-5:1,4; 3-5 alone is all heads of these layers, and :1,4 "
    "these heads of all layers"
)


@dataclass(frozen=True)
class MaskScope:
    """A set of layers × heads of a model, counted from 0.

    layers, heads: where the mask applies, in ascending order.
    n_layers, n_heads: sizes of the model.
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    n_layers: int
    n_heads: int

    @classmethod
    def parsed(cls, code: Any, n_layers: int, n_heads: int) -> "MaskScope":
        """Parse a scope: "3-5:1,4" is layers 3 to 5, heads 1 and 4; "" is everything.

        Raises:
            SelectionError: the code is malformed, or names a layer or head that does not exist.
        """
        if not isinstance(code, str) or len(code) > MOST_CHARACTERS or code.count(":") > 1:
            raise SelectionError(f"{shown(code)} is not the scope of a mask; {HOW}.")
        layers, _, heads = code.partition(":")
        found = _numbers(layers, "layer", n_layers), _numbers(heads, "head", n_heads)
        return cls(*found, n_layers, n_heads)

    @property
    def whole(self) -> bool:
        """Whether the mask applies to all layers and heads."""
        return len(self.layers) == self.n_layers and len(self.heads) == self.n_heads

    @property
    def code(self) -> str:
        """The scope's code, such as "3-5:1,4"; "" for all layers and heads."""
        layers = "" if len(self.layers) == self.n_layers else _ranges(self.layers, "-", ",")
        heads = "" if len(self.heads) == self.n_heads else f":{_ranges(self.heads, '-', ',')}"
        return layers + heads

    @property
    def words(self) -> str:
        """The scope in words, such as "layers 3–5, heads 1 and 4"."""
        return places_said(self.places, self.n_layers, self.n_heads)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Its (layer, head) pairs."""
        return tuple((layer, head) for layer in self.layers for head in self.heads)

    @property
    def where(self) -> Bool[np.ndarray, "layer head"]:
        """True for its heads."""
        where = np.zeros((self.n_layers, self.n_heads), dtype=bool)
        where[np.ix_(self.layers, self.heads)] = True
        return where

    def mask(self, allowed: Bool[Tensor, "query key"]) -> CustomMask:
        """The mask in the form `vz.capture` takes: one for all heads, or by layer, or by head."""
        if self.whole:
            return allowed
        every = len(self.heads) == self.n_heads
        return dict.fromkeys(self.layers if every else self.places, allowed)


def note_of(mask: Any, n_layers: int, n_heads: int) -> tuple[str, ...]:
    """A note of where a custom mask was applied; none if it applies to all heads."""
    if not isinstance(mask, Mapping):
        return ()
    places = [
        (layer, each)
        for place in mask
        for layer, head in [place if isinstance(place, tuple) else (place, None)]
        for each in (range(n_heads) if head is None else (head,))
    ]
    if not 0 < len(set(places)) < n_layers * n_heads:
        return ()
    where = places_said(places, n_layers, n_heads)
    return (f"A custom mask was applied only to {where}. All other heads ran without it.",)


def places_said(places: Iterable[tuple[int, int]], n_layers: int, n_heads: int) -> str:
    """Heads in words: "layers 3–5, heads 1 and 4", or one layer after another."""
    of_layer: dict[int, set[int]] = {}
    for layer, head in places:
        of_layer.setdefault(int(layer), set()).add(int(head))
    layers = sorted(of_layer)
    sets = [of_layer[layer] for layer in layers]
    if all(heads == sets[0] for heads in sets):
        return _said(layers, sets[0], n_layers, n_heads)
    each = [_said([layer], of_layer[layer], n_layers, n_heads) for layer in layers[:FEW]]
    more = len(layers) - FEW
    return "; ".join(each) + (f"; and {more} more {_plural('layer', more)}" if more > 0 else "")


def _said(layers: Sequence[int], heads: Iterable[int], n_layers: int, n_heads: int) -> str:
    numbers = sorted(heads)
    whole, every = len(layers) == n_layers, len(numbers) == n_heads
    if whole and every:
        return "all layers and heads"
    those = "all heads" if every else f"{_plural('head', len(numbers))} {_listed(numbers)}"
    if whole:
        return f"{those} of all layers"
    return f"{_plural('layer', len(layers))} {_listed(layers)}, {those}"


def _plural(what: str, count: int) -> str:
    return what if count == 1 else f"{what}s"


def _listed(numbers: Sequence[int]) -> str:
    parts = _ranges(numbers, "–", ",").split(",")
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _ranges(numbers: Sequence[int], to: str, between: str) -> str:
    """Collapse three or more consecutive numbers into a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = (
        [f"{run[0]}{to}{run[-1]}"] if len(run) > 2 else [str(number) for number in run]
        for run in runs
    )
    return between.join(part for run in parts for part in run)


def _numbers(written: str, what: str, count: int) -> tuple[int, ...]:
    if not written:
        return tuple(range(count))
    if not FORM.fullmatch(written):
        raise SelectionError(f"{shown(written)} is not a list of {what}s; {HOW}.")
    found: set[int] = set()
    for part in written.split(","):
        first, _, last = part.partition("-")
        start, stop = int(first), int(last or first)
        if start > stop:
            raise SelectionError(f"{part} counts down; write {last}-{first}.")
        if stop >= count:
            start = max(start, count)  # the first invalid one
            named = f"is no {what} {stop}" if start == stop else f"are no {what}s {start}–{stop}"
            raise SelectionError(
                f"There {named}: this model has {count} "
                f"{_plural(what, count)}, numbered from 0{f' to {count - 1}' if count > 1 else ''}."
            )
        found.update(range(start, stop + 1))
    return tuple(sorted(found))


KNOWN = "leave it out: the padding is known without it"


def check_mask(mask: Any, inputs: Inputs, ready_made: Any) -> tuple[str, ...]:
    """Notes on a mask that could be misread; usually none.

    Args:
        mask: as passed.
        inputs: what the mask is for.
        ready_made: the ids, pixels or vectors the inputs came from, which can be given `valid`;
            None for others.

    Raises:
        InputError: it is not a tensor, or is a "batch token" mask, which marks real tokens.
    """
    given = mask.values() if isinstance(mask, Mapping) else [mask]
    found = (_check(one, inputs, ready_made) for one in given)
    return tuple(dict.fromkeys(said for each in found for said in each))


def _check(mask: Any, inputs: Inputs, ready_made: Any) -> tuple[str, ...]:
    if not isinstance(mask, Tensor):
        raise InputError(
            f"mask is {type(mask).__name__}; give a bool tensor, True = may attend: "
            "torch.as_tensor(mask)."
        )
    plain_tensor(mask, "mask")
    shape, n_tokens = tuple(mask.shape), inputs.valid.shape[1]
    if n_tokens == 1 or shape not in (tuple(inputs.valid.shape), (n_tokens,)):
        return ()
    cure = _cure(mask, ready_made)
    if shape == (n_tokens, n_tokens):
        said = (
            f"The mask {shape} was read as (query, key), the same for each of these {n_tokens} "
            f"rows. If it marks the real tokens, as (batch, token), {cure}."
        )
        return (said,) if cure != KNOWN else ()
    axes, row = "(batch, token)", "mask[:, None, None]"
    if len(shape) == 1:
        axes, row = "(token)", f"mask.expand({n_tokens}, {n_tokens})"
    raise InputError(
        f"The mask has the shape {axes} = {shape}, which tells the real tokens from padding; mask= "
        f"tells which query may attend to which key. To mark padding, {cure}; to close keys to all "
        f"queries, give {row}."
    )


def _cure(mask: Tensor, ready_made: Any) -> str:
    if isinstance(ready_made, Mapping):
        told = "attention_mask" in ready_made
        return KNOWN if told else 'write vz.capture(encoder, {**source, "attention_mask": mask})'
    if ready_made is None:
        return KNOWN
    by = "valid" if mask.dtype == torch.bool else "attention_mask"
    return f"write vz.capture(encoder, source, {by}=mask)"
