"""Arguments of an audit besides the model: inputs and scope, with validation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import torch
from torch import Tensor

from viz_encoder.arguments import Count, OneOf, at_least, read_fields
from viz_encoder.audit.measure.setting import FIRST_LENGTH, Intent
from viz_encoder.errors import InputError
from viz_encoder.model.mask_mods import is_mask_mod, n_needed

LONGEST = 4096  # an intent of it takes 16 MiB a sample
EXAMPLE = {
    "valid": "lambda valid: valid[:, None, :].expand(-1, valid.shape[1], -1)",
    "batch": 'lambda batch: batch["valid"][:, None, :].expand(-1, batch["valid"].shape[1], -1)',
}
ModelCall = Callable[[Tensor, Any], Any]
BiasOf = Callable[[Tensor], Tensor]
LAST = "lambda valid: valid & (valid.cumsum(1) == valid.sum(1)[:, None])"  # a pool_over=


@dataclass(frozen=True, eq=False)
class AuditInputs:
    """Inputs of an audit, if x is not simply "batch token d_model".

    Attributes:
        make: make(seed, batch, length) → what the model takes in place of x.
        vocab_size: the model takes token ids below it in place of x; the first and the last, which
            hand-written masks take for special ones, are among them.
        pad_id: the id at padded positions.
        valid: Bool "batch token" chosen by you; batch and length must differ.
        padding_side: the side of the padding on which the model is judged: "right" or "left" (the
            other side is only reported), or "both": then all that depends on the side is asked on
            both.
    """

    make: Callable[[int, int, int], Tensor] | None = None
    vocab_size: Annotated[int, at_least(2)] | None = None
    pad_id: int = 0
    valid: Tensor | None = None
    padding_side: Annotated[str, OneOf(("right", "left", "both"))] = "right"

    def __post_init__(self) -> None:
        """Raise InputError where a value cannot be."""
        read_fields(self, InputError)
        if self.valid is not None:
            _require_distinct(self.valid)


@dataclass(frozen=True, eq=False)
class AuditScope:
    """What an audit tries in addition to one plain batch.

    Attributes:
        lengths: numbers of tokens to audit, the first in full if `valid` is not given. Give those
            that the model takes if it does not take all, as with pictures or frames.
        window: the width of a sliding window: lengths below, at and above it are audited too.
        max_positions: the longest input: lengths just below and at it are audited too.
        dtype: the dtype it will run in, if that is not the module's own; it is tried too.
        documents: documents(valid) → whole numbers "batch token", the packed document of each
            token; True takes them from the intent.
        pooled: pooled(output, valid) → "batch d", which padding must not change.
        step: step(x of the next tokens, cache or None) → (their output, cache): the model with a KV
            cache. If it needs a third argument, it is tried with padding too, and given what your
            code passes for all tokens so far.
        reorder: reorder(cache, order) → the cache of step with its samples in that order, as in
            beam search: order has one index per sample, and an index may repeat.
        pool_over: pool_over(valid) → Bool "batch token": the tokens of whose rows the pooled
            vector is made, each of them and no other, such as all real ones without [CLS] and
            [SEP].
        bias: bias(valid) → numbers "#batch #head query key" that are to be added to the scores of
            every layer (ALiBi, relative positions); a list of such functions, one per layer.
        cross: cross(valid) → Bool "batch query memory", True = may attend: what cross-attention may
            look at. Memory may have any number of tokens.
        may_leave_out: attention may leave out what the intent allows, as sparse, top-k and
            deformable attention do. Then only forbidden links are judged, never missing ones.
        variants: implementations that must agree with the model on real tokens, by name.
    """

    lengths: Sequence[Annotated[int, at_least(2)]] = ()
    window: Count | None = None
    max_positions: Annotated[int, at_least(2)] | None = None
    dtype: torch.dtype | None = None
    documents: bool | Callable[[Tensor], Tensor] = False
    pooled: Callable[[Any, Tensor], Tensor] | None = None
    step: Callable[..., tuple[Tensor, Any]] | None = None
    reorder: Callable[[Any, Tensor], Any] | None = None
    pool_over: Callable[[Tensor], Tensor] | None = None
    bias: BiasOf | Sequence[BiasOf] | None = None
    cross: Callable[[Tensor], Tensor] | None = None
    may_leave_out: bool = False
    variants: Mapping[str, ModelCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise InputError where a value cannot be."""
        read_fields(self, InputError)
        if self.dtype is not None and not self.dtype.is_floating_point:
            raise InputError(
                f"dtype is {self.dtype}; choose a floating one, such as torch.bfloat16."
            )
        if self.reorder is not None and self.step is None:
            raise InputError("reorder is of the cache of step; give step=, or leave reorder= out.")
        if self.window is not None and self.lengths:
            raise InputError(
                f"window chooses the lengths to try, and lengths are given, too: "
                f"{list(self.lengths)}. Leave one of the two out."
            )
        _require_short("lengths holds", self.lengths)
        _require_short("window or max_positions asks for", self.other_lengths(self.first_length))

    @property
    def first_length(self) -> int:
        """The number of tokens that everything is tried on."""
        longest = self.max_positions or FIRST_LENGTH
        return self.lengths[0] if self.lengths else min(FIRST_LENGTH, longest)

    @property
    def step_takes_mask(self) -> bool:
        """Whether step takes what the caller's code passes, as a third argument."""
        return self.step is not None and n_needed(self.step) == 3

    @property
    def leaves_lengths_open(self) -> bool:
        """Whether no lengths, window or maximum are given."""
        return not (self.lengths or self.window or self.max_positions)

    def other_lengths(self, first: int) -> tuple[int, ...]:
        """The lengths besides the first: around the window, and up to the maximum."""
        window, longest = self.window, self.max_positions
        wanted = [12, 49]  # at 49, lengths that were shares of it show
        if self.lengths:
            wanted = list(self.lengths)
        elif window is not None:
            wanted = [window - 1, window, window + 1, 2 * window + 3]
        wanted += [longest - 1, longest] if longest else []
        fit = {one for one in wanted if one >= 2 and one != first and one <= (longest or one)}
        return tuple(sorted(fit))


