"""A second implementation, in float64: each source is carried forward as a vector of its own.

Where the package takes one backward pass, this carries T + 1 vectors a token through the network
(Modarressi et al., 2023, arXiv:2306.02873): one for each token's embedding, one for all biases.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS = {"gelu": F.gelu, "relu": F.relu, "silu": F.silu, "tanh": torch.tanh}


class Carried:
    """A network that ran, and the linear maps that it then consisted of."""

    def __init__(self, model: Any, x: Tensor, mask: Tensor | None = None) -> None:
        """x: "token d_model", embeddings; mask: "query key", True = may attend."""
        self.model, self.config, self.mask = model, model.config, mask
        self.states = [x.double()]
        self.maps: list[Tensor] = []
        for layer in model.layers:
            self.states.append(self.through(layer, self.states[-1][None], len(self.maps), True)[0])
        self.output = self.last(self.states[-1][None], self.states[-1], True)[0]

    def linear(self, module: nn.Linear, sources: Tensor, biased: bool) -> Tensor:
        found = sources @ module.weight.double().T
        if biased and module.bias is not None:
            found[-1] += module.bias.double()
        return found

    def norm(self, module: nn.Module, sources: Tensor, total: Tensor, biased: bool) -> Tensor:
        """Divided by what the whole was divided by."""
        if isinstance(module, nn.Identity):
            return sources
        if isinstance(module, nn.RMSNorm):
            return (
                sources
                / (total**2).mean(-1, keepdim=True).add(module.eps).sqrt()
                * (module.weight.double())
            )
        assert isinstance(module, nn.LayerNorm)
        spread = total.var(-1, unbiased=False, keepdim=True).add(module.eps).sqrt()
        found = (sources - sources.mean(-1, keepdim=True)) / spread * module.weight.double()
        if biased and module.bias is not None:
            found[-1] += module.bias.double()
        return found

    def through(self, layer: Any, sources: Tensor, number: int, biased: bool) -> Tensor:
        """One block. The sources' sum is what ran, if they are all of them."""
        total = self.states[number]
        normed = total[None].clone()
        if layer.pre_norm:
            normed = self.norm(layer.attn_norm, normed, total, True)
            within = self.norm(layer.attn_norm, sources, total, biased)
        else:
            within = sources
        if len(self.maps) <= number:
            self.maps.append(self.weights(layer.attn, normed[0]))
        attended = self.attend(layer.attn, within, number, biased)
        whole = total + self.attend(layer.attn, normed, number, True)[0]
        return self.rest(layer, sources + attended, whole, biased)

    def rest(self, layer: Any, sources: Tensor, whole: Tensor, biased: bool) -> Tensor:
        """From the sum of the residual and attention on."""
        if layer.pre_norm:
            normed = self.norm(layer.ff_norm, whole[None].clone(), whole, True)
            within = self.norm(layer.ff_norm, sources, whole, biased)
            return sources + self.feed_forward(layer.ff, within, normed, biased)
        normed = self.norm(layer.attn_norm, whole[None].clone(), whole, True)
        sources = self.norm(layer.attn_norm, sources, whole, biased)
        after = normed[0] + self.feed_forward(layer.ff, normed, normed, True)[0]
        sources = sources + self.feed_forward(layer.ff, sources, normed, biased)
        return self.norm(layer.ff_norm, sources, after, biased)

    def feed_forward(self, ff: Any, sources: Tensor, normed: Tensor, biased: bool) -> Tensor:
        f = ACTIVATIONS[str(self.config.activation)]
        if ff.gate is None:
            inner = self.linear(ff.up, normed.clone(), True)[0]
            return self.linear(
                ff.down, self.linear(ff.up, sources, biased) * (f(inner) / inner), biased
            )
        gate, up = (self.linear(each, normed.clone(), True)[0] for each in (ff.gate, ff.up))
        carried = self.linear(ff.gate, sources, biased) * (f(gate) / gate) * up / 2
        carried = carried + self.linear(ff.up, sources, biased) * f(gate) / 2
        return self.linear(ff.down, carried, biased)

    def weights(self, attn: Any, normed: Tensor) -> Tensor:
        """Written out: "head query key"."""
        q, k = (F.linear(normed, w.weight.double(), _double(w.bias)) for w in (attn.q, attn.k))
        q, k = (x.unflatten(-1, (attn.n_heads, -1)).transpose(0, 1) for x in (q, k))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -math.inf)
        return scores.softmax(-1)

    def values(self, attn: Any, sources: Tensor, biased: bool) -> Tensor:
        """ "source head token d_value"."""
        v = self.linear(attn.v, sources.clone(), biased)
        return v.unflatten(-1, (attn.n_heads, -1)).transpose(1, 2)

    def attend(self, attn: Any, sources: Tensor, number: int, biased: bool) -> Tensor:
        heads = self.maps[number] @ self.values(attn, sources, biased)
        return self.linear(attn.o, heads.transpose(1, 2).flatten(2), biased)

    def last(self, sources: Tensor, total: Tensor, biased: bool) -> Tensor:
        return self.norm(self.model.final_norm, sources, total, biased)

    def carried(self, start: int = 0) -> Tensor:
        """The output of each token's state after `start` blocks, and of later biases, as vectors.

        "source token d_model", the biases last.
        """
        state = self.states[start]
        sources = torch.cat(
            [torch.diag_embed(state.T, dim1=0, dim2=1), torch.zeros_like(state)[None]]
        )
        for number in range(start, len(self.model.layers)):
            sources = self.through(self.model.layers[number], sources, number, True)
        return self.last(sources, self.states[-1], True)

    def link(self, number: int, head: int, query: int, key: int) -> Tensor:
        """The output's part that one head moved from a key to a query: "token d_model"."""
        layer: Any = self.model.layers[number]
        total = self.states[number][None].clone()
        normed = self.norm(layer.attn_norm, total, total[0], True) if layer.pre_norm else total
        values = self.values(layer.attn, normed, True)[0]
        moved = torch.zeros(
            1, self.states[0].shape[0], layer.attn.n_heads, values.shape[-1]
        ).double()
        moved[0, query, head] = self.maps[number][head, query, key] * values[head, key]
        sources = moved.flatten(2) @ layer.attn.o.weight.double().T
        whole = self.states[number] + self.attend(layer.attn, normed, number, True)[0]
        found = self.rest(layer, sources, whole, False)
        for later in range(number + 1, len(self.model.layers)):
            found = self.through(self.model.layers[later], found, later, False)
        return self.last(found, self.states[-1], False)[0]


def _double(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.double()
