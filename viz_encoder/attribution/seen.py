"""Attention calls of any model: seen while it runs, and what each of their heads brought."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.attribution.links import Links, links_of
from viz_encoder.attribution.rule_names import Scores
from viz_encoder.errors import TraceError
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.mixing import mixing_of
from viz_encoder.trace.recomputed import allowed


@dataclass(frozen=True, eq=False)
class SeenCall:
    """One attention call: its tensors, and what its heads brought to a score, query by query.

    Links are computed on demand; their sums over keys are held against `brought`.
    """

    ran: LayerTrace
    gradients: Float[Tensor, "head query d_value"]
    brought: Float[np.ndarray, "head query"]

    def links(self, heads: slice, rows: slice) -> Links:
        """What each link of some heads and queries carried.

        Raises:
            TraceError: they do not add up to what the heads brought.
        """
        found = links_of(self.ran, self.gradients, heads, rows).cpu()
        sums, size = found.double().sum(dim=-1).numpy(), found.abs().sum(dim=-1)
        apart = abs(sums - self.brought[heads, rows]).max(initial=0.0)
        least = torch.finfo(torch.float32).tiny
        bound = max(least, float(size.max()) if size.numel() else 0.0)
        if not apart <= allowed(self.gradients.dtype) * bound:
            raise TraceError(
                f"The links of a query add up to something {apart:.2g} from what its head brought, "
                "so they are not shown. The model may have changed its queries, keys or values in "
                "place after it used them."
            )
        return found


class CallInputs(NamedTuple):
    """What a call ran on, as the model gave it; axes before the last two are heads."""

    output: Tensor
    v: Tensor
    q: Tensor | None = None
    k: Tensor | None = None
    mask: Tensor | None = None
    bias: Tensor | None = None
    scale: float = 1.0
    maps: Tensor | None = None


class HeldMap(NamedTuple):
    """Weights that are held, or what was made of some of them, by their numbers."""

    tensor: Tensor
    made_of: frozenset[int]


class SeenCalls:
    """The attention calls of one run, in order, and the gradients at their outputs."""

    def __init__(self) -> None:
        self._ran: list[CallInputs] = []
        self._gradients: dict[int, Tensor] = {}
        self._maps: dict[int, HeldMap] = {}  # by id, which is not used twice while they are kept
        self._unmixed: dict[int, str] = {}  # softmaxes and others that mixed nothing yet
        self._numbers = count()
        self._scores = Scores()

    def attended(self, output: Tensor, order: Sequence[int] = (), **ran: Any) -> Tensor:
        """Keep what a call ran on, and its gradient once that is known.

        order: of the output's axes, where they are not "*head query d_value".
        """
        order = order or range(output.ndim)
        number, gradients = len(self._ran), self._gradients
        still: dict[str, Any] = {
            name: x.detach() if isinstance(x, Tensor) else x for name, x in ran.items()
        }
        self._ran.append(CallInputs(output.detach().permute(*order), **still))
        output.register_hook(lambda g: gradients.__setitem__(number, g.detach().permute(*order)))
        return output

    def multiplied(self, output: Tensor, args: tuple[Any, ...]) -> Tensor:
        """Keep a product of weights and what they mix."""
        *equation, a, b = args
        maps_first = id(a) in self._maps
        if not maps_first and id(b) not in self._maps:
            return output
        maps, values = (a, b) if maps_first else (b, a)
        how = equation[0] if equation else ""
        found = mixing_of(how, maps, values, maps_first=maps_first)
        if found is None:
            return output
        self._mixed(self._maps[id(maps)].made_of)
        return self.attended(output, found.order, v=found.values, maps=found.maps)

    def softened(self, maps: Tensor, scores: Tensor | None = None) -> None:
        """Keep a softmax, or an exp, which may be attention weights before they are divided.

        Scores that were bent before it, as by tanh, are no weights themselves.
        """
        self._mixed(self._scores.weights(scores))
        number = next(self._numbers)
        self._maps[id(maps)] = HeldMap(maps, frozenset([number]))
        self._unmixed[number] = f"a softmax or exp of shape {tuple(maps.shape)}"

    def made(self, name: str, args: Any, found: Any) -> None:
        """Keep an activation of scores, which may be attention weights, too."""
        number = next(self._numbers)
        if self._scores.made(name, args, found, number):
            self._unmixed[number] = f"{name} of scores of shape {tuple(found.shape)}"

    def held_weights(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The factors of a product, with weights held that mix what comes from the leaf.

        Elsewhere, an activation of a product is one like others, and is not held.
        """
        *equation, a, b = args
        of_a, of_b = self._scores.weights(a), self._scores.weights(b)
        if of_a and not of_b and b.requires_grad:
            return (*equation, self._still(a, of_a), b)
        if of_b and not of_a and a.requires_grad:
            return (*equation, a, self._still(b, of_b))
        return args

    def _still(self, weights: Tensor, made_of: frozenset[int]) -> Tensor:
        still = weights.detach()
        self._maps[id(still)] = HeldMap(still, made_of)
        return still

    def follow(self, name: str, args: Any, found: Any) -> Any:
        """What is made of weights alone is weights, as a softmax written out is."""
        if name == "softmax":  # of what does not come from the leaf
            self.softened(found)
        made_of = self._made_of(args)
        for each in found if isinstance(found, list | tuple) else (found,):
            if made_of and isinstance(each, Tensor):
                self._maps[id(each)] = HeldMap(each, made_of)
        return found

    def _mixed(self, numbers: frozenset[int]) -> None:
        for number in numbers:
            self._unmixed.pop(number, None)

    def _made_of(self, x: Any) -> frozenset[int]:
        if isinstance(x, list | tuple):
            return frozenset[int]().union(*map(self._made_of, x))
        return self._maps[id(x)].made_of if id(x) in self._maps else frozenset()

    def notes(self) -> tuple[str, ...]:
        """What may be attention weights and mixed nothing that was seen, a sentence each."""
        return tuple(
            f"No product with values was seen of {what}; if these are attention weights, their "
            "heads are not listed. They are seen in a matrix product, an einsum or "
            "scaled_dot_product_attention."
            for what in dict.fromkeys(self._unmixed.values())
        )

    def calls(self) -> tuple[SeenCall, ...]:
        """Each with what its heads brought."""
        return tuple(_call(ran, self._gradients.get(n)) for n, ran in enumerate(self._ran))


