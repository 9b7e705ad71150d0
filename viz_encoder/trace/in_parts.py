"""Attention in parts (Longformer, BigBird): its maps of the whole text, from values of 0 and 1.

Whatever blocks, chunks or windows its weights meet the values in, what a module gives is linear in
the values. A twin of the module runs again on what the module was given: on its own values, where
it must repeat the output bit for bit; then on values that are 1 at one token in each channel, and 0
elsewhere. What it gives then are the weights; those of a pair that met in several parts, added up.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.errors import TraceError
from viz_encoder.trace.attention_call import AttentionCall, LaterCall, from_maps, own_copy
from viz_encoder.trace.callers_state import detached_from_caller, random_states_kept, same_bits
from viz_encoder.trace.intercept import is_listening
from viz_encoder.trace.kept_weights import KeptWeights, versions_of
from viz_encoder.trace.proof import PLAIN_ROW_SUM_TOLERANCE, ROW_SUM_TOLERANCE, TOLERANCE
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.trace.softmax import SeenSoftmax
from viz_encoder.trace.windows import MOST

VALUES = re.compile(r"(to_)?v(alues?)?(_(proj|lin|linear|global))?")  # names of projections
OUTPUTS = re.compile(r"o|(to_)?out(_(proj|lin|linear))?")
HEADS = ("num_heads", "num_attention_heads", "n_heads", "heads")
PUT_TOGETHER = (
    "This model attends in parts, which were put together into whole maps: each module ran again, "
    "repeated its output bit for bit, and gave the weights of its values. A pair of tokens that "
    "met in several parts has their sum."
)
OTHERS = " Rows of global tokens weigh values of a projection of their own, as their proof does."
States = Float[Tensor, "batch token channel"]
Maps = Float[Tensor, "batch head query key"]


class ApartError(TraceError):
    """The parts could not be put together; the message follows "because"."""


@dataclass(frozen=True, eq=False, repr=False)
class InParts:
    """A module that attended in parts, with copies of what it was given and of what it gave."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    out: States
    n_heads: int
    softmaxes: tuple[SeenSoftmax, ...]
    weights: KeptWeights  # their versions alone

    def later(self) -> LaterCall:
        """The call with whole maps, which are computed when they are asked for."""
        n_samples, n_tokens, _ = self.out.shape
        return LaterCall("softmax", (n_samples, self.n_heads, n_tokens, n_tokens), self.call)

    def call(self) -> AttentionCall:
        """The call with whole maps.

        Raises:
            ApartError: the module cannot run again as it ran, or gives more than weights times
                values.
        """
        n_samples, n_tokens, _ = self.out.shape
        if n_samples * self.n_heads * n_tokens**2 > MOST:
            raise ApartError("the maps of one layer would need more than 1 GiB; give it less text")
        if not self.weights.unchanged:
            raise ApartError(
                "its weights have changed; call recording.trace() before changing them"
            )
        if is_listening():
            raise ApartError("a record() block is open; call recording.trace() after the block")
        with detached_from_caller(), random_states_kept([self.out.device]):
            try:
                found = self._from_twin(_Twin(self))
            except ApartError:
                raise
            except Exception as fault:
                raise ApartError(f"it cannot run by itself ({type(fault).__name__})") from fault
        for seen in self.softmaxes:
            seen.put_together = True
        return found

    def _from_twin(self, twin: "_Twin") -> AttentionCall:
        if not same_bits(twin.run().contiguous(), self.out):
            raise ApartError(
                "it gave something else when it ran again; record it in eval() mode, without "
                "autocast"
            )
        given, out = twin.begin(), twin.run()
        for axis in (1, 0):  # tokens of the values
            fits = all(x.transpose(0, 1 - axis).shape == out.shape for x in given)
            if fits and (found := self._call(twin, given, axis, self._by_head(out))) is not None:
                return found
        raise ApartError(
            "what it gives is not weights that sum to 1, times one value of each token"
        )

    def _call(
        self, twin: "_Twin", given: Sequence[Tensor], axis: int, mixed: Tensor
    ) -> AttentionCall | None:
        """The call, if maps times values are what the module gives; else None."""
        found = [self._maps(twin, at, x, axis) for at, x in enumerate(given)]
        values = [self._by_head(x.transpose(0, 1 - axis)) for x in given]
        maps = torch.stack(found).sum(dim=0)
        wide = torch.promote_types(maps.dtype, torch.float32)
        explained = sum(one.to(wide) @ v.to(wide) for one, v in zip(found, values, strict=True))
        dtype = str(maps.dtype).removeprefix("torch.")
        off = (explained - mixed).abs().max() / mixed.abs().max().clamp_min(1e-30)
        sums = maps.sum(dim=-1, dtype=wide)
        uneven = torch.where(sums == 0, 0, sums - 1).abs().max()
        most = ROW_SUM_TOLERANCE.get(dtype, PLAIN_ROW_SUM_TOLERANCE)
        if not (off <= TOLERANCE.get(dtype, 1e-5) and uneven <= most and maps.min() >= 0):
            return None
        # The proof has one value a token: rows of others are moved by what the others make of them.
        others = sum(m @ (v - values[0]) for m, v in zip(found[1:], values[1:], strict=True))
        call = from_maps(maps, values[0], mixed - others)
        note = PUT_TOGETHER + OTHERS * (len(given) > 1)
        return call._replace(kernel="softmax by hand, in parts", note=note)

    def _maps(self, twin: "_Twin", at: int, values: Tensor, axis: int) -> Maps:
        """Weights that meet the values of one projection: of as many tokens a run as channels."""
        n_tokens, width = values.shape[axis], values.shape[-1] // self.n_heads
        parts = []
        for start in range(0, n_tokens, width):
            tokens = torch.arange(start, min(start + width, n_tokens), device=values.device)
            ones = torch.zeros_like(values).transpose(0, 1 - axis)
            ones.unflatten(-1, (self.n_heads, width))[:, tokens, :, tokens - start] = 1
            parts.append(
                self._by_head(twin.run(at, ones.transpose(0, 1 - axis)))[..., : len(tokens)]
            )
        return torch.cat(parts, dim=-1)

    def _by_head(self, x: States) -> Float[Tensor, "batch head token d_value"]:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class _OtherValues(nn.Module):
    """Stands in the place of a projection and gives other values."""

    def __init__(self, real: nn.Module) -> None:
        super().__init__()
        self.real, self.gave = real, list[Tensor]()
        self.instead: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Give the values that are set, or else the module's own, and keep these."""
        if self.instead is None:
            self.gave.append(self.real(x).clone())
        return (self.gave[-1] if self.instead is None else self.instead).clone()


