"""Whether cross-attention looks where it may: keys are a memory's tokens, of any number."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose, either
from viz_encoder.audit.diagnose.hypothesis import up_to_last
from viz_encoder.audit.diagnose.padding_masks import MOST_STEPS
from viz_encoder.audit.measure.changes import largest_of
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import named_once
from viz_encoder.audit.measure.setting import MASS
from viz_encoder.audit.pictures import picture_of_cross
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Diagnosis, fails, passes, untested


@question(
    "Cross-attention", Evidence.BESIDE, after="CALL PASSED SPOILED", before="bias", part="memory"
)
def cross_attention(context: AuditContext) -> Check:
    """Each layer, head and sample of it against AuditScope(cross=…)."""
    layers = context.maps.memories if context.scope.cross else context.maps.cross
    names = ", ".join(named_once([layer.name for layer in layers]))
    allowed = context.crossed(context.base.valid)
    if not layers:
        why = "none was seen" if context.maps.layers else "no maps could be seen"
        return untested(f"Cross-attention: {why}.")
    if allowed is None:
        return untested(f"Cross-attention ({names}): give AuditScope(cross=…).")
    for number, layer in enumerate(layers):
        if layer.shape[2:] != allowed.shape[1:]:
            return untested(
                f"Cross-attention: {layer.name} has {layer.shape[2]} queries and "
                f"{layer.shape[3]} keys; AuditScope(cross=…) gave {tuple(allowed.shape)}."
            )
        found = _fault(context, number, layer, allowed)
        if found is not None:
            right = f" The {number} before it are right." if number > 1 else ""
            right = " The one before it is right." if number == 1 else right
            return found.but(evidence=f"{found.evidence}{right}")
    return passes(f"Cross-attention ({names}) looks where it may, and nowhere else.")


def _fault(context: AuditContext, number: int, layer: LayerRun, allowed: Tensor) -> Check | None:
    rows = _rows(context, allowed)
    seen = layer.judged(allowed, rows)
    amount = float(seen.leak.max())
    leaks = amount > MASS
    if leaks:
        row = largest_of(seen.leak)
    elif context.misses(seen.lost) and layer.sure:
        row = tuple(int(n) for n in seen.lost.nonzero()[0])
    else:
        return None
    (sample, head, query), key = row, layer.worst_key(allowed, row, leaks=leaks)
    text = f"never looks at memory {key}, which it may attend to"
    if leaks:
        text = f"gives {amount:.3g} of its attention to memory {key}, which it may not attend to"
    text = f"Cross-attention in {layer.name}, head {head}, sample {sample}: query {query} {text}."
    opened = layer.looked_at(MASS)
    weights = layer.map(sample, head)
    shot = picture_of_cross(layer.name, allowed[sample], weights, rows[sample], (head, sample))
    found = fails(text, head=head, sample=sample, query=query, key=key)
    found = found.but(amount=amount, pictures=(shot,))
    cause = _cause(opened, allowed, rows, context.base.valid)
    if cause.code == "ignored" and _has_even_padding(layer, context.base.valid):
        cause = either(["transposed", "ignored"])
    return found.because(cause)


def _has_even_padding(layer: LayerRun, valid: Tensor) -> bool:
    """Whether queries that are padding look at all keys alike, as where they are masked."""
    if layer.shape[0] != len(valid) or layer.shape[2] != valid.shape[1] or bool(valid.all()):
        return False
    rows = layer.weights(slice(None)).nan_to_num(0.0).movedim(1, 2)[~valid]
    return bool((rows.amax(dim=-1) - rows.amin(dim=-1) < MASS).all())


def _rows(context: AuditContext, allowed: Tensor) -> Bool[Tensor, "batch query"]:
    """Queries that may attend to anything; if they are this model's tokens, only real ones."""
    open_, valid = allowed.any(dim=-1), context.base.valid
    return open_ & valid if open_.shape == valid.shape else open_


