"""Whether scores have the bias added that is meant: ALiBi, or relative positions.

Where all tokens are the same vector, q·k is the same for all pairs of a row, so its softmax is that
of the bias alone. Where positions reach the scores in another way as well, it cannot be told apart,
and is not judged.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.audit.arguments import BiasOf
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import largest_of
from viz_encoder.audit.measure.maps import Maps, maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.token_axis import by_token, from_tokens
from viz_encoder.audit.pictures import picture_of_map
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Picture, Verdict, fails, passes, untested
from viz_encoder.errors import InputError

APART = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
FARTHEST = 64  # distances from which on a bias may stay the same that are tried
Weights = Float[Tensor, "batch head query key"]


@question("What is added to the scores", Evidence.BESIDE, after="runs maps", before="row_sums")
def bias(context: AuditContext) -> Check:
    """The weights of each layer on equal tokens against softmax(bias)."""
    given = context.scope.bias
    if given is None:
        return untested("What is added to the scores: no AuditScope(bias=…) was given.")
    functions = (given,) if callable(given) else tuple(given)
    answers = (_ask(context, case, functions) for case in _batches(context))
    first = next(answers)
    if first.verdict is not Verdict.PASS:
        return first
    return next((one for one in answers if one.verdict is not Verdict.PASS), first)


def _batches(context: AuditContext) -> Iterator[Case]:
    """The base case, and one of every other length; those at which the model does not run aside."""
    yield context.base
    for length in context.other_lengths:
        with suppress(ModelFault):
            case = context.setting.case(context.setting.padding(length))
            context.subject.run(case)
            yield case


def _ask(context: AuditContext, batch: Case, functions: tuple[BiasOf, ...]) -> Check:
    cases = _equal_tokens(context, batch) if context.has_tokens else ()
    if len(cases) < 2:
        return untested("What is added to the scores: the input has no tokens to be made equal.")
    case = cases[0]
    maps, others = (maps_of(context.subject, one) for one in cases)
    if not maps.layers or len(functions) not in (1, len(maps.layers)):
        return untested(
            f"What is added to the scores: {len(maps.layers)} layers were seen, and "
            f"{len(functions)} biases given."
        )
    for number, layer in enumerate(maps.layers):
        weights = layer.weights(slice(None))
        bias = _as_meant(functions[number if len(functions) > 1 else 0], case, weights)
        tolerance = APART.get(layer.dtype, 1e-4)
        meant = softmax_of(bias, context, case, number)
        observed = _shown(weights, context, case, number)
        apart = (observed - meant).abs()
        if float(apart.max()) <= tolerance:
            continue
        if _moves(maps, others, context, case, number, tolerance):
            return untested(
                "What is added to the scores: with equal tokens the weights still differ from "
                "input to input, so positions reach the scores in another way, too."
            )
        answer = _fault(number, apart, observed, meant)
        answer = answer.but(pictures=(_shot(context, case, observed, answer),))
        code, more = _code(bias, observed, context, case, number, tolerance)
        if batch is not context.base:
            now, before = batch.valid.shape[1], context.base.valid.shape[1]
            answer = answer.but(evidence=f"At {now} tokens: {answer.evidence}")
            more = more or f" (at {now} tokens; at {before} it is as it should be)"
        return answer.because(diagnose(code, more=more)) if code else answer
    return passes(f"The scores of {len(maps.layers)} layers have the intended bias.")


def _fault(number: int, apart: Weights, observed: Weights, meant: Weights) -> Check:
    sample, head, query, key = largest_of(apart)
    text = (
        f"Layer {number} head {head}, sample {sample}: with equal tokens, token {query} gives "
        f"{float(observed[sample, head, query, key]):.3g} of its attention to token {key}, where "
        f"the bias alone would give {float(meant[sample, head, query, key]):.3g}."
    )
    found = fails(text, layer=number, head=head, sample=sample, query=query, key=key)
    return found.but(amount=float(apart.max()))


def _shot(context: AuditContext, case: Case, observed: Weights, answer: Check) -> Picture:
    place = answer.layer or 0, answer.head or 0, answer.sample or 0
    weights = observed[place[2], place[1]]
    return picture_of_map(context, case, weights, place, ", with equal tokens")


def _equal_tokens(context: AuditContext, case: Case) -> tuple[Case, ...]:
    """A batch in which every token is one and the same, for each of two tokens."""
    n_tokens = case.valid.shape[1]
    tokens = by_token(case.x, n_tokens)
    real = tokens[case.valid]
    other = real[(real != real[0]).any(dim=-1)]
    ids = not case.x.is_floating_point() and case.x.shape == case.valid.shape
    found = []
    for one in (real[0], *other[:1]):
        x = from_tokens(one.expand_as(tokens).contiguous(), case.x)
        x = x.masked_fill(~case.valid, context.setting.pad_id or 0) if ids else x
        found.append(replace(case, x=x))
    return tuple(found)


def _as_meant(function: object, case: Case, weights: Weights) -> Weights:
    given = function(case.valid) if callable(function) else None
    try:
        assert isinstance(given, Tensor)
        return given.detach().to(weights).expand_as(weights)
    except (AssertionError, RuntimeError):
        what = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(
            f"AuditScope(bias=…) gave {what}; it must give numbers that fit (batch, head, query, "
            f"key) = {tuple(weights.shape)}."
        ) from None


def softmax_of(bias: Weights, context: AuditContext, case: Case, number: int) -> Weights:
    """Softmax of the bias alone, over the keys that each real query may attend to."""
    allowed = context.intent(case, number)[:, None]
    scores = bias.double().masked_fill(~allowed, -torch.inf)
    return _real(scores.softmax(dim=-1).nan_to_num(0.0), context, case, number)


def _shown(weights: Weights, context: AuditContext, case: Case, number: int) -> Weights:
    """The weights; with attention sinks, renormalized over the tokens."""
    whole = weights.double().sum(dim=-1, keepdim=True).clamp_min(1e-300)
    return _real((weights.double() / whole).nan_to_num(0.0), context, case, number)


def _real(weights: Weights, context: AuditContext, case: Case, number: int) -> Weights:
    rows = case.valid & context.intent(case, number).any(dim=-1)
    return weights.masked_fill(~rows[:, None, :, None], 0.0)


def _moves(
    maps: Maps, others: Maps, context: AuditContext, case: Case, number: int, tolerance: float
) -> bool:
    """Whether other equal tokens have other weights."""
    if len(others.layers) <= number:
        return True
    one, two = (
        _shown(each.layers[number].weights(slice(None)), context, case, number)
        for each in (maps, others)
    )
    return float((one - two).abs().max()) > tolerance


def _code(
    bias: Weights, observed: Weights, context: AuditContext, case: Case, number: int, tol: float
) -> tuple[str, str]:
    """The one mistake that gives what was seen, and what to add to it."""
    farthest = range(1, min(bias.shape[-1] - 1, FARTHEST))
    candidates = {
        ("bias_lost", ""): torch.zeros_like(bias),
        ("bias_sign", ""): -bias,
        ("bias_heads", ""): bias.flip(1),
        ("bias_transposed", ""): bias.mT,
        **{("bias_clipped", f" (from {n} on)"): _clipped(bias, n) for n in farthest},
    }
    fits = [
        code
        for code, one in candidates.items()
        if float((softmax_of(one, context, case, number) - observed).abs().max()) <= tol
    ]
    if fits:
        return fits[0] if len(fits) == 1 else ("", "")
    allowed = context.intent(case, number)[:, None]
    times = [
        _times(bias[:, head : head + 1], observed[:, head : head + 1], allowed)
        for head in range(bias.shape[1])
    ]
    scaled = softmax_of(bias.new_tensor(times)[:, None, None] * bias, context, case, number)
    if float((scaled - observed).abs().max()) > tol:
        return "", ""
    return _scales(times)


def _scales(times: list[float]) -> tuple[str, str]:
    """That all heads have the bias by one other factor, or some heads by other ones."""
    wrong = [head for head, one in enumerate(times) if abs(one - 1) > 0.01]
    if len(wrong) == len(times) and max(times) - min(times) < 0.01 * abs(times[0]):
        return "bias_scale", f" ({times[0]:.3g} times what is meant)"
    told = [f"head {head} has {times[head]:.3g} times what is meant" for head in wrong]
    return ("bias_slopes", f": {', '.join(told)}") if wrong else ("", "")


def _times(bias: Weights, observed: Weights, allowed: Tensor) -> float:
    """The factor by which logs of weights differ within a row, where its bias differs most."""
    shown = allowed & (observed > 1e-6)
    counts = shown.sum(dim=-1, keepdim=True).clamp_min(1)
    known, seen = (
        (one - (one * shown).sum(dim=-1, keepdim=True) / counts) * shown
        for one in (bias.double(), observed.clamp_min(1e-300).log())
    )
    return float((known * seen).sum() / (known * known).sum().clamp_min(1e-300))


def _clipped(bias: Weights, farthest: int) -> Weights:
    """Clip distances to `farthest`."""
    place = torch.arange(bias.shape[-1], device=bias.device)
    apart = (place[:, None] - place).clamp(-farthest, farthest)
    key = (place[:, None] - apart).clamp(0, len(place) - 1)  # as far from the query as that
    return bias.gather(-1, key.expand_as(bias))
