"""FrozenRun: one sequence through our encoder, linear in its input embeddings and its biases."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.attribution.frozen import Frozen
from viz_encoder.attribution.links import links_of
from viz_encoder.attribution.rules import Through
from viz_encoder.attribution.starts import Start
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.model.attention import LayerRecord
from viz_encoder.model.encoder import EncoderOutput
from viz_encoder.trace.capture import traces_of
from viz_encoder.trace.recomputed import apart as difference
from viz_encoder.trace.recomputed import require_as_ran
from viz_encoder.trace.trace import Trace

BEFORE, AFTER = "before", "after"  # the heads of a block: where a bias is added
READ = "read"  # the final norm and the prediction head or the pooling


@dataclass(frozen=True, eq=False)
class Flow:
    """Where a score sat in one run, and what moved it; all in the unit of the score.

    states: after n blocks, at each token. Each row adds up to the score with the biases of later
        blocks.
    brought: what each head brought to each token.
    before, after: by block, what biases added at each token, before its heads and after them.
    read: what the biases of the final norm and of what is read added.
    gradients: of the score, at each head's output.
    """

    trace: Trace
    states: Float[np.ndarray, "state token"]
    brought: Float[np.ndarray, "layer head token"]
    before: Float[np.ndarray, "layer token"]
    after: Float[np.ndarray, "layer token"]
    read: float
    gradients: tuple[Float[Tensor, "head query d_value"], ...]


class FrozenRun:
    """One run whose weights, norms and gates are held; its output can be split."""

    def __init__(self, encoder: LoadedEncoder, start: Start, through: Through) -> None:
        """Run it.

        Raises:
            TraceError: it differs from the run that it repeats.
        """
        self.encoder, self.start = encoder, start
        self.sample, self.valid = start.sample, start.valid
        self.frozen = Frozen(through)
        self._mixed: list[Tensor] = []
        records: list[LayerRecord] | None = None if start.trace else []
        x = start.x.detach().clone().requires_grad_()
        self.hidden = [x]
        with self.frozen:
            for number, block in enumerate(encoder.model.layers):
                self.frozen.ledger.stage = number, BEFORE
                x = block(x, start.given[number]._replace(edit=self._keeping(number)), records)
                self.hidden.append(x)
            self.frozen.ledger.stage = READ
            self.output: Float[Tensor, "1 token d_model"] = encoder.model.final_norm(x)
        self.trace = start.trace or self._traced(records or [])
        if start.trace:
            found = difference(self.output[0], start.trace.output)
            require_as_ran(found, "The output", self.output.dtype)

    def flow(self, score: Tensor) -> Flow:
        """Split a score, which was read from the output while the mode was on."""
        wanted = [*self.hidden, *self._mixed]
        found = torch.autograd.grad(score, wanted, allow_unused=True)
        gradients = [
            torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)
        ]
        to_states, to_heads = gradients[: len(self.hidden)], gradients[len(self.hidden) :]
        states = [_inner(x, g) for x, g in zip(self.hidden, to_states, strict=True)]
        brought = [_inner(x, g) for x, g in zip(self._mixed, to_heads, strict=True)]
        before, after, read = self._biases()
        kept = tuple(g[0].detach() for g in to_heads)
        return Flow(self.trace, np.stack(states), np.stack(brought), before, after, read, kept)

    def _keeping(self, number: int) -> Any:
        """An edit that keeps what the heads give; heads that the run left out stay left out."""
        trace = self.start.trace
        put = None if trace is None else trace.layers[number].put

        def keep(mixed: Tensor) -> Tensor:
            self._mixed.append(mixed)
            self.frozen.ledger.stage = number, AFTER
            gone = [] if trace is None else [head for at, head in trace.removed if at == number]
            if not gone:
                return mixed
            given = torch.zeros_like(mixed[0]) if put is None else put
            where = torch.zeros(mixed.shape[1], 1, 1, dtype=torch.bool, device=mixed.device)
            where[gone] = True
            return torch.where(where, given[None].to(mixed), mixed)

        return keep

    def _traced(self, records: list[LayerRecord]) -> Trace:
        """This run as a trace, without what gradients need."""
        assert self.start.inputs is not None
        still = tuple(
            each._replace(
                **{part: getattr(each, part).detach() for part in ("q", "k", "v", "signature")}
            )
            for each in records
        )
        hidden = tuple(x.detach() for x in self.hidden)
        result = EncoderOutput(self.output.detach(), hidden, still)
        (trace,) = traces_of(self.encoder, self.start.inputs, result, {})
        return trace

    def _biases(
        self,
    ) -> tuple[Float[np.ndarray, "layer token"], Float[np.ndarray, "layer token"], float]:
        """What biases added, by block and token, and while the output was read."""
        sums: dict[Any, Any] = defaultdict(float)
        for stage, places in self.frozen.ledger.told:
            places = places.detach().double().cpu()
            sums[stage] = sums[stage] + (places.sum() if stage == READ else _by_token(places))
        n_layers, n_tokens = len(self._mixed), self.start.x.shape[1]
        before, after = (
            np.stack([np.zeros(n_tokens) + np.asarray(sums[n, when]) for n in range(n_layers)])
            for when in (BEFORE, AFTER)
        )
        return before, after, float(sums[READ])


def _by_token(places: Float[Tensor, "1 *head token"]) -> Float[np.ndarray, " token"]:
    """Summed over all axes but that of tokens, which is the last: d_model is summed already."""
    return places.flatten(0, -2).sum(0).numpy()


def _inner(x: Tensor, g: Tensor) -> Float[np.ndarray, "*place"]:
    """⟨x, gradient⟩ of each token, or of each head and token."""
    return (x.detach()[0].double() * g[0].double()).sum(-1).cpu().numpy()


TINY = float(np.finfo(np.float32).tiny)


class ScorePart(NamedTuple):
    """One run's part in the score, added or subtracted; each token stands at a column, or none."""

    sign: float
    flow: Flow
    columns: Int[np.ndarray, " token"]  # −1: none, as for padding of one of two runs

    def links(
        self, layer: int, heads: slice, rows: slice, n_columns: int
    ) -> Float[Tensor, "head query column"]:
        """Its links between columns, signed; 0 where it has no token."""
        ran, gradients = self.flow.trace.layers[layer], self.flow.gradients[layer]
        if self.sign > 0 and np.array_equal(self.columns, np.arange(n_columns)):
            return links_of(ran, gradients, heads, rows).cpu()  # one run: each token is a column
        tokens = np.full(n_columns + 1, -1)  # of each column; what stands at none goes to the last
        tokens[self.columns] = np.arange(len(self.columns))
        keys = torch.from_numpy(tokens[:-1]).to(ran.q.device)
        queries = keys[rows]
        there = (queries >= 0)[:, None] & (keys >= 0)
        moved = links_of(ran, gradients, heads, queries)
        return self.sign * moved[..., keys].masked_fill(~there, 0.0).cpu()


def at_columns(
    parts: tuple[ScorePart, ...], name: str, n_columns: int
) -> Float[np.ndarray, "*row column"]:
    """A flow's field of all runs together, each token at its column."""
    fields = [getattr(part.flow, name) for part in parts]
    found = np.zeros((*fields[0].shape[:-1], n_columns))
    for part, shares in zip(parts, fields, strict=True):
        there = part.columns >= 0
        found[..., part.columns[there]] += part.sign * shares[..., there]
    return found


def unexplained(score: float, tokens: Float[np.ndarray, " token"], biases: float) -> float:
    """What the shares leave of the score, as a part of what is added up."""
    largest = max(abs(score), abs(tokens).sum(), TINY)
    return float(abs(tokens.sum() + biases - score) / largest)
