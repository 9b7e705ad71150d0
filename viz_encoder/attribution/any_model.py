"""Shares of a score of any model, split by its own gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.arguments import Most, public, read_index
from viz_encoder.attribution.frozen import Frozen
from viz_encoder.attribution.frozen_run import unexplained
from viz_encoder.attribution.links import Links, WithLinks
from viz_encoder.attribution.seen import SeenCall, SeenCalls
from viz_encoder.attribution.starts import require_ready
from viz_encoder.errors import InputError, SelectionError, TraceError
from viz_encoder.result import ArrayResult, largest
from viz_encoder.trace.recomputed import allowed


@dataclass(frozen=True, eq=False, repr=False)
class ModelShares(WithLinks, ArrayResult, main="tokens"):
    """A score of a model that is not ours, split; everything is in the unit of the score.

    Heads are those of each call of scaled_dot_product_attention, or of weights times values (also
    by einsum, the weights being a softmax, one written out by exp, or a sigmoid or other activation
    of scores), whose values come from the input embeddings; a layer is such a call, in the order in
    which they ran. Where a model computes its weights itself, its maps are kept as they ran.

    tokens: the share of each token's input embedding.
    biases: what all constants added together; tokens and biases add up to the score.
    unexplained: |tokens + biases − score| ÷ max(|score|, Σ|tokens|).
    notes: of weights that may be attention, and whose heads were not seen; a sentence each.
    """

    score: float
    tokens: Float[np.ndarray, " token"]
    biases: float
    unexplained: float
    calls: tuple[SeenCall, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def heads(self) -> Float[np.ndarray, "layer head"]:
        """What each head brought to the score, its values' biases included.

        Raises:
            SelectionError: no attention was seen, or layers differ in their number of heads.
        """
        each = [self.of_heads(layer) for layer in range(len(self._calls()))]
        numbers = sorted({len(heads) for heads in each})
        if len(numbers) > 1:
            raise SelectionError(
                f"Layers of this model have {' or '.join(map(str, numbers))} heads; ask for one "
                "layer by of_heads(layer)."
            )
        return np.stack(each)

    @public
    def of_heads(self, layer: int) -> Float[np.ndarray, " head"]:
        """What each head of a layer brought to the score.

        Raises:
            SelectionError: no such layer, or no attention was seen.
        """
        return self._call(layer).brought.sum(axis=1)

    @public
    def ranked(self, n: Most = 10) -> tuple[tuple[int, int], ...]:
        """The n heads that brought most, whatever the sign, as (layer, head)."""
        return largest(abs(self.heads), n)

    def _call(self, layer: int) -> SeenCall:
        calls = self._calls()
        return calls[read_index("layer", layer, len(calls))]

    def _calls(self) -> tuple[SeenCall, ...]:
        if not self.calls:
            raise SelectionError(
                "This model ran no scaled_dot_product_attention and no weights times values that "
                f"come from the input embeddings, so there are no heads; see tokens.{self._unseen}"
            )
        return self.calls

    @property
    def _unseen(self) -> str:
        return "".join(f" {note}" for note in self.notes)

    def _layers(self) -> list[tuple[int, int, int]]:
        return [(*call.brought.shape, call.ran.v.shape[1]) for call in self._calls()]

    def _links(self, layer: int, heads: slice, rows: slice) -> Links:
        return self.calls[layer].links(heads, rows)


FEW = 8  # functions that an error names
HIDDEN = (
    "All functions that were seen have a rule, so another one ran, such as a "
    "torch.autograd.Function or torch.vmap."
)
APART = "The score does not depend on the input embeddings; choose another at=."


@public
def attribute_model(
    model: nn.Module,
    run: Callable[[nn.Module], Any],
    score: Callable[[Any], Tensor],
    at: nn.Module | Tensor | None = None,
) -> ModelShares:
    """Split a score of any PyTorch model, whose code stays as it is.

    While it runs, each torch function has the gradient of the linear map that it was: softmaxes,
    norm divisors and activation factors are held, and a product of two computed tensors gives
    half to each. So the sum is the proof: where it is not the score, nothing is shown.

    Args:
        model: in eval mode; one input at a time.
        run: calls the model, such as lambda model: model(**inputs).
        score: the number to split, of what `run` returned.
        at: the module that outputs the input embeddings, or the tensor of embeddings that `run`
            passes. Default: the module named "embeddings", or `get_input_embeddings()`.

    Raises:
        SelectionError: no such module, or a model in training mode or with quantized weights.
        InputError: the module runs more than once, the score is no number, or several inputs.
        TraceError: the shares do not add up to the score; the functions without a rule are named.
    """
    require_ready(model, type(model).__name__)
    seen = SeenCalls()
    eager = torch.compiler.set_stance("force_eager")  # compiled parts, too
    with torch.inference_mode(False), torch.enable_grad(), eager:
        leaf, found, frozen = _run(model, run, score, at, seen)
        (gradient,) = torch.autograd.grad(found, leaf, allow_unused=True)
    if gradient is None:
        raise InputError(APART)
    shares = _by_token((leaf.detach().double() * gradient.double()).sum(dim=-1))
    biases = sum(float(told.places.double().sum()) for told in frozen.ledger.told)
    value = float(found.detach())
    if not np.isfinite(shares.sum() + biases):
        raise InputError(
            "The sum of the shares is not a number: the model's weights, or what it computed, hold "
            "NaN or infinite values; replace them first."
        )
    missing = unexplained(value, shares, biases)
    coarsest = max({leaf.dtype, *(told.places.dtype for told in frozen.ledger.told)}, key=_eps)
    if not missing <= allowed(coarsest):  # under autocast, another one than the leaf's
        raise TraceError(_why(shares.sum() + biases, value, frozen.unruled))
    return ModelShares(value, shares, biases, missing, seen.calls(), seen.notes())


def _run(
    model: nn.Module,
    run: Callable[[nn.Module], Any],
    score: Callable[[Any], Tensor],
    at: nn.Module | Tensor | None,
    seen: SeenCalls,
) -> tuple[Tensor, Tensor, Frozen]:
    if isinstance(at, Tensor):
        leaf = at.detach().clone().requires_grad_()
        frozen = Frozen(swap=(at, leaf), seen=seen)
        with frozen:
            found = score(run(model))
        return leaf, _number(found), frozen
    leaves: list[Tensor] = []

    def swap(module: nn.Module, given: Any, output: Any) -> Any:
        if isinstance(output, tuple):  # embeddings and, say, how many rows of patches there are
            return (swap(module, given, output[0]), *output[1:])
        if not isinstance(output, Tensor) or not output.is_floating_point():
            raise InputError(
                f"The module at= ({type(module).__name__}) gives no tensor of embeddings; name one "
                "that does."
            )
        leaves.append(output.detach().clone().requires_grad_())
        return leaves[-1].clone()  # which the model may change in place

    hooks = [each.register_forward_hook(swap) for each in _embeddings(model, at)]
    frozen = Frozen(seen=seen)
    try:
        with frozen:
            found = score(run(model))
    finally:
        for hook in hooks:
            hook.remove()
    if len(leaves) != 1:
        raise InputError(f"The module at= ran {len(leaves)} times; name one that runs once.")
    return leaves[0], _number(found), frozen


def _embeddings(model: nn.Module, at: nn.Module | None) -> list[nn.Module]:
    """The module whose output is the leaf; several that share their rows, of which one runs."""
    if at is not None:
        return [at]
    named = [
        module for name, module in model.named_modules() if name.split(".")[-1] == "embeddings"
    ]
    if named:
        return named[:1]
    words = _words(model)
    if isinstance(words, nn.Embedding):
        each = (module for module in model.modules() if isinstance(module, nn.Embedding))
        return [module for module in each if module.weight is words.weight]
    raise SelectionError(
        f"{type(model).__name__} has no module named embeddings; say which gives them, such as "
        "at=model.embed, or at=x for a tensor that run passes."
    )


def _words(model: nn.Module) -> Any:
    """What transformers looks its ids up in, if the model has one."""
    try:
        return getattr(model, "get_input_embeddings", lambda: None)()
    except NotImplementedError:
        return None


def _number(found: Any) -> Tensor:
    if not isinstance(found, Tensor) or found.numel() != 1 or not bool(torch.isfinite(found)):
        raise InputError("score must give one finite number, such as out.logits[0, 2].")
    if not found.requires_grad:
        raise InputError(APART)
    return found.reshape(())


def _by_token(shares: Tensor) -> Float[np.ndarray, " token"]:
    """One axis: the others are of one input."""
    if sum(size > 1 for size in shares.shape) > 1:
        sizes = " × ".join(map(str, shares.shape))
        raise InputError(f"The model embeds {sizes} tokens; give one input, such as ids[:1].")
    return shares.flatten().cpu().numpy()


def _eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


def _why(total: float, value: float, unruled: dict[str, int]) -> str:
    names = ", ".join(sorted(unruled)[:FEW])
    without = f"These functions have no rule: {names}." if names else HIDDEN
    apart = f"The shares add up to {total:.4g} and the score is {value:.4g}"
    return f"{apart}, so they are not shown. {without}"
