"""How much each token's row has to do with the vector that is pooled, and by which softmax."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.watch import Softmaxes, hooked
from viz_encoder.model.masks import Valid

PoolCall = Callable[[Tensor, Tensor], Tensor]
Amounts = Float[Tensor, "batch token"]


def pooled_rows(
    subject: Subject, case: Case, pooled: PoolCall | None, *, beside: bool = False
) -> Amounts | None:
    """The gradient of each sample's vector by the rows that are pooled; None if none are known.

    Without `pooled` the model's own output is the vector. `beside`: the largest of it and that by
    the rows beside those: queries, keys and values are all made of the tokens, and a vector may
    read only some of each.
    """
    with torch.enable_grad():
        if pooled is None:
            seen, vectors = _rows_seen(subject, case)
        else:
            seen = [subject.run(case).detach().requires_grad_(True)]
            vectors = pooled(seen[0], case.valid)
        while seen:  # those that nothing is made of are none
            last = seen.pop()
            found = _amounts_of(last, vectors)
            if found is not None:
                return _with_those_beside(seen, last, vectors, found) if beside else found
    return None


def _with_those_beside(
    before: Sequence[Tensor], last: Tensor, vectors: Tensor, amounts: Amounts
) -> Amounts:
    """The largest amounts, of the last rows and of those before that they are not made of."""
    for rows in reversed(before):
        (above,) = torch.autograd.grad(last.sum(), rows, retain_graph=True, allow_unused=True)
        if above is not None:
            break
        beside = _amounts_of(rows, vectors)
        amounts = amounts if beside is None else torch.maximum(amounts, beside)
    return amounts


def _rows_seen(subject: Subject, case: Case) -> tuple[list[Tensor], Tensor]:
    """For a model that pools: its modules' outputs with one row per token, and its output."""
    seen: list[Tensor] = []

    def note(module: nn.Module, args: object, kwargs: object, out: object) -> object:
        # Attention may return its weights, too: (rows, weights).
        rows, *others = out if isinstance(out, tuple) and out else (out,)
        if not isinstance(rows, Tensor) or rows.ndim != 3 or rows.shape[:2] != case.valid.shape:
            return None
        if not rows.is_floating_point():
            return None
        seen.append(rows if rows.requires_grad else rows.detach().requires_grad_(True))
        return type(out)((seen[-1], *others)) if type(out) is tuple else seen[-1]

    with hooked(subject.whole.modules(), note):
        return seen, subject.run(case, grad=True)


def _amounts_of(rows: Tensor, vectors: Tensor) -> Amounts | None:
    found = [_amounts(rows, vectors, sample) for sample in range(len(vectors))]
    known = [one for one in found if one is not None]
    return torch.stack(known) if len(known) == len(found) else None


def _amounts(rows: Tensor, pooled: Tensor, sample: int) -> Float[Tensor, " token"] | None:
    """Each row's gradient of one sample's vector, relative to the largest; None if unconnected."""
    values = pooled[sample].flatten()
    mixture = torch.linspace(1.0, 2.0, len(values), device=values.device, dtype=values.dtype)
    if not values.requires_grad:
        return None
    (found,) = torch.autograd.grad(
        (values * mixture).sum(), rows, retain_graph=True, allow_unused=True
    )
    if found is None:
        return None
    sizes = found[sample].detach().abs().amax(dim=-1).double()
    return sizes / sizes.max().clamp_min(1e-300)


def pooling_weights(run: Callable[[], Any], valid: Valid) -> Float[Tensor, "batch token"] | None:
    """The largest weight of each token in a softmax over the tokens; None if there is none.

    No other axis holds the tokens, as queries would.
    """
    n_samples, n_tokens = valid.shape

    def keep(out: Tensor, axis: int) -> Tensor | None:
        is_one = len(out) == n_samples and out.shape[axis] == n_tokens
        if not is_one or out.shape.count(n_tokens) != 1:
            return None
        return out.movedim(axis, 1).flatten(2).amax(dim=2) if out.ndim > 2 else out

    with Softmaxes(keep) as seen:
        run()
    return torch.stack(seen.found).amax(dim=0) if seen.found else None
