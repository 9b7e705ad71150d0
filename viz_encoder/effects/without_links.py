"""WithoutLinks: one input, run as it is, and with single links cut."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Progress, read_index
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import Measure, Outputs
from viz_encoder.effects.measures import require_number
from viz_encoder.effects.rerun import BATCH_TOKENS, Rerun
from viz_encoder.inputs import Inputs
from viz_encoder.model import EncoderOutput
from viz_encoder.model.attention import Given, LayerRecord
from viz_encoder.trace.capture import at_rest, layers_of

LinkCut = tuple[int, int | None, int, int]
Queries = list[int]  # of each variant the one whose link is cut


class WithoutLinks:
    """One input, run once and kept: with links cut, only what they change runs again.

    A cut link changes what heads of one layer say at one token, so the layer above has another
    input at that token alone; of the last layer only the tokens are computed that are read.
    """

    def __init__(self, encoder: LoadedEncoder, inputs: Inputs) -> None:
        self._records: list[LayerRecord] = []
        self.run = Rerun(encoder, inputs, records=self._records)
        self._layers = layers_of(EncoderOutput(self.run.output, (), tuple(self._records)), 0)

    def read(self, link: LinkCut) -> LinkCut:
        """The link, if there is such a one."""
        layer, head, query, key = link
        n_tokens = len(self.run.sample.tokens)
        return (
            read_index("layer", layer, len(self._layers)),
            None if head is None else read_index("head", head, self.run.model.config.n_heads),
            read_index("token", query, n_tokens),
            read_index("token", key, n_tokens),
        )

    def effects(
        self, cut: Sequence[LinkCut], measure: Measure, progress: Progress
    ) -> tuple[float, Float[np.ndarray, " link"]]:
        """The measure of the untouched run, and what it changes by with each link cut alone.

        NaN where nothing would be left of the query's row. `progress` is called before each layer:
        what it raises stops the work soon.
        """
        before = require_number(float(measure.read(self.run.output)[0]))
        values, n_done = np.full(len(cut), np.nan), 0
        for numbers in self._batches(cut):
            layer, queries = cut[numbers[0]][0], [cut[at][2] for at in numbers]
            with at_rest(self.run.model):
                said, alone = zip(*(self._said(cut[at]) for at in numbers), strict=True)
                state = self._state(layer, queries, torch.stack(said))
                tell = partial(progress, n_done / len(cut))
                outputs = self._above(layer, queries, state, getattr(measure, "reads", None), tell)
            values[numbers] = np.where(alone, np.nan, measure.read(outputs) - before)
            n_done += len(numbers)
        progress(1.0)
        return before, values

    def _batches(self, cut: Sequence[LinkCut]) -> Iterator[list[int]]:
        """The numbers of some links of one layer."""
        order = sorted(range(len(cut)), key=lambda at: cut[at][0])
        step = max(1, BATCH_TOKENS // len(self.run.sample.tokens))
        for _, numbers in groupby(order, key=lambda at: cut[at][0]):
            every = list(numbers)
            yield from (every[start : start + step] for start in range(0, len(every), step))

    def _said(self, link: LinkCut) -> tuple[Float[Tensor, "head d_value"], bool]:
        """What all heads say at the query without the link, and whether nothing is left there."""
        layer, head, query, key = link
        ran, heads = self._layers[layer], slice(head or 0, None if head is None else head + 1)
        weights = ran.weights(heads, slice(query, query + 1))[:, 0].float()
        weights[:, key] = 0.0
        rest = weights.sum(dim=-1, keepdim=True)
        row = ((weights / rest)[:, None] @ ran.values_of(heads).float())[:, 0]
        said = self.run.said[layer][0, :, query].clone()
        said[heads] = row.nan_to_num(0.0).to(said)
        return said, bool((rest == 0).all())

    def _state(
        self, layer: int, queries: Queries, said: Float[Tensor, "variant head d_value"]
    ) -> Float[Tensor, "variant d_model"]:
        """The queries' states behind the layer."""
        block: Any = self.run.model.layers[layer]
        entered = self.run.entered[layer][0, queries]
        state: Tensor = block.after_attention(entered[:, None], block.attn.out(said[:, :, None]))
        return state[:, 0]

    def _above(
        self,
        layer: int,
        queries: Queries,
        state: Float[Tensor, "variant d_model"],
        reads: Sequence[int] | None,
        tell: Callable[[], object],
    ) -> Outputs:
        """The outputs with these states behind the layer; right at the tokens that are read."""
        run, last = self.run, len(self._layers) - 1
        outputs = run.output.repeat(len(queries), 1, 1)
        if layer == last:
            outputs[range(len(queries)), queries] = run.model.final_norm(state)
            return outputs
        given, wanted = list(run.given), list(reads or range(run.output.shape[1]))
        if reads:
            given[last] = given[last].of(torch.tensor(wanted, device=state.device))
        x = self._next(layer + 1, queries, state, given[layer + 1])
        for number in range(layer + 2, last + 1):
            tell()
            x = run.model.layers[number](x, given[number])
        outputs[:, wanted] = run.model.final_norm(x)
        return outputs

    def _next(
        self, layer: int, queries: Queries, state: Float[Tensor, "variant d_model"], given: Given
    ) -> Float[Tensor, "variant query d_model"]:
        """What the layer above gives: all but these states enter it as they did."""
        block: Any = self.run.model.layers[layer]
        places = range(len(queries)), queries
        x = self.run.entered[layer].repeat(len(queries), 1, 1)
        x[places] = state
        angles = None if given.angles is None else given.angles[queries]
        parts = block.attn.project(block.before_attention(state[None]), Given(angles=angles))
        mixed = []
        for ran, new in zip(self._records[layer][:3], parts, strict=True):
            whole = ran.repeat(len(queries), 1, 1, 1).transpose(1, 2)
            whole[places] = new[0].transpose(0, 1)
            mixed.append(whole.transpose(1, 2))
        q, k, v = mixed
        if given.queries is not None:
            x, q = x[:, given.queries], q[:, :, given.queries]
        return block.after_attention(x, block.attn.out(block.attn.mix(q, k, v, given)))
