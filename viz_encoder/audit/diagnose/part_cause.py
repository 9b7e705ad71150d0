"""Why tokens mix where maps cannot tell: by the gradient of each part of the model by itself."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.banned import of_number
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose
from viz_encoder.audit.diagnose.half_masked import contradicted, half_masked, over_queries
from viz_encoder.audit.diagnose.hypothesis import LayerOnBatch, Reached
from viz_encoder.audit.diagnose.map_cause import diagnose_gradient, diagnose_maps
from viz_encoder.audit.diagnose.passed_mask import readings_of
from viz_encoder.audit.diagnose.several_softmaxes import of_softmaxes
from viz_encoder.audit.measure.inner_parts import moved_parts
from viz_encoder.audit.measure.parts import MixingPart, NamedPart, mixing_parts, name_in
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.report import Diagnosis, unsure
from viz_encoder.shown import listed

FAINT = -3.0  # the log of a forbidden gradient over an allowed one that no open pair has
ELSEWHERE = "Mask padding there too, or let it work on each token by itself."
BORDERS = (
    "Let it read only what the intent allows: a causal convolution, F.pad(x, (k - 1, 0)), reads "
    "nothing ahead, and what goes on from token to token starts anew at each document or chunk."
)


def besides_attention(context: AuditContext, case: Case, *, cure: str = ELSEWHERE) -> Diagnosis:
    """The maps are right: which other part of the model lets tokens mix, by its own gradient."""
    if (found := over_queries(context, case)) is not None:
        return found
    leaking = [
        part
        for part in mixing_parts(context.subject, case)
        if not any(_within(layer.name, part.name) for layer in context.maps.layers)
    ]
    if leaking and all(part.name for part in leaking):
        return of_parts(leaking, "the maps are right, and tokens mix in", cure)
    cause = (
        "the maps that were seen are right, so tokens mix in a part that shows none: a "
        "convolution, a mean or norm over tokens, attention without a softmax (linear attention), "
        "or a mask that is applied after the softmax."
    )
    return Diagnosis("besides_attention", cause, cure)


def cure_of(case: Case, sample: int, key: int) -> str:
    """The fix for a part that reads this token, which it may not: padding, or a real one."""
    return BORDERS if bool(case.valid[sample, key]) else ELSEWHERE


def jumping_parts(
    context: AuditContext, case: Case, x: Tensor, still: Tensor, *, cure: str
) -> Diagnosis | None:
    """The maps are right: which other part moves these rows with another x, if any does."""
    layers = [name_in(one.name) for one in context.maps.layers]
    moved = moved_parts(context.subject, case, x, still, context.tolerance(context.out))
    parts = [p for p in moved.parts if not any(_within(n, p.name) for n in layers)]
    if parts:
        return of_parts(parts, "the maps are right, and tokens mix in", cure)
    if moved.parts or moved.between is None or not all(layers):
        return None
    last, following = moved.between
    if any(_within(name, following) for name in layers if _within(name, last)):
        return None  # both belong to one layer: the code between them is its attention
    cause = f"the maps are right, and tokens mix in the code between {last} and {following}."
    return Diagnosis("besides_attention", cause, cure)


def of_parts(parts: Sequence[NamedPart], told: str, cure: str) -> Diagnosis:
    """Names the parts other than attention that mix tokens; norms have a cause of their own."""
    if all(_is_norm(part) for part in parts):
        return diagnose("norm", more=f" (in {_listed(parts)})")
    which = "which is not attention" if len(parts) == 1 else "which are not attention"
    return Diagnosis("besides_attention", f"{told} {_listed(parts)}, {which}.", cure)


def _listed(parts: Sequence[NamedPart]) -> str:
    names = [
        f"a {part.kind}" if part.name.startswith("parts.") else f"{part.name} ({part.kind})"
        for part in parts
    ]
    return listed(names)


def _is_norm(part: NamedPart) -> bool:
    return "Norm" in part.kind


def _within(layer: str, part: str) -> bool:
    """Whether a layer of attention is that part, in it, or around it."""
    layer = layer.removeprefix("call.")
    return not part or f"{layer}.".startswith(f"{part}.") or f"{part}.".startswith(f"{layer}.")


def unseen_attention(context: AuditContext, case: Case, depends: Tensor) -> Diagnosis:
    """Without maps: layer by layer, if modules tell them apart; else by all layers together."""
    found = of_softmaxes(context, case) or by_parts(context, case)
    if found is not None:
        return found
    if len(case.allowed) > 1 or context.n_layers is None:
        return Diagnosis()
    batches = [
        Reached(depends, case.allowed[0], context.pattern(case), case.valid, context.n_layers)
    ]
    for other in context.batches.further(case):
        given = context.gradients_on(other)
        if not isinstance(given, str) and len(given.rows) == int(other.valid.sum()):
            links = given.within(other)
            links = (links > GRADIENT) | ((links > 0) & context.must(other))
            meant = other.allowed[0], context.pattern(other), other.valid
            batches.append(Reached(links, *meant, context.n_layers))
    return diagnose_gradient(batches, contradicted(context, case))


def by_parts(context: AuditContext, case: Case) -> Diagnosis | None:
    """The first module that lets tokens mix as they may not; None if none can be told apart."""
    if (known := over_queries(context, case)) is not None:
        return known
    every = mixing_parts(context.subject, case)
    parts, besides = _parted(every, case)
    mixing = [one for one in besides if _is_wrong(context, case, one, every.index(one))]
    wrong = [n for n, one in enumerate(parts) if _is_wrong(context, case, one, n)]
    if mixing and not wrong:
        of_padding = case.valid[:, :, None] & ~case.valid[:, None, :]
        padded = any(bool((one.depends > GRADIENT)[of_padding].any()) for one in mixing)
        return of_parts(mixing, "tokens mix in", ELSEWHERE if padded else BORDERS)
    if not wrong or len(case.allowed) not in (1, len(parts)):
        return None
    if context.n_layers not in (None, len(parts)):
        return None  # a part of several layers looks like one with a wider window
    number = wrong[0]
    apart = _measured(context, case, number)
    if apart is not None and float(apart.mean()) < FAINT:
        found = half_masked(context, case, parts[number].name, number)
        if found is not None:
            return found
    value = None if apart is None else _constant(context, case, number, apart)
    if (known := of_number(value, case)) is not None:
        return known
    if apart is not None and float(apart.mean()) < FAINT:
        return UNKNOWN  # an open pair has the weight of an allowed one
    seen = [_of_part(context, case, parts[number], number)]
    for other in context.batches.further(case):
        again, _ = _parted(mixing_parts(context.subject, other), other)
        if len(again) == len(parts):
            seen.append(_of_part(context, other, again[number], number))
    excluded = contradicted(context, case, parts[number].name)
    found = diagnose_maps(seen, excluded=excluded)  # several layers together tell less
    if not found.code:
        return half_masked(context, case, parts[number].name, number) or found
    if context.n_layers:
        return found
    return found._replace(cause=unsure(found.cause))  # a part may hold more than one layer


def _parted(parts: Sequence[MixingPart], case: Case) -> tuple[list[MixingPart], list[MixingPart]]:
    """Attention, and the norms and convolutions beside it if there are more parts than intents."""
    besides = [one for one in parts if _is_norm(one) or "Conv" in one.kind]
    besides = besides if len(parts) > len(case.allowed) else []
    return [one for one in parts if one not in besides], besides


def _is_wrong(context: AuditContext, case: Case, part: MixingPart, number: int) -> bool:
    meant = context.intent(case, min(number, len(case.allowed) - 1))
    others = ~torch.eye(meant.shape[-1], dtype=torch.bool, device=meant.device)
    return bool((((part.depends > GRADIENT) ^ meant) & others)[case.valid].any())


def _constant(context: AuditContext, case: Case, number: int, apart: Tensor) -> float | None:
    """The one number that was added to forbidden scores: as large where scores are smaller yet."""
    value = float(apart.mean())
    near = min(0.3, abs(value) / 10)
    again = _measured(context, case, number, times=0.5)
    if float(apart.std()) > near or again is None or abs(float(again.mean()) - value) > near:
        return None
    return value


def _measured(
    context: AuditContext, case: Case, number: int, times: float = 1.0
) -> Float[Tensor, " pair"] | None:
    """The logs of forbidden gradients over allowed ones where all scores are nearly 0."""
    with context.subject.flattened(times=times):
        parts, _ = _parted(mixing_parts(context.subject, case), case)
    if len(parts) <= number:
        return None
    itself = torch.eye(case.valid.shape[1], dtype=torch.bool, device=case.valid.device)
    allowed, rows = context.intent(case, number) & ~itself, case.valid[:, :, None]
    values = parts[number].depends
    counts = (allowed & rows).sum(dim=-1).clamp_min(1)
    open_ = (values * allowed).sum(dim=-1) / counts
    judged = ~allowed & ~itself & rows & (open_ > 0)[..., None]
    apart = (values / open_[..., None].clamp_min(1e-300)).log()[judged]
    return apart if apart.numel() > 1 and bool(apart.isfinite().all()) else None


def _of_part(context: AuditContext, case: Case, part: MixingPart, number: int) -> LayerOnBatch:
    """Dependencies that one module creates, including the residual; a decay makes them small."""
    itself = torch.eye(case.valid.shape[1], dtype=torch.bool, device=case.valid.device)
    allowed, pattern = context.intent(case, number), context.pattern(case, number)
    opened = part.depends > torch.where(pattern, 0.0, GRADIENT)
    opened = (opened | itself)[:, None]
    passed = readings_of(case)
    return LayerOnBatch(opened, allowed, pattern, case.valid, with_itself=True, passed=passed)