class _Twin:
    """A copy of the module with its weights, and probes as its projections of values."""

    def __init__(self, parts: InParts) -> None:
        self._parts, self._module = parts, copy(parts.module)
        real = dict(parts.module.named_children())
        self._probes = {n: _OtherValues(one) for n, one in real.items() if VALUES.fullmatch(n)}
        self._module._modules = {**real, **self._probes}

    def begin(self) -> list[Tensor]:
        """The values that ran, after the first run; from here on, heads are not projected."""
        self._probes = {name: one for name, one in self._probes.items() if one.gave}
        if any(len(one.gave) > 1 for one in self._probes.values()) or not self._probes:
            raise ApartError("its values come from several places, such as summaries of blocks")
        for name in self._module._modules:
            if OUTPUTS.fullmatch(name):
                self._module._modules[name] = nn.Identity()
        return [one.gave[0] for one in self._probes.values()]

    def run(self, at: int | None = None, values: Tensor | None = None) -> States:
        """What it gives; with values in place of those of one projection, and 0 for the others."""
        for number, one in enumerate(self._probes.values()):
            if values is not None:
                one.instead = values if number == at else torch.zeros_like(one.gave[0])
        kwargs = dict(zip(self._parts.kwargs, _copies(self._parts.kwargs.values()), strict=True))
        found = first_sequence(self._module.forward(*_copies(self._parts.args), **kwargs))
        if found is None:
            raise ApartError("it gives no sequence")
        return found


def in_parts(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    out: Any,
    softmaxes: Iterable[SeenSoftmax],
) -> InParts | None:
    """Keep what a module needs to run again; None if it has no values of its own to look at."""
    found, told = first_sequence(out), (getattr(module, name, 0) for name in HEADS)
    n_heads = next((n for n in told if isinstance(n, int) and n), 0)
    if found is None or not n_heads or found.shape[-1] % n_heads:
        return None
    every = (*args, *kwargs.values())
    if not isinstance(every[0], Tensor) or every[0].shape[:2] != found.shape[:2]:
        return None
    if not all(map(_is_plain, every)) or not any(
        VALUES.fullmatch(name) for name, _ in module.named_children()
    ):
        return None
    weights = KeptWeights({}, versions_of(module.parameters()))
    given = _copies(args), dict(zip(kwargs, _copies(kwargs.values()), strict=True))
    return InParts(module, *given, own_copy(found), n_heads, tuple(softmaxes), weights)


def put_together(
    calls: Sequence[RecordedCall], is_wanted: Callable[[RecordedCall], bool]
) -> tuple[list[RecordedCall], str]:
    """The calls, those in parts as one where all can be; else the parts, and why they cannot."""
    whole = [call for call in calls if call.parts is not None and is_wanted(call)]
    why = next(filter(None, map(_why_apart, whole)), "")
    gone = {id(part) for call in whole for part in call.parts or () if not why}
    kept = {id(call) for call in whole if not why}
    left = [call for call in calls if call.parts is None or id(call) in kept]
    return [call for call in left if id(call) not in gone], why


def _why_apart(call: RecordedCall) -> str:
    try:
        _ = call.attention
    except ApartError as why:
        return f" The parts of {call.name!r} are not put together, because {why}."
    return ""


def first_sequence(out: Any) -> Tensor | None:
    """The first tensor that a module gave, if it is a sequence of each sample."""
    first = out[0] if isinstance(out, tuple | list) and out else out
    return first if isinstance(first, Tensor) and first.ndim == 3 else None


def _copies(given: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(own_copy(x) if isinstance(x, Tensor) else x for x in given)


def _is_plain(x: Any) -> bool:
    """Whether it can be given again: a cache, say, would have changed."""
    if isinstance(x, tuple | list):
        return all(map(_is_plain, x))
    return x is None or isinstance(x, bool | int | float | str | Tensor)
