"""The ablation proof: that a head was removed before W_O, and that nothing else was."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.arguments import public, read_index
from viz_encoder.effects.ablate import Cuts, HeadCut, ablate, checked
from viz_encoder.effects.heads_seen import HeadsSeen, SeenLayer
from viz_encoder.effects.rerun import HeadPlace
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.shown import OneLine

TOLERANCE = 2e-5  # relative to the largest value: effect of reordering sums
CallModel = Callable[[nn.Module], Any]  # runs the model that it is given, on inputs of its own


@dataclass(frozen=True, repr=False)
class Claim(OneLine):
    """One claim of the proof, and the largest deviation found."""

    claim: str
    holds: bool
    largest: float
    sentence: str


@dataclass(frozen=True, repr=False)
class AblationProof(OneLine):
    """Whether heads were really removed. str(proof) has one line per part."""

    parts: tuple[Claim, ...]

    @property
    def holds(self) -> bool:
        """Whether every part holds."""
        return all(part.holds for part in self.parts)

    def __str__(self) -> str:
        """A line for each part."""
        return "\n".join(f"{'holds' if p.holds else 'FAILS'}  {p.sentence}" for p in self.parts)


@public(fault=TraceError)
def prove(
    model: nn.Module,
    call: CallModel,
    cuts: Cuts,
    *,
    cut: CallModel | None = None,
    untouched: CallModel | None = None,
) -> AblationProof:
    """Prove that a way of removing heads removes these heads, before W_O, and nothing else.

    Four parts: (1) with nothing removed, the output is the model's own; (2) what reaches W_O is
    what was asked for the removed heads, and bit for bit what it was for all other heads of their
    layers; (3) all layers below are bit for bit as before; (4) for zero, the output equals that of
    a copy of the model with W_O's columns of these heads set to zero.

    The proof therefore also shows what does not remove a head: `head_mask`, which transformers 5
    silently ignores, and slicing W_O's output, which mixes all heads (both fail part 2).

    Args:
        model: any model whose attention `vz.record` sees.
        call: runs the model that it is given: lambda model: model(**batch). It is called several
            times and must do the same each time.
        cuts: which heads to remove, and what replaces them, as for `vz.ablate`.
        cut: runs the model with these heads removed, in the way to be proved; `vz.ablate` if not
            given.
        untouched: runs the model in that way with nothing removed; if only `cut` is given, `call`.

    Raises:
        TraceError: attention that is not seen, or W_O not found behind it.
        SelectionError: no such layer or head.
    """
    checked(cuts)
    if cut is None:
        cut = _within(lambda: ablate(model, cuts), call)
        untouched = untouched or _within(lambda: ablate(model, {}), call)
    with torch.no_grad():
        plain = first_tensor(call(model))
        with HeadsSeen() as before:
            call(model)
        _require_seen(before.layers, cuts)
        with HeadsSeen(known=before) as after:
            removed = first_tensor(cut(model))
        again = first_tensor((untouched or call)(model))
        parts = [
            _same("untouched", again, plain, "With nothing removed, the output is the model's"),
            _asked(before.layers, after.layers, cuts),
            _below(before.layers, after.layers, min(layer for layer, _ in cuts)),
        ]
        if all(isinstance(each, str) for each in cuts.values()):
            zeroed = first_tensor(call(_without_columns(model, before.layers, cuts)))
            claim = "The output equals that of the model with W_O's columns of these heads zeroed"
            parts.append(_same("columns", removed, zeroed, claim))
    return AblationProof(tuple(parts))


def _within(context: Callable[[], AbstractContextManager[None]], call: CallModel) -> CallModel:
    def run(model: nn.Module) -> Any:
        with context():
            return call(model)

    return run


def _require_seen(layers: list[SeenLayer], cuts: Mapping[HeadPlace, HeadCut]) -> None:
    if not cuts:
        raise SelectionError("No head is named; give cuts such as {(3, 0): 'zero'}.")
    if not layers:
        raise TraceError("No attention was seen in the run, so no head can be removed from it.")
    for number, head in cuts:
        read_index("layer", number, len(layers))
        read_index("head", head, layers[number].said.shape[-3])
        if layers[number].weight is None:
            raise TraceError(
                f"W_O of layer {number} was not found: no linear map receives exactly what its "
                "heads gave. This proof needs a W_O after the heads."
            )


def _asked(
    before: list[SeenLayer], after: list[SeenLayer], cuts: Mapping[HeadPlace, HeadCut]
) -> Claim:
    """Part 2: W_O gets what was asked for the removed heads, and what the others gave."""
    wrong, others, lowest = 0.0, 0.0, min(number for number, _ in cuts)
    for number in sorted({number for number, _ in cuts}):
        now = after[number] if number < len(after) else None
        if now is None or now.entered is None:
            return Claim("asked", False, torch.inf, f"W_O of layer {number} was not reached.")
        for head in range(now.said.shape[-3]):
            given, gave = now.entered[..., head, :, :], now.said[..., head, :, :]
            cut = cuts.get((number, head))
            if cut is not None:
                wanted = torch.zeros_like(gave) if isinstance(cut, str) else cut.to(gave)
                wrong = max(wrong, _apart(given, wanted.expand_as(gave)))
                continue
            # In the lowest layer they gave what they gave before; above it, what they now give.
            was = before[number].said[..., head, :, :] if number == lowest else gave
            others = max(others, _apart(given, was))
    sentence = (
        "What reaches W_O is what was asked for the removed heads, and bit for bit what the other "
        "heads of their layers gave"
    )
    if wrong or others:
        sentence += f": off by {wrong:.2g} in the removed heads, {others:.2g} in the others"
    return Claim("asked", not wrong and not others, max(wrong, others), f"{sentence}.")


def _below(before: list[SeenLayer], after: list[SeenLayer], lowest: int) -> Claim:
    pairs = zip(before[:lowest], after[:lowest], strict=False)
    largest = max((_apart(one.entered, two.entered) for one, two in pairs), default=0.0)
    sentence = f"All {lowest} layers below are bit for bit as before"
    if lowest < 2:
        sentence = "The layer below is bit for bit as before" if lowest else "No layer is below"
    return Claim("below", largest == 0, largest, f"{sentence}{_off(largest)}.")


def _same(claim: str, one: Tensor, two: Tensor, sentence: str) -> Claim:
    """Parts 1 and 4: two outputs are equal but for rounding."""
    scale = float(two.abs().max().clamp_min(1e-30))
    largest = _apart(one, two) / scale
    within = f" (largest difference {largest:.2g} of the largest value)"
    return Claim(claim, largest <= TOLERANCE, largest, f"{sentence}{within}.")


def _off(largest: float) -> str:
    return f": off by {largest:.2g}" if largest else ""


def _apart(one: Tensor | None, two: Tensor | None) -> float:
    if one is None or two is None:  # no W_O behind these heads: not looked at
        return 0.0 if one is two else float("inf")
    if one.shape != two.shape:
        return float("inf")
    return float((one.double() - two.double()).abs().max()) if one.numel() else 0.0


def _without_columns(
    model: nn.Module, layers: list[SeenLayer], cuts: Mapping[HeadPlace, HeadCut]
) -> nn.Module:
    """A copy of the model in which W_O gives these heads no weight."""
    names = {id(each): name for name, each in model.named_parameters(remove_duplicate=False)}
    cut = {id(layers[layer].weight) for layer, _ in cuts}
    # Only these are written to: all others stay the model's own.
    copy = deepcopy(model, {id(one): one for one in model.parameters() if id(one) not in cut})
    parameters = dict(copy.named_parameters(remove_duplicate=False))
    for layer, head in cuts:
        name = names.get(id(layers[layer].weight))
        if name is None:
            raise TraceError(f"The weight of W_O in layer {layer} is not a parameter.")
        d_value = layers[layer].said.shape[-1]
        parameters[name].data[:, head * d_value : (head + 1) * d_value] = 0
    return copy


def first_tensor(out: Any) -> Tensor:
    """A model's output, or its first tensor."""
    if isinstance(out, Tensor):
        return out
    values = out.values() if isinstance(out, dict) else out
    values = values if isinstance(values, Iterable) else ()
    found = next((x for x in values if isinstance(x, Tensor)), None)
    if found is None:
        raise TraceError("The model returned no tensor; return its output from the call.")
    return found
