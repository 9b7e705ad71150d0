"""One attention layer of one run, read in blocks of rows so that no map is held whole."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.audit.measure.slots import NO_SLOTS, Slots, rows_of
from viz_encoder.trace import LayerTrace
from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.head_rows import blocks_of
from viz_encoder.trace.mask_parsing import NEVER

BLOCK_BYTES = 16 * 2**20  # weights of all samples and heads that are held at once
SHUT = 60.0  # below the row's largest: e⁻⁶⁰ is nothing
HUGE = 1e30  # scores below it cannot overflow, so their softmax is no NaN


@dataclass(frozen=True, eq=False)
class RowFaults:
    """Faults in each row of a layer's maps, for all samples and heads."""

    leak: Float[Tensor, "batch head query"]  # the largest weight, or -inf's, on a forbidden key
    lost: Int[Tensor, "batch head query"]  # allowed keys that are closed
    sums: Float[Tensor, "batch head query"]  # float64, including slots that hold no token
    nan: Bool[Tensor, "batch head query"]  # whether any weight is


@dataclass(frozen=True, eq=False)
class LayerRun:
    """What one attention layer did in one run."""

    name: str
    ran: AttentionCall
    n_samples: int
    slots: Slots = NO_SLOTS  # keys that hold no token
    n_keys: int = 0  # tokens among the keys; all of them if 0
    by_hand: bool = False  # a softmax of the model's own
    _known: dict[str, tuple[Tensor, Tensor, RowFaults]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Samples, heads, queries and the keys that are tokens."""
        _, n_heads, n_queries, n_keys = self.ran.shape
        return self.n_samples, n_heads, n_queries, self.n_keys or n_keys

    @property
    def has_more_keys(self) -> bool:
        """Whether there are more keys than tokens."""
        return self.ran.shape[3] > self.shape[3]

    @property
    def sure(self) -> bool:
        """Whether allowed pairs come from the mask alone, and so do not depend on the input."""
        return self.ran.maps is None

    @property
    def bias(self) -> Tensor | None:
        """Bias added to the scores, if any."""
        return self.ran.bias

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the run."""
        return self.ran.v.dtype

    @property
    def has_sink(self) -> bool:
        """Whether some queries may look at keys that hold no token."""
        return self.slots.n_open > 0

    @cached_property
    def is_plain(self) -> bool:
        """Whether closed pairs must have weight 0 and open rows sum to 1: no NaN can arise."""
        ran = self.ran
        if ran.maps is not None or ran.bias is not None or self.has_sink:
            return False
        largest = [float(x.abs().max()) if x.numel() else 0.0 for x in (ran.q, ran.k)]
        bound = largest[0] * largest[1] * ran.q.shape[-1] * max(1.0, abs(ran.scale))
        return bound < HUGE  # False where either is NaN

    @property
    def beside(self) -> "LayerRun | None":
        """Its keys that hold no token as those of cross-attention; None without several of them."""
        if self.slots.n_open < 2:
            return None
        first = 0 if self.slots.first else self.shape[3]
        n_keys = self.ran.shape[3] - self.shape[3]
        return replace(self, slots=Slots(first), n_keys=n_keys, _known={})

    def row_blocks(self) -> Iterator[slice]:
        """Rows in pieces of at most BLOCK_BYTES of weights."""
        n_samples, n_heads, n_queries, _ = self.shape
        step = max(1, BLOCK_BYTES // (4 * n_samples * n_heads * max(1, self.ran.shape[3])))
        return blocks_of(n_queries, step)

    def opened(self, rows: slice) -> Bool[Tensor, "batch #head row key"]:
        """Open by the mask that ran, or where weight is above 0."""
        whole = self._mask(rows) if self.sure else self._weights(rows) > 0
        return whole[..., self._tokens]

    def weights(self, rows: slice) -> Float[Tensor, "batch head row key"]:
        """Rows of all samples' and heads' maps, without slots that hold no token."""
        return self._weights(rows)[..., self._tokens]

    def map(self, sample: int, head: int) -> Float[Tensor, "query key"]:
        """One whole map."""
        ran, heads = (sample if self.ran.shape[0] > 1 else 0), slice(head, head + 1)
        with torch.no_grad():
            parts = [self._of_sample(ran, rows, heads)[0] for rows in self.row_blocks()]
        return torch.cat(parts)[:, self._tokens]

    def sink(self, rows: slice) -> Float[Tensor, "batch head row"]:
        """The attention weight on slots that hold no token, such as a sink."""
        whole = self._weights(rows)
        return whole.sum(dim=-1) - whole[..., self._tokens].sum(dim=-1)

    def looked_at(self, least: float, *, unless_even: bool = False) -> Bool[Tensor, "b head q k"]:
        """All open pairs, whole: by the mask, or where a weight is above `least` or NaN.

        Args:
            least: a weight up to it counts as 0.
            unless_even: a row with all weights alike is closed: its scores all were the lowest.
        """
        return torch.cat([self._looked_at(r, least, unless_even) for r in self.row_blocks()], dim=2)

    def _looked_at(self, rows: slice, least: float, unless_even: bool) -> Tensor:
        if self.sure:
            opened = self.opened(rows).expand(-1, self.shape[1], -1, -1)
            return opened if self.bias is None else opened & ~self._shut(rows, least)
        weights = self.weights(rows)
        opened = weights.nan_to_num(1.0) > least
        if unless_even:
            opened &= (weights.amax(dim=-1) - weights.amin(dim=-1) > 1e-7)[..., None]
        return opened

    def _shut(self, rows: slice, least: float) -> Bool[Tensor, "batch head row key"]:
        """Where a bias is low enough to be meant as a mask, such as Swin's -100."""
        assert self.bias is not None
        added = rows_of(self.bias, rows)
        low = added < added.amax(dim=-1, keepdim=True) - SHUT
        if not bool(low.any()):
            return low.new_zeros(1, 1, 1, 1)
        n_rows = len(range(*rows.indices(self.ran.shape[2])))
        low = self._of_each(low.expand(-1, self.shape[1], n_rows, self.ran.shape[3]))
        return low[..., self._tokens] & (self.weights(rows).nan_to_num(1.0) <= least)

    def worst_key(
        self, allowed: Bool[Tensor, "batch query key"], row: tuple[int, ...], *, leaks: bool
    ) -> int:
        """Of a row (sample, head, query) the forbidden key with the most, or the first lost one."""
        sample, head, query = row
        one, may = slice(query, query + 1), allowed[sample, query]
        if leaks:
            weights = self.weights(one)[sample, head, 0].abs()
            return int(weights.nan_to_num(0.0, torch.inf).masked_fill(may, 0.0).argmax())
        opened = self.opened(one)[sample]
        return int((may & ~opened[min(head, len(opened) - 1), 0]).nonzero()[0])

    def judged(
        self, allowed: Bool[Tensor, "batch query key"], valid: Bool[Tensor, "batch query"]
    ) -> RowFaults:
        """Each row against what it may attend to; rows of padding, or without any key, are right.

        Asked again with the same tensors, it is not computed again.
        """
        known = self._known.get("judged")
        if known is not None and known[0] is allowed and known[1] is valid:
            return known[2]
        with torch.no_grad():
            parts = [self._judge(r, allowed[:, r], valid[:, r]) for r in self.row_blocks()]
        found = RowFaults(*(torch.cat(part, dim=2) for part in zip(*parts, strict=True)))
        self._known["judged"] = (allowed, valid, found)
        return found

    def _judge(self, rows: slice, allowed: Tensor, valid: Tensor) -> tuple[Tensor, ...]:
        whole = (*self.shape[:2], allowed.shape[1])
        forbidden = (~allowed & (valid & allowed.any(dim=-1))[:, :, None])[:, None]
        if self.is_plain:
            opened = self.opened(rows)
            lost = (allowed[:, None] & ~opened).sum(dim=-1) * valid[:, None]
            if not bool((opened & forbidden).any()):
                sums = opened.any(dim=-1).double().expand(whole)
                none = sums.new_zeros(whole, dtype=torch.float32)
                return none, lost.expand(whole), sums, none.bool()
        weights = self._weights(rows)
        tokens = weights[..., self._tokens]
        opened = self.opened(rows) if self.sure else tokens > 0
        lost = (allowed[:, None] & ~opened).sum(dim=-1) * valid[:, None]
        leak = tokens.masked_fill(~forbidden, 0.0).abs_().nan_to_num_(0.0, torch.inf).amax(dim=-1)
        sums = tokens.sum(dim=-1, dtype=torch.double)
        sums = sums + self.sink(rows) if self.has_sink else sums
        return leak, lost.expand(whole), sums, tokens.isnan().any(dim=-1)

    @property
    def _tokens(self) -> slice:
        return slice(self.slots.first, self.slots.first + self.shape[3])

    def _mask(self, rows: slice) -> Bool[Tensor, "batch #head row key"]:
        ran = self.ran
        opened = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=ran.q.device)
        if ran.mask is not None:
            opened = opened & rows_of(ran.mask, rows)
        if ran.bias is not None:
            opened = opened & (rows_of(ran.bias, rows) > NEVER)
        n_rows = len(range(*rows.indices(ran.shape[2])))
        return self._of_each(opened.expand(-1, -1, n_rows, ran.shape[3]))

    def _weights(self, rows: slice) -> Float[Tensor, "batch head row slot"]:
        """Including slots that hold no token."""
        samples = range(self.ran.shape[0])
        with torch.no_grad():
            return self._of_each(torch.stack([self._of_sample(one, rows) for one in samples]))

    def _of_sample(self, sample: int, rows: slice, heads: slice = slice(None)) -> Tensor:
        ran = self.ran
        mask, bias, maps = (
            None if part is None else part[sample if part.shape[0] > 1 else 0]
            for part in (ran.mask, ran.bias, ran.maps)
        )
        q, k, v = ran.q[sample], ran.k[sample], ran.v[sample]
        one = LayerTrace(q=q, k=k, v=v, scale=ran.scale, mask=mask, bias=bias, maps=maps)
        return one.weights(heads, rows)

    def _of_each(self, x: Tensor) -> Tensor:
        """Expand a tensor shared by all samples."""
        return x.expand(self.n_samples, *x.shape[1:])
