"""Where a run is: the stack of running modules, and the hidden states before and after each block.

A block is the outermost numbered module ("encoder.layer.3") that holds just one self-attention; so
"encoder.block.3.layer.0" of T5 gives way to "encoder.block.3", and a Sequential around the whole
model is none. In a model that numbers nothing it is the outermost module that holds just one.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.trace.attention_call import (
    AttentionCall,
    Kind,
    LastCopy,
    LaterCall,
    Shape,
    padded,
)
from viz_encoder.trace.detached import detached_from_caller
from viz_encoder.trace.kept_weights import KeptNorm, KeptPart, keep, keep_norm


@dataclass(eq=False)
class RecordedCall:
    """One attention call, where it happened, and the hidden states around its block."""

    name: str
    run: int  # which call of the recorded module, from 0
    ran: AttentionCall | LaterCall
    cross: bool = False
    before: Tensor | None = field(default=None, repr=False)
    after: Tensor | None = field(default=None, repr=False)
    normed: Tensor | None = field(default=None, repr=False)  # after the norm that follows it all
    block: str = ""
    batch_first: bool = True
    part: KeptPart | None = field(default=None, repr=False)  # torch's own module that it is of
    norm: KeptNorm | None = field(default=None, repr=False)  # that gave `normed`

    @property
    def attention(self) -> AttentionCall:
        """What the call ran on.

        Raises:
            TraceError: what a fused kernel ran on is computed now, and its weights have changed.
        """
        return self.ran.whole if isinstance(self.ran, LaterCall) else self.ran

    @property
    def kind(self) -> Kind:
        """By what it was done: "softmax" is a model's own, and its maps are kept as they were."""
        return self.ran.kind

    @property
    def dropout(self) -> float:
        """The dropout that was on: the map that ran had this part of its weights set to 0."""
        return 0.0 if isinstance(self.ran, LaterCall) else self.ran.dropout

    @property
    def fused(self) -> bool:
        """Whether one of torch's fused layer kernels ran, whose insides were computed again."""
        return isinstance(self.ran, LaterCall)

    @property
    def shape(self) -> Shape:
        """Samples, heads, queries, keys."""
        return self.ran.shape

    def __repr__(self) -> str:
        """One line: name, kind, sizes and what is special about it."""
        n_samples, n_heads, n_queries, n_keys = self.shape
        special = [word for word in ("cross", "fused") if getattr(self, word)]
        special += [f"dropout {self.dropout:g}"] if self.dropout else []
        sizes = f"{n_samples} samples, {n_heads} heads, {n_queries} × {n_keys}"
        return f"<{self.name}: {self.kind}, {', '.join([sizes, *special])}>"


@dataclass(eq=False, slots=True)
class _Frame:
    module: nn.Module
    name: str
    numbered: bool
    inside: bool  # of a numbered module
    before: Tensor | None
    fed: set[int] = field(default_factory=set)  # the tensors that its children were given
    own: list[RecordedCall] = field(default_factory=list)
    within: list[RecordedCall] = field(default_factory=list)  # self-attention only


