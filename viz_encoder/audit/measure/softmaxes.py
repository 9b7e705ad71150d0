"""The softmaxes of a recording, and rows of maps that do not sum to 1.

No recorded call holds such a map, because none of them meets values alone.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.measure.changes import largest_of
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.watch import Softmaxes
from viz_encoder.trace.attention_call import AttentionCall, from_maps
from viz_encoder.trace.recorded_call import RecordedCall


def softmaxes_of(subject: Subject, case: Case, *, grad: bool | None = None) -> list[LayerRun]:
    """Each softmax of a run over the tokens, as it was before anything is done to its weights."""
    n_samples, n_tokens = case.valid.shape

    def keep(out: Tensor, axis: int) -> Tensor | None:
        square = out.shape[-2:] == (n_tokens, n_tokens) and axis == out.ndim - 1
        return out.clone() if square and out.ndim > 3 and len(out) == n_samples else None

    with Softmaxes(keep) as seen:
        subject.run(case, grad=grad)
    calls = [from_maps(one.flatten(1, -3), None, None) for one in seen.found]
    return [LayerRun("", one, n_samples, n_keys=n_tokens, by_hand=True) for one in calls]


def places_in_batch(call: RecordedCall, valid: Tensor) -> Bool[Tensor, "batch token"] | None:
    """Positions that a nested tensor holds: torch's own modules take each sample's first ones.

    Of another one only where it holds as many as are real; else where they stood is not known.
    """
    mask, n_tokens = call.attention.mask, valid.shape[1]
    counts = torch.full_like(valid.sum(dim=1), call.shape[3])
    if mask is not None:
        counts = mask[:, 0].any(dim=1).sum(dim=1).expand(len(valid))
    if call.fused and int(counts.max()) <= n_tokens:
        return torch.arange(n_tokens, device=valid.device) < counts[:, None]
    return valid if torch.equal(valid.sum(dim=1), counts) else None


def unpacked(ran: AttentionCall, held: Bool[Tensor, "batch token"]) -> AttentionCall:
    """Move from positions in a nested tensor, which has no padding, to those in the batch.

    A token that it does not hold looks where the others look, so that what is wrong is its place.
    """
    n_samples, n_tokens = held.shape
    mask = ran.mask
    if mask is None:
        mask = torch.ones(1, 1, *ran.shape[2:], dtype=torch.bool, device=ran.q.device)
    q, k, v = (x.new_zeros(n_samples, x.shape[1], n_tokens, x.shape[3]) for x in ran[1:4])
    wide = held[:, None, None, :].repeat(1, mask.shape[1], n_tokens, 1)
    for sample in range(n_samples):
        places = held[sample].nonzero()[:, 0]
        count, one = len(places), sample if ran.shape[0] > 1 else 0
        for filled, packed in ((q, ran.q), (k, ran.k), (v, ran.v)):
            filled[sample][:, places] = packed[one][:, :count]
        given = mask[sample if mask.shape[0] > 1 else 0]
        wide[sample][:, places[:, None], places] = given.expand(-1, *ran.shape[2:])[
            :, :count, :count
        ]
    return ran._replace(q=q, k=k, v=v, mask=wide)


FACTOR = 20  # times the dtype's tolerance, because a row adds many weights


class RowSums(NamedTuple):
    """The row of a layer that is farthest from 1."""

    sample: int
    head: int
    query: int
    total: float
    open_hold: bool  # in these heads, rows to which no key is forbidden sum to 1; there are some


def broken_rows(
    sums: Float[Tensor, "batch head query"],
    judged: Bool[Tensor, "batch query"],
    allowed: Bool[Tensor, "batch query key"],
    tolerance: float,
) -> RowSums | None:
    """Rows that do not sum to 1, among those judged; None if there are none.

    Args:
        sums: of each row's weights, a sink's with them where it is known.
        judged: rows of real tokens that may attend to anything.
        allowed: what each query is meant to look at.
        tolerance: of one weight, by its dtype.
    """
    apart = (sums - 1).abs().nan_to_num(0.0).masked_fill(~judged[:, None], 0.0)
    broken = apart > FACTOR * tolerance
    if not bool(broken.any()):
        return None
    heads = broken.any(dim=2).any(dim=0)
    open_ = (judged & allowed.all(dim=-1))[:, None].expand_as(broken)[:, heads]
    hold = bool(open_.any()) and not bool((broken[:, heads] & open_).any())
    sample, head, query = largest_of(apart)
    return RowSums(sample, head, query, float(sums[sample, head, query]), hold)
