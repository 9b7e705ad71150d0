"""Rules: what each torch function becomes when a run's weights, norms and gates are held fixed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from viz_encoder.attribution import held
from viz_encoder.attribution.rule_names import BY_NAME, FACTORS
from viz_encoder.attribution.seen import SeenCalls

Through = Literal["values", "attention"]
Rule = Callable[..., Any]


class ConstantShare(NamedTuple):
    """What one constant (a bias, as a rule) adds to the score, in each place where it is added."""

    stage: Any
    places: Tensor


@dataclass
class Ledger:
    """What constants add; `stage` is what runs now, under which it is filed."""

    stage: Any = None
    told: list[ConstantShare] = field(default_factory=list)

    def tell(self) -> held.TellGradient:
        """Files under the stage of now."""
        stage, told = self.stage, self.told
        return lambda places: told.append(ConstantShare(stage, places))


class Rules:
    """The rules, by the names of torch's functions. What is computed comes from the leaf."""

    def __init__(self, through: Through, ledger: Ledger, seen: SeenCalls | None = None) -> None:
        """`seen` is told of attention calls, if their heads are asked for."""
        self.through, self._tell, self._seen = through, ledger.tell, seen
        self._masks = held.CallMasks()
        self._factors: set[int] = set()
        self._kept: list[Tensor] = []  # so that no id is used twice

    def get(self, name: str) -> Rule | None:
        """The rule of this function, if it has one."""
        rule = BY_NAME.get(name)
        return None if rule is None else getattr(self, rule)

    def follow(self, name: str, args: tuple[Any, ...], found: Any) -> Any:
        """The result of a function that does not touch the leaf, as it is."""
        return found if self._seen is None else self._seen.follow(name, args, found)

    def made(self, name: str, args: tuple[Any, ...], found: Any) -> Any:
        """The result of a function of the leaf, as it is."""
        if self._seen is not None:
            self._seen.made(name, args, found)
        return found

    def gate(self, func: Rule, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """An activation: x times f(x) / x, which is held."""
        found = held.gate(x, lambda at: func(at.clone(), *args, **kwargs), self._tell())
        return self._factor(found) if func.__name__ in FACTORS else found

    def glu(self, func: Rule, x: Tensor, dim: int = -1) -> Tensor:
        """Half of x times a sigmoid of the other half."""
        a, b = x.chunk(2, dim)
        return self.product(torch.mul, a, self.gate(torch.sigmoid, b))

    def sum_of(self, func: Rule, a: Any, b: Any, *, alpha: float = 1) -> Tensor:
        """a + b; what is not computed is told."""
        return self._sum(a, b if alpha == 1 else b * alpha)

    def difference(self, func: Rule, a: Any, b: Any, *, alpha: float = 1) -> Tensor:
        """a − b, or b − a; what is not computed is told."""
        if func.__name__.strip("_") == "rsub":
            a, b = b, a
        return self._sum(a, b * -alpha)

    def product(self, func: Rule, a: Any, b: Any) -> Tensor:
        """a · b: of two that are computed a gate is held, otherwise each gets half."""
        if not (computed(a) and computed(b)):
            found: Tensor = torch.mul(a, b)
            other = a if computed(a) else b
            return self._factor(found) if id(other) in self._factors else found
        factors = [id(x) in self._factors for x in (a, b)]
        if factors[0] != factors[1]:
            return torch.mul(
                *(x.detach() if is_gate else x for x, is_gate in zip((a, b), factors, strict=True))
            )
        return torch.mul(held.scaled(a, 0.5), held.scaled(b, 0.5))

    def matrix_product(self, func: Rule, *args: Any, **kwargs: Any) -> Tensor:
        """A matrix product; of two factors that are computed each gets half."""
        if len(args) == 2 and isinstance(args[1], list | tuple):
            args = (args[0], *args[1])  # of einsum
        args = args if self._seen is None else self._seen.held_weights(args)
        share = 1 / max(1, sum(map(computed, args)))
        halves = (held.scaled(x, share) if computed(x) and share < 1 else x for x in args)
        found: Tensor = func(*halves, **kwargs)
        return found if self._seen is None else self._seen.multiplied(found, args)

    def quotient(self, func: Rule, a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
        """a / b, its divisor held."""
        if rounding_mode is not None:
            return self.held(func, a, b, rounding_mode=rounding_mode)
        if func.__name__.strip("_").startswith("r"):
            a, b = b, a
        return a / _still(b)

    def power(self, func: Rule, x: Any, power: Any) -> Tensor:
        """xᵖ as x times xᵖ⁻¹, which is held; a divisor is held whole."""
        if not computed(x) or not isinstance(power, int | float) or power < 1:
            return self.held(func, x, power)
        return x * x.detach() ** (power - 1)

    def square(self, func: Rule, x: Tensor) -> Tensor:
        """x², as a power."""
        return self.power(func, x, 2)

    def linear(self, func: Rule, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """A linear map; its bias is told."""
        return held.linear(x, weight, bias, self._tell())

    def product_and_sum(
        self, func: Rule, added: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1
    ) -> Tensor:
        """A matrix product and what is added to it."""
        product = self.matrix_product(torch.matmul, a, b) * alpha
        if beta == 0:
            return product
        return self._sum(product, added if beta == 1 else added * beta)

    def convolution(
        self, func: Rule, x: Tensor, weight: Tensor, bias: Tensor | None = None, *a: Any, **k: Any
    ) -> Tensor:
        """A convolution; its bias is told."""
        found: Tensor = func(x, weight, None, *a, **k)
        if bias is None:
            return found
        return self._sum(found, bias.reshape(-1, *(1,) * (weight.ndim - 2)))

    def layer_norm(
        self,
        func: Rule,
        x: Tensor,
        shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
        *_: bool,
    ) -> Tensor:
        """LayerNorm, its divisor held; its bias is told."""
        return held.layer_norm(x, tuple(shape), weight, bias, eps, self._tell())

    def rms_norm(
        self,
        func: Rule,
        x: Tensor,
        shape: Sequence[int],
        weight: Tensor | None = None,
        eps: float | None = None,
    ) -> Tensor:
        """RMSNorm, its divisor held."""
        return held.rms_norm(x, tuple(shape), weight, eps)

    def held(self, func: Rule, *args: Any, **kwargs: Any) -> Any:
        """A function whose result is held as it ran."""
        return func(*map(_still, args), **kwargs)

    def weights(self, func: Rule, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """A softmax, or an exp as of one: held, or, for AttnLRP, with its own gradient."""
        found: Tensor = func(x if self.through == "attention" else x.detach(), *args, **kwargs)
        if self._seen is not None:
            self._seen.softened(found, x)
        return found

    def choice(self, func: Rule, *args: Any) -> Tensor:
        """torch.where, or a tensor's; what is chosen that is not computed is told."""
        if func.__qualname__.startswith("_VariableFunctions") or args[0].dtype == torch.bool:
            where, a, b = args
        else:
            a, where, b = args
        nothing = torch.zeros((), dtype=(a if computed(a) else b).dtype, device=where.device)
        return self._sum(torch.where(where, a, nothing), torch.where(where, nothing, b))

    def filled(self, func: Rule, x: Tensor, mask: Tensor, value: Any) -> Tensor:
        """Places filled with a constant, which is told."""
        constants = torch.zeros_like(x, requires_grad=False).masked_fill(mask, value)
        return self._sum(x.masked_fill(mask, 0.0), constants)

    def attention(
        self,
        func: Rule,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attention: its weights held, or, for AttnLRP, a quarter for queries and for keys."""
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        if enable_gqa:
            repeats = query.shape[-3] // key.shape[-3]
            key, value = (x.repeat_interleave(repeats, dim=-3) for x in (key, value))
        attend = partial(func, attn_mask=attn_mask, is_causal=is_causal, scale=scale)
        if self.through == "attention":
            q, k = held.scaled(query, 0.25), held.scaled(key, 0.25)
            return attend(q, k, held.scaled(value, 0.5))
        q, k, output = query.detach(), key.detach(), attend(*map(_still, (query, key, value)))
        if not computed(value):
            return output
        mask, bias = self._masks.of(attn_mask, is_causal, q, k)
        found = held.mixed(output, q, k, value, mask, bias, scale)
        if self._seen is None:
            return found
        return self._seen.attended(found, v=value, q=q, k=k, mask=mask, bias=bias, scale=scale)

    def _sum(self, *terms: Any) -> Tensor:
        """The sum of two; what is not computed is told."""
        if all(map(computed, terms)):
            return torch.add(*terms)
        x, constant = terms if computed(terms[0]) else terms[::-1]
        tell = self._tell()

        def back(g: Tensor) -> tuple[Tensor]:
            tell(held.added(g, constant))
            return (g.sum_to_size(x.shape).to(x.dtype),)

        made = held.held(x.detach() + constant, back, x)
        return self._factor(made) if id(x) in self._factors else made

    def _factor(self, x: Tensor) -> Tensor:
        self._factors.add(id(x))
        self._kept.append(x)
        return x


def computed(x: Any) -> bool:
    """Whether it comes from the leaf."""
    if isinstance(x, Tensor):
        return x.requires_grad
    return isinstance(x, list | tuple) and any(map(computed, x))


def _still(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x
