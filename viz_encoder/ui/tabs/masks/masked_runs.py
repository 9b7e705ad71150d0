"""Effects of a mask on a run made with it: leaks, states, reach."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.analyses.change import mask_effect
from viz_encoder.analyses.mask_leaks import MaskLeaks, mask_leaks
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.audit.measure.reach import reach
from viz_encoder.errors import InputError, SelectionError, TooLong
from viz_encoder.shown import quoted, small
from viz_encoder.trace import Trace
from viz_encoder.trace.mask_scope import MaskScope
from viz_encoder.ui.state.painted_mask import Masked, Mistake, PaintedMask, mask_code
from viz_encoder.ui.state.recipe import ALONE
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.bytes import finite

PURPOSE = "try a mask on it"
NO_MASK = "This run was not made with a mask here; press “Run with this mask” first."
SAME = 1e-4  # relative to a vector's length; float32 stays a hundred times below it
MAX_ROWS = 512  # tokens, where all layers are written out as rows of 0 and 1


def masked_of(entry: Entry) -> Masked:
    """The intended mask of a run."""
    if entry.masked is None:
        raise SelectionError(NO_MASK)
    return entry.masked


def run_masked(
    runner: Runner, key: str, intent: Bool[Tensor, "query key"], mistake: str, scope: str = ""
) -> str:
    """Run the input of a run with a mask, or with the mistake; returns the new run's key.

    `scope` names layers and heads, such as "3-5:1,4"; all others run without the mask.

    Raises:
        SelectionError: no such run, layer, head or mistake, or its model is not here.
        InputError: the mask is not of the run's size.
    """
    trace = runner.store.get(key).trace
    n = trace.n_tokens
    if tuple(intent.shape) != (n, n):
        raise InputError(f"The mask has shape {tuple(intent.shape)}; this run needs {(n, n)}.")
    places = MaskScope.parsed(scope, trace.n_layers, trace.n_heads)
    mask = PaintedMask(mask_code(intent), mistake, places.code)
    return runner.rerun(key, PURPOSE, mask=mask)


def result_of(runner: Runner, key: str) -> dict[str, Any]:
    """Effects of the mask: leaks by layer and head, moved states, pooled vectors; null = undefined.

    leak and mass are shares of a query's total; moved is relative to the state without the mask.
    """
    entry = runner.store.get(key)
    masked = masked_of(entry)
    plain_key = runner.rerun(key, PURPOSE, mask=None)
    plain = runner.store.get(plain_key)
    leaks = mask_leaks(entry.trace, masked.intent, masked.scope.where)
    effect = mask_effect(entry.trace, plain.trace)
    return {
        "run": runner.again(key),
        "plain": plain_key,
        "mistake": entry.recipe.mask.mistake if entry.recipe.mask else Mistake.NONE,
        "scope": scope_plain(masked.scope),
        "sentence": sentence(entry, masked, leaks),
        "alone": alone_sentence(runner, key),
        "forbidden": int((~masked.intent).sum()),
        "leak": finite(leaks.leak),
        "mass": finite(leaks.mass),
        "at": leaks.at.tolist(),
        "extra": leaks.extra.tolist(),
        "missing": leaks.missing.tolist(),
        "empty": list(leaks.empty),
        "moved": finite(effect.moved),
        "movedMean": finite(np.nanmean(effect.moved, axis=1)),
        "pooled": {
            method: {"cosine": finite(cosine), "difference": finite(apart)}
            for method, (cosine, apart) in effect.pooled.items()
        },
    }


def scope_plain(scope: MaskScope) -> dict[str, Any]:
    """A scope by its code, in words, and how many heads it has."""
    return {"code": scope.code, "words": scope.words, "heads": len(scope.places)}


def alone_sentence(runner: Runner, key: str) -> str:
    """Whether padding changes the real tokens: the padded row against the text alone; "" if not so.

    Only where the mask is of the padding and of nothing else: any other one changes them too.
    """
    entry = runner.store.get(key)
    pad, masked = entry.recipe.pad, masked_of(entry)
    if pad is None or not _of_padding(entry, masked):
        return ""
    plain = runner.store.get(runner.rerun(key, PURPOSE, **ALONE))
    alone, ours = map(_real_output, (plain.trace, entry.trace))
    apart = float(((ours - alone).norm(dim=1) / alone.norm(dim=1)).max())
    if apart < SAME:
        return (
            "The real tokens come out as they do without padding: their outputs differ by at most "
            f"{small(apart)} of their length."
        )
    why = " Padding at the start also gives them other positions." * (
        pad.side == "start" and masked.mistake is Mistake.NONE
    )
    return (
        "Without padding, the real tokens come out differently: their outputs differ by up to "
        f"{apart:.2g} of their length.{why}"
    )


def _of_padding(entry: Entry, masked: Masked) -> bool:
    """Whether the mask is of the run's padding, in all heads, and of nothing else."""
    pad, trace = entry.recipe.pad, entry.trace
    if pad is None or entry.recipe.changes or not masked.scope.whole:
        return False
    rule = PRESETS[pad.preset].mask(trace.n_tokens, padding=pad.count)
    return torch.equal(rule, masked.intent)


