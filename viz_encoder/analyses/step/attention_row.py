"""One row of one head in full: products, scores, mask, softmax, and output."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.analyses.step.norm_and_feed_forward import layer_of, numbers, numbers_or_none
from viz_encoder.arguments import Token, public
from viz_encoder.model.attention import signs
from viz_encoder.model.positions import spread
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.token_selection import query_of


@dataclass(frozen=True, eq=False, repr=False)
class AttentionStep(ArrayResult, main="weights"):
    """One query of one head: weights[j] = exp(scores[j] − max) / sum, out = Σ_j weights[j] · v[j].

    dots[j] = q · k[j], and scores[j] = dots[j] · scale + bias[j], −∞ where the mask forbids the
    key. A run that kept its maps alone has no q and k, so these, dots, scores and exps are None.
    sink: what the softmax gave to no key; weights and sink sum to 1. apart: the largest difference
    of `out` from what ran, in the two signed sums of it that the run kept, by the most that such a
    sum can be; None where it kept none.
    """

    layer: int
    head: int
    query: int
    q: Float[np.ndarray, " d_head"] | None
    k: Float[np.ndarray, "key d_head"] | None
    v: Float[np.ndarray, "key d_value"]
    dots: Float[np.ndarray, " key"] | None
    scale: float
    bias: Float[np.ndarray, " key"] | None
    allowed: Bool[np.ndarray, " key"]
    scores: Float[np.ndarray, " key"] | None
    max: float | None
    exps: Float[np.ndarray, " key"] | None
    sum: float | None
    sink: float | None
    weights: Float[np.ndarray, " key"]
    out: Float[np.ndarray, " d_value"]
    apart: float | None

    @property
    def products(self) -> Float[np.ndarray, "key d_head"] | None:
        """q[c] · k[j, c], whose sum over c is dots[j]."""
        return None if self.q is None or self.k is None else self.q * self.k

    @property
    def added(self) -> Float[np.ndarray, "key d_value"]:
        """weights[j] · v[j], whose sum over j is `out`."""
        return self.weights[:, None] * self.v


@public
def attention_step(trace: Trace, layer: int, head: int, query: Token) -> AttentionStep:
    """Every number of one row of one head, from the trace alone; also of a recorded model.

    The weights come from the same function as every map (`Trace.attention`); the numbers before
    them are the same arithmetic written out (Vaswani et al., 2017, arXiv:1706.03762). Nothing of
    T × T is made.

    Args:
        trace: the run.
        layer: counted from 0.
        head: counted from 0.
        query: the token that looks.

    Raises:
        SelectionError: no such layer, head or token.
    """
    ran = layer_of(trace, layer, head)
    query = query_of(trace, query)
    with torch.no_grad():
        row = slice(query, query + 1)
        weights = ran.weights(slice(head, head + 1), row)[0, 0]
        v = ran.v[head * ran.v.shape[0] // ran.n_heads].to(weights.dtype)
        out = weights @ v
        before = None if ran.maps is not None else _scores(ran, head, query, weights.dtype)
        q, k, dots, bias, scores = before or (None,) * 5
        allowed = _allowed(ran, head, query, bias, weights)
        if scores is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        top, exps = _exponentials(scores)
    return AttentionStep(
        layer=layer,
        head=head,
        query=query,
        q=numbers_or_none(q),
        k=numbers_or_none(k),
        v=numbers(v),
        dots=numbers_or_none(dots),
        scale=ran.scale,
        bias=numbers_or_none(bias),
        allowed=allowed.cpu().numpy(),
        scores=numbers_or_none(scores),
        max=top,
        exps=numbers_or_none(exps),
        sum=None if exps is None else float(exps.sum()),
        sink=None if ran.sink is None else float(ran.sink[head, query]),
        weights=numbers(weights),
        out=numbers(out),
        apart=_apart(ran, head, query, out),
    )


def _scores(
    ran: LayerTrace, head: int, query: int, wide: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor]:
    """q, k, q·k, what is added, and the scores, none of them masked yet."""
    q, k = ran.q[head, query].to(wide), ran.keys_of(slice(head, head + 1))[0]
    dots = (q[None] @ k.mT)[0]
    bias = None if ran.bias is None else _row(ran.bias, head, query).to(wide)
    if ran.relative is not None:
        queries = torch.tensor([query], device=q.device)
        relative = spread(ran.relative[head : head + 1], queries)[0, 0].to(wide)
        bias = relative if bias is None else bias + relative
    scores = dots * ran.scale
    return q, k, dots, bias, scores if bias is None else scores + bias


def _allowed(
    ran: LayerTrace, head: int, query: int, bias: Tensor | None, like: Tensor
) -> Bool[Tensor, " key"]:
    """Allowed keys; a bias of −∞ masks too."""
    may = torch.ones(len(like), dtype=torch.bool, device=like.device)
    if ran.mask is not None:
        may = may & _row(ran.mask, head, query)
    return may if bias is None else may & (bias > -torch.inf)


def _row(x: Tensor, head: int, query: int) -> Tensor:
    """A query's row of a broadcasting "#head #query #key" tensor."""
    return x[head if x.shape[0] > 1 else 0, query if x.shape[1] > 1 else 0]


def _exponentials(scores: Tensor | None) -> tuple[float | None, Tensor | None]:
    """The largest score and e^(score − it); all 0 where every key is masked."""
    if scores is None:
        return None, None
    top = scores.max()
    if top == -torch.inf:
        return None, torch.zeros_like(scores)
    return float(top), (scores - top).exp()


def _apart(ran: LayerTrace, head: int, query: int, out: Tensor) -> float | None:
    if ran.signature is None:
        return None
    kept, out = ran.signature[head, query].double(), out.double()
    most = out.abs().sum().clamp_min(torch.finfo(torch.float32).tiny)
    return float((out @ signs(len(out), out) - kept).abs().max() / most)