class ModuleStack:
    """Follows one thread through the modules of one model."""

    def __init__(self, module: nn.Module, hidden: bool) -> None:
        """Outside of the model."""
        self.modules = dict(module.named_modules())
        self.names = {id(part): name for name, part in self.modules.items()}
        self._numbered = {id(m) for n, m in self.modules.items() if _last_name(n).isdecimal()}
        self._norms = {id(part) for part in self.modules.values() if _is_norm(part)}
        self._leaves = {id(part) for part in self.modules.values() if _is_leaf(part)} - self._norms
        self.root = type(module).__name__
        self.hidden = hidden
        self.run = -1
        self._stack: list[_Frame] = []
        self._last: tuple[RecordedCall, Tensor] | None = None  # and what its block gave
        self.copies = LastCopy()

    @property
    def inside(self) -> bool:
        """Whether any module of the model is running."""
        return bool(self._stack)

    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A module starts."""
        name = self.names.get(id(module))
        if name is None:
            return
        parent = self._stack[-1] if self._stack else None
        if parent is None:
            self.run += 1
            self._last = None
        elif args:
            parent.fed.add(id(args[0]))
        if parent is not None and id(module) in self._leaves:
            return
        numbered = id(module) in self._numbered
        inside = parent is not None and (parent.inside or parent.numbered)
        wanted = self.hidden and (numbered or not inside)
        before = self._copy(args[0]) if wanted and args else None
        self._stack.append(_Frame(module, name, numbered, inside, before))

    def attend(self, call: AttentionCall | LaterCall, part: str) -> RecordedCall:
        """The module that runs has attended."""
        frame = self._stack[-1]
        name = ".".join(filter(None, (frame.name, part))) or self.root
        recorded = RecordedCall(name, self.run, call)
        recorded.batch_first = getattr(frame.module, "batch_first", True)
        frame.own.append(recorded)
        return recorded

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> None:
        """A module has ended, or failed."""
        if not self._stack or self._stack[-1].module is not module:
            return
        frame = self._stack.pop()
        if frame.own:
            with detached_from_caller():
                for call in frame.own:
                    call.cross = _is_cross(call, frame, (*args, *kwargs.values()))
            frame.within += [call for call in frame.own if not call.cross]
        if len(frame.within) == 1:
            self._keep_weights(frame, args or tuple(kwargs.values()))
        if self._stack and frame.within:
            self._stack[-1].within += frame.within
        if self.hidden and (frame.within or (self._last is not None and id(module) in self._norms)):
            self._keep_hidden(frame, args, kwargs, _first(out))
        if not self._stack:
            self._last = None
            self.copies.forget()

    def _keep_weights(self, frame: _Frame, given: tuple[Any, ...]) -> None:
        """References to the weights of torch's own layer, or of attention that is in none."""
        call, module = frame.within[0], frame.module
        if not isinstance(module, nn.TransformerEncoderLayer | nn.MultiheadAttention):
            return
        with detached_from_caller():
            if isinstance(module, nn.TransformerEncoderLayer):
                call.part = keep(module)
            elif not self._in_layer:
                entered = self._copy(given[0]) if self.hidden and given else None
                call.part = keep(module, entered)

    @property
    def _in_layer(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].module, nn.TransformerEncoderLayer)

    def _keep_hidden(
        self, frame: _Frame, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor | None
    ) -> None:
        if out is None:
            return
        if len(frame.within) == 1 and (frame.numbered or not frame.inside):
            call = frame.within[0]
            if not frame.numbered and _last_name(call.block).isdecimal():
                return
            given = frame.before if args else self._copy(_first((*kwargs.values(),)))
            call.before, call.after, call.block = given, self._copy(out), frame.name
            call.normed, call.norm, self._last = None, None, (call, out)
        elif not frame.within and self._last is not None and args:
            call, block_output = self._last
            if _is_same(args[0], block_output):
                call.normed, call.norm = self._copy(out), keep_norm(frame.module)

    def _copy(self, x: Any) -> Tensor | None:
        """A copy, if it can be hidden states; what one block gives the next is copied once."""
        if not isinstance(x, Tensor):
            return None
        with detached_from_caller():
            if not x.is_floating_point() or x.ndim not in (2, 3):
                return None
            return self.copies.of(x)


def _last_name(name: str) -> str:
    return name.rpartition(".")[2]


def _is_leaf(module: nn.Module) -> bool:
    """One of torch's own that calls none: nothing attends in it."""
    return type(module).__module__.startswith("torch.nn.modules.") and not module._modules


def _is_norm(module: nn.Module) -> bool:
    return "norm" in type(module).__name__.lower()


def _is_cross(call: RecordedCall, frame: _Frame, arguments: tuple[Any, ...]) -> bool:
    """Whether keys come from elsewhere than queries: two of the arguments were projected.

    Where no projection is seen to take an argument, by the number of keys.
    """
    if isinstance(call.ran, LaterCall):
        return False
    if call.ran.cross is not None:
        return call.ran.cross
    given = {id(x): x.ndim for x in arguments if isinstance(x, Tensor)}
    projected = [given[one] for one in frame.fed if one in given]
    if projected:
        return projected.count(max(projected)) > 1  # a table of positions has fewer axes
    return call.shape[2] != call.shape[3]


def _is_same(x: Any, given: Tensor) -> bool:
    """Whether x is what the block gave, or what it gave with its padding put back."""
    if x is given or not isinstance(x, Tensor):
        return x is given
    with detached_from_caller():
        if not given.is_nested or x.is_nested:
            return False
        wide = padded(given)
        return x.ndim == wide.ndim and torch.equal(x[:, : wide.shape[1]], wide)


def _first(out: Any) -> Tensor | None:
    """The first tensor of what a module returned."""
    if isinstance(out, Tensor):
        return out
    values = out.values() if isinstance(out, dict) else out
    if isinstance(values, list | tuple) or isinstance(out, dict):
        return next((x for x in values if isinstance(x, Tensor)), None)
    return None