def _real_output(trace: Trace) -> Float[Tensor, "real d_model"]:
    return trace.output[trace.valid.to(trace.output.device)].double()


def sentence(entry: Entry, masked: Masked, leaks: MaskLeaks) -> str:
    """Whether anything leaked, and where most; first, whether a mistake was planted."""
    said = _leaks_said(entry.trace, masked, leaks)
    if masked.mistake is Mistake.NONE:
        return said
    n_leaking, n_heads = int((leaks.leak > 0).sum()), len(masked.scope.places)
    if masked.mistake is Mistake.IGNORED and n_leaking and _of_padding(entry, masked):
        many = f"all {n_heads}" if n_leaking == n_heads else f"{n_leaking} of {n_heads}"
        most, where = _largest(entry.trace, leaks)
        share = f"up to {most:.2f} of a query's attention goes to it ({where})"
        return f"If padding is not masked, {many} heads look at it: {share}."
    blocked = int(leaks.missing.max())
    more = f" It blocks {blocked:,} pairs that are meant to be allowed." * (blocked > 0)
    return f"If the code {masked.mistake.words}, {said[0].lower()}{said[1:]}{more}"


def _leaks_said(trace: Trace, masked: Masked, leaks: MaskLeaks) -> str:
    if bool(masked.intent.all()):
        return "The mask forbids nothing, so nothing can leak."
    scope = masked.scope
    many = len(scope.places)
    heads = f"{many} {'head' if many == 1 else 'heads'}"
    if not scope.whole:
        heads = f"the {heads} that the mask applies to ({scope.words})"
    broken = np.argwhere(np.isnan(leaks.leak) & (leaks.at[..., 0] >= 0)).tolist()
    if broken:
        layer, head = broken[0]
        return (
            f"The weights hold NaN in {len(broken)} of {heads}, first in head {layer}.{head}, so "
            "whether they leak cannot be said. Look for NaN in the model's weights."
        )
    leaking = int((leaks.leak > 0).sum())
    if not leaking:
        return f"0 leaks in {heads}: every forbidden weight is exactly 0."
    most, where = _largest(trace, leaks)
    verb = "leak" if many > 1 else "leaks"
    return f"{leaking} of {heads} {verb}: the largest forbidden weight is {most:.4f}, in {where}."


def _largest(trace: Trace, leaks: MaskLeaks) -> tuple[float, str]:
    """The largest forbidden weight, and where it is."""
    layer, head = divmod(int(np.nanargmax(leaks.leak)), leaks.leak.shape[1])
    query, key = leaks.at[layer, head].tolist()
    tokens = trace.tokens
    where = f"from query {query} {quoted(tokens[query])} to key {key} {quoted(tokens[key])}"
    return float(leaks.leak[layer, head]), f"head {layer}.{head}, {where}"


def reach_of(
    runner: Runner, key: str, mask: Bool[Tensor, "query key"], scope: str = ""
) -> Bool[Tensor, "layer query key"]:
    """Tokens that can influence each token after each layer, by this mask and the model's own.

    A layer in which some heads run without the mask hides nothing: those heads see all.

    Raises:
        SelectionError: the scope names no layers and heads of this model.
        TooLong: more tokens than are written out.
    """
    if len(mask) > MAX_ROWS:
        raise TooLong(
            f"This run has {len(mask):,} tokens; the reach of all layers is written out up to "
            f"{MAX_ROWS}. Use a shorter input."
        )
    return reach(_each(runner, key, mask, scope))


def _each(
    runner: Runner, key: str, mask: Bool[Tensor, "query key"], scope: str
) -> list[Bool[Tensor, "query key"]]:
    """Pairs that each layer lets through."""
    plain = runner.store.get(key)
    if plain.masked is not None:
        plain = runner.store.get(runner.rerun(key, PURPOSE, mask=None))
    own = (layer.mask for layer in plain.trace.layers)
    where = MaskScope.parsed(scope, plain.trace.n_layers, plain.trace.n_heads).where
    n = len(mask)
    loose = torch.ones_like(mask)
    return [
        given if m is None else given & m.cpu().any(dim=0).expand(n, n)
        for m, given in zip(own, (mask if all(row) else loose for row in where), strict=True)
    ]
