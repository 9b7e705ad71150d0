"""Pooling: from one vector a token to one vector an input; padding never takes part."""

import math
from collections.abc import Callable
from inspect import signature

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from viz_encoder.arguments import Most, read_argument, said
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model.declared import Declared, Hidden, after_first
from viz_encoder.model.head import PredictionHead
from viz_encoder.model.masks import Valid

PooledVectors = Float[Tensor, "batch d_model"]
NO_FILES = "its folder has no modules.json, in which sentence-transformers declares it"
NO_PADDING = " Without padding, give torch.ones(hidden.shape[:-1], dtype=torch.bool)."
PoolerHead = Callable[[Tensor, Tensor], Tensor]  # hidden states and valid → one vector a sequence

METHODS = {  # name: what it is; some read something beside the hidden states: NEEDS
    "declared": "the model's own, as its sentence-transformers files say",
    "cls": "the first token",
    "mean": "the mean over the tokens",
    "max": "the largest value of each dimension",
    "last": "the last token",
    "cls_mean": "the first token and the mean of the tokens after the prefix, side by side",
    "first_last": "the mean over the tokens of the first and the last layer",
    "received": "a mean weighted by the attention that each token received",
    "attention": "a mean weighted by a learned query",
    "pooler": "the model's own pooler",
}
NEEDS = {
    "declared": "encoder",
    "first_last": "first",
    "received": "received",
    "attention": "query",
    "pooler": "head",
}
HELP = {
    "encoder": "the model that ran, for its files: encoder=encoder",
    "first": "hidden states after the first block: first=trace.hidden(1)",
    "received": "how much attention each token received: received=trace.received()",
    "query": "a learned query of d_model numbers: query=…",
    "head": "the model's own head: head=encoder.model.heads['pool'], if it has one",
}


def pool(
    hidden: Float[Tensor, "*batch token d_model"],
    valid: Shaped[Tensor, "*axes"] | None = None,
    method: str = "mean",
    *,
    first: Shaped[Tensor, "*axes_of_first"] | None = None,
    received: Shaped[Tensor, "*axes_of_received"] | None = None,
    query: Float[Tensor, " d_query"] | None = None,
    head: PoolerHead | None = None,
    n_prefix: int = 1,
    encoder: object | None = None,
    n_prompt: int | None = None,
) -> Float[Tensor, "*batch d_pooled"]:
    """Pool each sequence to one vector, over the tokens where valid is True (= a real token).

    Args:
        hidden: hidden states, with a batch axis or without.
        valid: bool, True = a real token, False = padding. Always needed: without it, the vectors
            of padding would be pooled too.
        method: "cls", "mean", "max", "last", "cls_mean" (2 · d_model numbers, as DINOv2's linear
            evaluation has it, arXiv:2304.07193), "first_last", "received", "attention", "pooler" or
            "declared": what sentence-transformers gives (Reimers & Gurevych, 2019,
            arXiv:1908.10084), dense layers and normalizing included.
        first: for "first_last": hidden states after the first block, as BERT-flow (Li et al.,
            2020, arXiv:2011.05864) and BERT-whitening (Su et al., 2021, arXiv:2103.15316) take
            them, and not the embeddings, which no block has mixed yet.
        received: for "received": how much attention each token received, as in
            `trace.received()`: the sum over heads and queries by which PoWER-BERT (Goyal et al.,
            2020, arXiv:2001.08950) ranks tokens, here the weights of a mean.
        query: for "attention": weights are softmax(hidden · query / √d_model).
        head: for "pooler": the model's own head, called with hidden states and mask.
        n_prefix: for "cls_mean": how many tokens at the front ([CLS], registers) stay out of the
            mean.
        encoder: for "declared": what `viz_encoder.load` returned.
        n_prompt: for "declared": how many tokens at the front are a prompt's, as in
            `Sample.n_prompt`; needed only if it makes a difference.

    Raises:
        SelectionError: no such method, or what it needs is not given; a model that declares none.
        InputError: what is given is no tensor or does not fit, or a sequence is all padding; for
            "declared", more tokens than the model's own vectors use.
    """
    given = {"first": first, "received": received, "query": query, "head": head, "encoder": encoder}
    _check_method(method, given)
    _check_kinds(hidden, valid, {**given, "n_prefix": n_prefix, "n_prompt": n_prompt})
    assert valid is not None
    _check_valid(hidden, valid)
    states, real = hidden[None].flatten(0, -3), valid[None].flatten(0, -2)
    match method:
        case "declared":
            declared = declared_by(encoder)
            declared.require(real, n_prompt)
            pooled = declared.vectors(states, real, n_prompt or 0)
        case "cls":
            pooled = cls(states, real)
        case "mean":
            pooled = mean(states, real)
        case "max":
            pooled = torch.where(real[:, :, None], states, -torch.inf).amax(dim=1)
        case "last":
            pooled = last(states, real)
        case "cls_mean":
            rest = after_prefix(real, n_prefix)
            pooled = torch.cat([cls(states, real), mean(states, rest)], dim=-1)
        case "first_last":
            assert first is not None
            _check_first(first, hidden)
            pooled = (mean(first.reshape(states.shape), real) + mean(states, real)) / 2
        case "received":
            assert received is not None
            pooled = weigh(states, real, received_shares(real, _received(received, valid)))
        case "attention":
            assert query is not None
            pooled = weigh(states, real, attention_shares(states, real, query))
        case _:
            assert head is not None
            pooled = _by_head(head, *_to_the_front(states, real))
    return pooled.reshape(*hidden.shape[:-2], pooled.shape[-1])