def _cause(opened: Tensor, allowed: Tensor, rows: Tensor, valid: Tensor) -> Diagnosis:
    causal = torch.ones_like(allowed).tril()
    ahead = allowed.shape[2] - allowed.shape[1]
    aligned = ahead > 0 and torch.equal(allowed, allowed & torch.ones_like(allowed).tril(ahead))
    candidates = (
        *((("corner", allowed & causal), ("corner", causal)) if aligned else ()),
        ("cross_causal", allowed & causal),
        ("cross_causal", causal),
        ("inverted", ~allowed),
        ("ignored", torch.ones_like(allowed)),
        ("first_sample", allowed[:1].expand_as(allowed)),
        ("media_before", up_to_last(allowed)),
        *_with_padding(allowed),
        *_of_padding(allowed, rows, valid),
        *(("cross_beside", one) for one in _beside(allowed)),
        ("media_last", _last_alike(allowed)),
    )
    judged = rows[:, None].expand(opened.shape[:3])
    fits = [
        code
        for code, one in candidates
        if torch.equal(opened[judged], one[:, None].expand_as(opened)[judged])
    ]
    fits = ["corner"] if "corner" in fits else [*dict.fromkeys(fits)]
    if not fits:
        return _moved(opened, allowed, judged) or UNKNOWN
    return either(fits) if len(fits) > 1 else diagnose(fits[0])


def _with_padding(allowed: Tensor) -> Iterator[tuple[str, Tensor]]:
    """What is meant, and the padding of the memory, open as in a sample that has none there."""
    opened = allowed | (allowed.any(dim=0) & _padding_of(allowed))
    if not bool(opened.all()):
        yield "padding_ignored", opened


def _of_padding(allowed: Tensor, rows: Tensor, valid: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The padding mask of the memory without the pattern, or that of the queries in its place.

    Where no query sees all of the memory, its padding is not known, and may be the queries'.
    """
    whole = (allowed & rows[..., None]).any(dim=1, keepdim=True).expand_as(allowed)
    plain = torch.equal(allowed[rows], whole[rows])
    if not plain and not bool(whole.all()):
        yield "pattern_ignored", whole
    if valid.shape[1] != allowed.shape[2]:
        return
    as_queries = valid[:, None].expand_as(allowed)
    if not torch.equal(as_queries, whole):
        yield "cross_queries", as_queries
        if not plain and not bool((whole & ~as_queries).any()):
            yield "pattern_ignored", as_queries


def _moved(opened: Tensor, allowed: Tensor, judged: Tensor) -> Diagnosis | None:
    """Queries that look at what those may look at that stand so many places later, or earlier."""
    n_queries = allowed.shape[1]
    for step in range(1, min(MOST_STEPS, n_queries - 2) + 1):
        for by, words in ((-step, "later"), (step, "earlier")):
            rows = slice(0, n_queries - step) if by < 0 else slice(step, None)
            one = allowed.roll(by, 1)[:, None].expand_as(opened)
            if torch.equal(
                opened[:, :, rows][judged[:, :, rows]], one[:, :, rows][judged[:, :, rows]]
            ):
                places = f"{step} places" if step > 1 else "one place"
                return diagnose("cross_moved", more=f": those that stand {places} {words}")
    return None


def _beside(allowed: Tensor) -> tuple[Tensor, Tensor]:
    """One key more, and one fewer, at the end of what each query may attend to."""
    padding = _padding_of(allowed)
    whole = allowed | (allowed.any(dim=0) & padding)
    more, fewer = whole.roll(1, 2) & ~padding, whole.roll(-1, 2)
    more[:, :, 0], fewer[:, :, -1] = allowed[:, :, 0], False
    return more | allowed, fewer & allowed


def _padding_of(allowed: Tensor) -> Bool[Tensor, "batch 1 memory"]:
    """Keys that no query of a sample may attend to, though some of another sample may."""
    dead = ~allowed.any(dim=1, keepdim=True)
    return dead & ~dead.all(dim=0)


def _last_alike(allowed: Tensor) -> Tensor:
    """Of the keys of each query, only the last, and those that the same queries may attend to."""
    last = allowed & ~up_to_last(allowed).roll(-1, 2)
    last[:, :, -1] = allowed[:, :, -1]
    alike = (allowed.mT[:, :, None] == allowed.mT[:, None]).all(dim=-1)
    return (last.float() @ alike.float()) > 0
