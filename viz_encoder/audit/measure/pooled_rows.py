"""How much each token's row has to do with the vector that is pooled."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject


def pooled_rows(
    subject: Subject, case: Case, pooled: Callable[[Tensor, Tensor], Tensor] | None
) -> Float[Tensor, "batch token"] | None:
    """The gradient of each sample's vector by the rows that are pooled; None if none are known.

    Without `pooled` the model's own output is the vector.
    """
    with torch.enable_grad():
        if pooled is None:
            seen, vectors = _rows_seen(subject, case)
        else:
            seen = [subject.run(case).detach().requires_grad_(True)]
            vectors = pooled(seen[0], case.valid)
        for rows in reversed(seen):  # those that nothing is made of are none
            amounts = [_amounts(rows, vectors, sample) for sample in range(len(case.valid))]
            found = [one for one in amounts if one is not None]
            if len(found) == len(amounts):
                return torch.stack(found)
    return None


def _rows_seen(subject: Subject, case: Case) -> tuple[list[Tensor], Tensor]:
    """For a model that pools: its modules' outputs with one row per token, and its output."""
    seen: list[Tensor] = []

    def note(module: nn.Module, args: object, out: object) -> object:
        # Attention may return its weights, too: (rows, weights).
        rows, *others = out if isinstance(out, tuple) and out else (out,)
        if not isinstance(rows, Tensor) or rows.ndim != 3 or rows.shape[:2] != case.valid.shape:
            return None
        if not rows.is_floating_point():
            return None
        seen.append(rows if rows.requires_grad else rows.detach().requires_grad_(True))
        return type(out)((seen[-1], *others)) if type(out) is tuple else seen[-1]

    hooks = [part.register_forward_hook(note) for part in subject.whole.modules()]
    try:
        return seen, subject.run(case, grad=True)
    finally:
        for hook in hooks:
            hook.remove()


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