def declared_by(encoder: object) -> Declared:
    """Vectors that the model declares.

    Raises:
        SelectionError: it declares nothing.
    """
    declared = getattr(encoder, "declared", None)
    if isinstance(declared, Declared):
        return declared
    raise SelectionError(f"{named(encoder)} declares no pooling: {NO_FILES}; choose another.")


def named(encoder: object) -> str:
    """The model's name, if it has one."""
    return getattr(getattr(encoder, "card", None), "name", "The model")


def cls(hidden: Hidden, valid: Valid) -> PooledVectors:
    """The first valid token, which is [CLS] in BERT-like models (with left padding too)."""
    first = valid.int().argmax(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), first]


def mean(hidden: Hidden, valid: Valid) -> PooledVectors:
    """The mean over the valid tokens."""
    kept = torch.where(valid[:, :, None], hidden, 0)
    return kept.sum(dim=1) / valid.sum(dim=1, keepdim=True)


def last(hidden: Hidden, valid: Valid) -> PooledVectors:
    """The last valid token."""
    at = valid.shape[1] - 1 - valid.flip(1).int().argmax(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), at]


def after_prefix(valid: Valid, n_prefix: int) -> Valid:
    """The valid tokens without the first n_prefix of them."""
    why = f"A sequence has no token after its first {n_prefix}, so cls_mean has nothing to average"
    return after_first(valid, n_prefix, f"{why}; choose cls.")


def weigh(hidden: Hidden, valid: Valid, shares: Float[Tensor, "batch token"]) -> PooledVectors:
    """The sum over the valid tokens, each times its share."""
    kept = torch.where(valid[:, :, None], hidden, 0)
    return (shares.to(hidden)[:, :, None] * kept).sum(dim=1)


def received_shares(
    valid: Valid, weights: Float[Tensor, "batch token"]
) -> Float[Tensor, "batch token"]:
    """The weights of the valid tokens over their sum; 0 at padding."""
    kept = torch.where(valid, weights.to(valid.device), 0)
    total = kept.sum(dim=1, keepdim=True)
    if not bool((kept >= 0).all() and (total > 0).all()):
        raise InputError(
            "The attention received has NaN or a negative number, or is 0 at every real token, so "
            "it weighs nothing; choose mean."
        )
    return kept / total


def _received(received: Tensor, valid: Tensor) -> Float[Tensor, "batch token"]:
    if received.shape != valid.shape or not received.is_floating_point():
        raise InputError(
            f"received is {received.dtype} of shape {tuple(received.shape)}; it must be a number "
            f"for each token, floating point of shape {tuple(valid.shape)}: trace.received()."
        )
    return received[None].flatten(0, -2)


def attention_shares(
    hidden: Hidden, valid: Valid, query: Float[Tensor, " d_query"]
) -> Float[Tensor, "batch token"]:
    """softmax(hidden · query / √d_model) over the valid tokens; 0 at padding."""
    if query.shape != hidden.shape[-1:]:
        raise InputError(
            f"The query has shape {tuple(query.shape)}; attention pooling of these hidden "
            f"states needs ({hidden.shape[-1]},)."
        )
    scores = torch.where(valid[:, :, None], hidden, 0) @ query.to(hidden)
    scores = scores / math.sqrt(hidden.shape[-1])
    return scores.masked_fill(~valid, -torch.inf).softmax(dim=-1)