def _call(ran: CallInputs, gradient: Tensor | None) -> SeenCall:
    lead = tuple(ran.output.shape[:-2])
    output = _by_head(ran.output, lead)
    g = torch.zeros_like(output) if gradient is None else _by_head(gradient, lead)
    v = _by_head(ran.v, lead)
    if ran.maps is not None:
        maps = _by_head(ran.maps, lead)
        q, k = maps.new_zeros(*maps.shape[:2], 0), maps.new_zeros(*v.shape[:2], 0)
    else:
        assert ran.q is not None and ran.k is not None
        maps, q, k = None, _by_head(ran.q, lead), _by_head(ran.k, lead)
    mask, bias = (_over_heads(x, lead) for x in (ran.mask, ran.bias))
    layer = LayerTrace(q, k, v, ran.scale, mask, bias, maps=maps)
    return SeenCall(layer, g, (output.double() * g.double()).sum(dim=-1).cpu().numpy())


def _by_head(x: Tensor, lead: tuple[int, ...]) -> Float[Tensor, "head token d"]:
    return x.expand(*lead, *x.shape[-2:]).reshape(-1, *x.shape[-2:])


def _over_heads(x: Tensor | None, lead: tuple[int, ...]) -> Tensor | None:
    """Once for all heads, where it is the same for all."""
    if x is None:
        return None
    x = x[(None,) * max(0, 3 - x.ndim)]
    return x.reshape(1, *x.shape[-2:]) if x.shape[:-2].numel() == 1 else _by_head(x, lead)