def require_intents(given: Any, of: str = "valid") -> tuple[Intent, ...]:
    """The intents, one for all layers or one a layer.

    Raises:
        InputError: they are not functions.
    """
    many = isinstance(given, Sequence) and not isinstance(given, str)
    intents = (given,) if callable(given) else tuple(given) if many else ()
    if not intents or not all(callable(one) for one in intents):
        raise InputError(
            f"intent is a function of {of}, or a list of such functions, one per layer: "
            f"{EXAMPLE[of]}"
        )
    if any(is_mask_mod(one) for one in intents):
        raise InputError(
            "intent is a mask_mod, a function of (batch, head, query, key). It must be a function "
            "of valid, which may return one: intent=lambda valid: mask_mod, with padding in it."
        )
    return intents


def require_one_a_layer(intents: tuple[Intent, ...], n_layers: int | None) -> None:
    """Raise unless there is one intent, or one per layer.

    Raises:
        InputError: there are more or fewer.
    """
    if n_layers is not None and len(intents) not in (1, n_layers):
        raise InputError(
            f"{len(intents)} intents are given for {n_layers} layers; give 1, or one per layer."
        )


def _require_short(where: str, lengths: Sequence[int]) -> None:
    if max(lengths, default=0) > LONGEST:
        raise InputError(
            f"{where} {max(lengths):,} tokens; an audit goes up to {LONGEST:,} because your "
            "intent is a whole mask. Mask bugs show in short inputs, too."
        )


def _require_distinct(valid: Tensor) -> None:
    if valid.ndim != 2 or valid.dtype != torch.bool:
        raise InputError(
            f"valid is {valid.dtype} {tuple(valid.shape)}; it must be torch.bool (batch, token), "
            "True = a real token."
        )
    if not bool(valid.any()):
        raise InputError("valid marks every token as padding; at least one must be real.")
    if valid.shape[0] == valid.shape[1]:
        raise InputError(
            f"valid has {valid.shape[0]} samples of {valid.shape[1]} tokens: a (batch, token) and "
            "a (query, key) mask would look the same, and the audit would miss what mixes them "
            "up. Leave valid out, or give another number of samples."
        )