def head_shares(
    hidden: Float[Tensor, "*batch token d_model"],
    valid: Bool[Tensor, "*batch token"],
    head: object,
) -> Float[Tensor, "*batch head token"]:
    """Attention of each of the pooler's heads to each token; 0 at padding.

    Each head's row sums to 1. The mean over heads is one row: `.mean(dim=-2)`. The pooled vector
    is not a weighted mean of the hidden states: values are projected, and a feed-forward network
    follows.

    Raises:
        SelectionError: the model has no pooler with a learned query, as SigLIP's has.
        InputError: valid does not fit, or a sequence is all padding.
    """
    if not isinstance(head, PredictionHead) or head.probe is None:
        raise SelectionError(
            "This model's pooler has no learned query, so it has no weights over the tokens; "
            "SigLIP's has one."
        )
    _check_valid(hidden, valid)
    kept = torch.where(valid[..., None], hidden, 0)[None].flatten(0, -3)
    weights = head.probe.weights(kept, valid[None].flatten(0, -2))
    return weights.reshape(*hidden.shape[:-2], *weights.shape[1:])


def _by_head(head: PoolerHead, states: Hidden, valid: Valid) -> Tensor:
    try:
        signature(head.forward if isinstance(head, nn.Module) else head).bind(states, valid)
    except ValueError:
        pass  # a builtin without a signature
    except TypeError as fault:
        raise InputError(
            f"head cannot be called with hidden states and mask ({fault}); give a function of "
            f"these two, or {HELP['head']}."
        ) from None
    found = head(states, valid)
    if not isinstance(found, Tensor) or found.ndim != 2 or len(found) != len(states):
        shape = f" of shape {tuple(found.shape)}" if isinstance(found, Tensor) else ""
        raise InputError(
            f"head gave {_kind(found)}{shape}; it must give a tensor of shape ({len(states)}, d)."
        )
    return found


def _to_the_front(hidden: Hidden, valid: Valid) -> tuple[Tensor, Tensor]:
    """Padding moved behind and zeroed: a head reads its first token at place 0."""
    order = (~valid).int().argsort(dim=1, stable=True)
    kept = torch.where(valid[:, :, None], hidden, 0)
    return kept.take_along_dim(order[:, :, None], dim=1), valid.take_along_dim(order, dim=1)


def _check_method(method: object, given: dict[str, object]) -> None:
    if not isinstance(method, str) or method not in METHODS:
        known = ", ".join(METHODS)
        raise SelectionError(f"There is no pooling {said(method)}; choose one of {known}.")
    needed = NEEDS.get(method)
    if needed and given[needed] is None:
        raise SelectionError(f"The pooling {method!r} needs {HELP[needed]}.")


def _check_kinds(hidden: object, valid: object, given: dict[str, object]) -> None:
    """Refuse what is of another kind: a whole run, arrays, a head that cannot be called."""
    for name, value in (("hidden", hidden), ("valid", valid)):
        if not isinstance(value, Tensor):
            plain = "" if value is not None else NO_PADDING
            raise InputError(
                f"{name} is {_kind(value)}; pool takes two tensors, the hidden states and which "
                f"tokens are real: vz.pool(trace.output, trace.valid, method).{plain}"
            )
    assert isinstance(hidden, Tensor)
    if hidden.ndim < 2 or not hidden.is_floating_point():
        raise InputError(
            f"The hidden states are {hidden.dtype} of shape {tuple(hidden.shape)}; pooling needs "
            "floating point of shape (token, d_model), with a batch axis or without."
        )
    for name in ("first", "received", "query"):
        if given[name] is not None and not isinstance(given[name], Tensor):
            raise InputError(f"{name} is {_kind(given[name])}; it must be a tensor.")
    for name in ("n_prefix", "n_prompt"):
        read_argument(name, given[name], Most | None, InputError)
    if given["head"] is not None and not callable(given["head"]):
        raise InputError(f"head is {_kind(given['head'])}; give {HELP['head']}.")


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _check_first(first: Tensor, hidden: Tensor) -> None:
    if first.shape != hidden.shape:
        raise InputError(
            f"The first layer's states have shape {tuple(first.shape)}, the last's "
            f"{tuple(hidden.shape)}; both must come from one run."
        )


def _check_valid(hidden: Tensor, valid: Tensor) -> None:
    if valid.dtype != torch.bool or valid.shape != hidden.shape[:-1]:
        cure = ": valid.bool()." if valid.shape == hidden.shape[:-1] else "."
        raise InputError(
            f"valid is {valid.dtype} of shape {tuple(valid.shape)}; pooling needs torch.bool of "
            f"shape {tuple(hidden.shape[:-1])}, True = a real token{cure}"
        )
    if not bool(valid.any(dim=-1).all()):
        raise InputError("A sequence is all padding, so there is nothing to pool. Leave it out.")
