"""Declared: the pooling that a sentence-transformers folder says its vectors are made by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model.masks import Valid

Hidden = Float[Tensor, "batch token d_model"]

# By sentence-transformers' names, in the order of its older files.
POOLINGS = {
    "cls": "the first token",
    "max": "the largest value of each dimension",
    "mean": "the mean over the tokens",
    "mean_sqrt_len_tokens": "the sum over the tokens ÷ √(number of tokens)",
    "weightedmean": "a mean in which token n has weight n",
    "lasttoken": "the last token",
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "Identity": lambda x: x,
    "Tanh": torch.tanh,
    "ReLU": F.relu,
    "GELU": F.gelu,
    "SiLU": F.silu,
    "Sigmoid": torch.sigmoid,
}


@dataclass(frozen=True, eq=False)
class Dense:
    """A linear map and its activation; with a residual the input is added, through a map or not."""

    weight: Float[Tensor, "n_out n_in"]
    bias: Float[Tensor, " n_out"] | None = None
    activation: str = "Tanh"  # one of ACTIVATIONS
    residual: bool = False
    residual_weight: Float[Tensor, "n_out n_in"] | None = None  # None: the input itself is added

    def __call__(self, vectors: Float[Tensor, "batch n_in"]) -> Float[Tensor, "batch n_out"]:
        """The vectors after this step."""
        bias = None if self.bias is None else self.bias.to(vectors)
        out = ACTIVATIONS[self.activation](F.linear(vectors, self.weight.to(vectors), bias))
        if not self.residual:
            return out
        if self.residual_weight is None:
            return out + vectors
        return out + F.linear(vectors, self.residual_weight.to(vectors))

    @property
    def words(self) -> str:
        """Description for people."""
        n_out, n_in = self.weight.shape
        then = "" if self.activation == "Identity" else f" and {self.activation}"
        return f"a dense layer {n_in} → {n_out}{then}{' with a residual' * self.residual}"


@dataclass(frozen=True, eq=False)
class LayerNorm:
    """A layer norm over the vector's dimensions."""

    weight: Float[Tensor, " n"]
    bias: Float[Tensor, " n"]
    eps: float = 1e-5
    words: str = "a layer norm"

    def __call__(self, vectors: Float[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
        """The vectors after this step."""
        weight, bias = self.weight.to(vectors), self.bias.to(vectors)
        return F.layer_norm(vectors, weight.shape, weight, bias, self.eps)


@dataclass(frozen=True)
class Normalize:
    """Each vector divided by its length."""

    words: str = "normalized to length 1"

    def __call__(self, vectors: Float[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
        """The vectors after this step."""
        return F.normalize(vectors, p=2, dim=-1)


DeclaredStep = Dense | LayerNorm | Normalize


@dataclass(frozen=True, eq=False)
class Declared:
    """How a model's files declare its vectors (Reimers & Gurevych, arXiv:1908.10084).

    The hidden states are pooled by each of `methods`, put side by side, and go through `steps`.
    Where something is declared that is not computed here, `problem` says what, as a sentence.
    """

    methods: tuple[str, ...] = ("mean",)  # keys of POOLINGS
    steps: tuple[DeclaredStep, ...] = ()
    include_prompt: bool = True  # whether the prompt's own tokens are pooled
    prompts: Mapping[str, str] = field(default_factory=dict)  # by name: what goes before a text
    default_prompt: str | None = None  # the name of the one that goes before every text
    max_tokens: int | None = None  # texts are cut there, special tokens counted
    lower_case: bool = False  # texts are written in small letters first
    similarity: str = ""  # by which vectors are to be compared, if the files say it
    problem: str = ""

    @property
    def words(self) -> str:
        """Description for people: "mean, then normalized to length 1"."""
        return ", then ".join([" + ".join(self.methods), *(step.words for step in self.steps)])

    @property
    def additive(self) -> bool:
        """Whether each token adds a part of its own, up to one factor for the whole vector."""
        return "max" not in self.methods and all(isinstance(step, Normalize) for step in self.steps)

    def prompt(self, name: str | None) -> str:
        """The text of a prompt by its name; of the default one for None, "" where there is none.

        Raises:
            SelectionError: no such prompt, or a declaration that is not computed here.
        """
        if self.problem:
            raise SelectionError(self.problem)
        if name is None:
            return self.prompts[self.default_prompt] if self.default_prompt else ""
        if name not in self.prompts:
            known = (
                f"choose one of {', '.join(self.prompts)}" if self.prompts else "it has no prompts"
            )
            raise SelectionError(f"This model has no prompt named {name[:80]!r}; {known}.")
        return self.prompts[name]

    def vectors(
        self, hidden: Hidden, valid: Valid, n_prompt: int = 0
    ) -> Float[Tensor, "batch d_pooled"]:
        """The vectors sentence-transformers computes from these hidden states.

        Args:
            hidden: hidden states after the last layer, through the final norm.
            valid: True = a real token.
            n_prompt: how many tokens at the front are the prompt's, [CLS] counted.

        Raises:
            SelectionError: a part that is not computed here.
            InputError: no token after the prompt.
        """
        if self.problem:
            raise SelectionError(self.problem)
        kept = torch.where(valid[..., None], hidden, 0)
        within = self._within(valid, n_prompt)
        vectors = torch.cat([_one(m, kept, valid, within) for m in self.methods], dim=1)
        return reduce(lambda found, step: step(found), self.steps, vectors)

    def parts(
        self, hidden: Hidden, valid: Valid, n_prompt: int = 0
    ) -> Float[Tensor, "batch token d_pooled"]:
        """Each token's contribution to the pooled vector, up to a factor; only if `additive`."""
        kept = torch.where(valid[..., None], hidden, 0)
        within = self._within(valid, n_prompt)
        each = [token_weights(m, valid, within)[..., None].to(kept) * kept for m in self.methods]
        return torch.cat(each, dim=-1)

    def require(self, valid: Valid, n_prompt: int | None) -> None:
        """Refuse hidden states that sentence-transformers would not have pooled.

        Raises:
            SelectionError: n_prompt is None and makes a difference.
            InputError: more tokens than the model declares.
        """
        if n_prompt is None and self.needs_prompt:
            raise SelectionError(
                f"This model {self.needs_prompt}, so its declared pooling needs to know how "
                "many tokens are the prompt's: n_prompt=trace.sample.n_prompt for a text read "
                "with encoder.read(text, prompt=…), or n_prompt=0 for a text without a "
                "prompt."
            )
        if self.max_tokens is not None and (n_tokens := int(valid.sum(-1).max())) > self.max_tokens:
            raise InputError(self.too_long(n_tokens))

    @property
    def needs_prompt(self) -> str:
        """How the model uses prompts, if they matter; otherwise ""."""
        if self.default_prompt:
            return f"puts its prompt {self.prompts[self.default_prompt]!r} before each text"
        prompted = any(self.prompts.values()) and not self.include_prompt
        return "leaves its prompt's tokens out of the pooling" if prompted else ""

    def too_long(self, n_tokens: int) -> str:
        """Why a run that is longer than the model's own vectors read has none of them."""
        return (
            f"The run has {n_tokens:,} tokens, but this model's own vectors use only the first "
            f"{self.max_tokens:,} (its max_seq_length), so they differ. Read the text with "
            "encoder.read(text, declared=True), which cuts it there, or choose another pooling."
        )

    def unlike(self, n_tokens: int, n_prompt: int, text: str) -> str:
        """Why the vector of this run is not the model's own, as a sentence; "" where it is."""
        if self.problem:
            return self.problem
        if self.max_tokens is not None and n_tokens > self.max_tokens:
            return self.too_long(n_tokens)
        before = self.prompts[self.default_prompt] if self.default_prompt else ""
        if not before or n_prompt or (self.include_prompt and text.startswith(before)):
            return ""
        return (
            f"This model {self.needs_prompt}, and this run has none: read the text with "
            "encoder.read(text, declared=True), or choose another pooling."
        )

    def _within(self, valid: Valid, n_prompt: int) -> Valid:
        """The tokens that are pooled: all, or those after the prompt."""
        if self.include_prompt or not n_prompt:
            return valid
        why = "A text has no token after its prompt, so there is nothing to pool."
        return after_first(valid, n_prompt, why)


def after_first(valid: Valid, n: int, why: str) -> Valid:
    """The valid tokens without the first n of them; if none is left, an InputError says why."""
    kept = valid & (valid.int().cumsum(dim=1) > n)
    if not bool(kept.any(dim=1).all()):
        raise InputError(why)
    return kept


def token_weights(method: str, valid: Valid, within: Valid) -> Float[Tensor, "batch token"]:
    """Weight of each token before summing; for every pooling but max.

    Args:
        method: of POOLINGS.
        valid: True = a real token; a weighted mean counts its tokens from 1.
        within: the valid tokens that are pooled.
    """
    weights = within.double()
    count = weights.sum(dim=1, keepdim=True)
    match method:
        case "cls":
            return (within.int().cumsum(dim=1) == 1) * weights
        case "lasttoken":
            return (within.flip(1).int().cumsum(dim=1).flip(1) == 1) * weights
        case "mean":
            return weights / count
        case "mean_sqrt_len_tokens":
            return weights / count.sqrt()
        case _:
            numbered = weights * valid.cumsum(dim=1)
            return numbered / numbered.sum(dim=1, keepdim=True)


def _one(method: str, kept: Hidden, valid: Valid, within: Valid) -> Float[Tensor, "batch d_model"]:
    if method == "max":
        return torch.where(within[..., None], kept, -torch.inf).amax(dim=1)
    weights = token_weights(method, valid, within).to(kept)
    return (weights[:, None] @ kept)[:, 0]
