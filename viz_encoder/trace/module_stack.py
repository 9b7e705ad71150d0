"""Tracks the stack of running modules and the hidden states before and after each block.

A block is the outermost numbered module ("encoder.layer.3") that holds just one self-attention; so
in T5 "encoder.block.3" wins over "encoder.block.3.layer.0", and a Sequential around the whole model
does not count. Without numbered modules, it is the outermost one that holds just one
self-attention.
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from viz_encoder.trace.attention_call import AttentionCall, LastCopy, LaterCall, padded
from viz_encoder.trace.callers_state import detached_from_caller, is_freed
from viz_encoder.trace.in_parts import in_parts
from viz_encoder.trace.kept_weights import keep, keep_norm
from viz_encoder.trace.recorded_call import (
    RecordedCall,
    is_cross,
    is_given_heads,
    is_in_parts,
    sequences_in,
)
from viz_encoder.trace.softmax import SeenSoftmax
from viz_encoder.trace.windows import cut_of, order_of, sides_of

CALL = nn.Module._call_impl.__code__


class _Known(NamedTuple):
    """What a module's name and class tell about it."""

    name: str
    numbered: bool
    is_norm: bool
    calls_none: bool  # a torch module without children: nothing attends in it
    windowed: bool  # a block that cuts its picture into windows


@dataclass(eq=False, slots=True)
class _Frame:
    """A module that is running."""

    module: nn.Module
    known: _Known
    inside: bool  # part of a numbered module
    before: Tensor | None
    fed: set[int] = field(default_factory=set)  # tensors that its children were given
    own: list[RecordedCall] = field(default_factory=list)
    within: list[RecordedCall] = field(default_factory=list)  # self-attention only
    cut: list[Tensor] = field(default_factory=list)  # of a windowed block: what it may cut
    sides: list[tuple[int, int]] = field(default_factory=list)  # and its rows and columns
    softmaxes: list[SeenSoftmax] = field(default_factory=list)  # that ran in itself


class _Output(NamedTuple):
    """Output of the last block."""

    call: RecordedCall
    tensor: Tensor
    nested: bool


class ModuleStack:
    """Follows one thread through a model's modules."""

    def __init__(self, module: nn.Module, hidden: bool) -> None:
        self.modules = dict(module.named_modules())
        self._known = {id(part): _known(name, part) for name, part in self.modules.items()}
        self._root = module
        self.hidden = hidden
        self.run = -1
        self._stack: list[_Frame] = []
        self._last: _Output | None = None
        self.copies = LastCopy()

    def __contains__(self, module: nn.Module) -> bool:
        """Whether the module is part of the model."""
        return id(module) in self._known

    @property
    def inside(self) -> bool:
        """Whether any module of the model is running."""
        return bool(self._stack)

    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """Called when a module starts."""
        known = self._known.get(id(module))
        if known is None:
            return
        inside = False
        if self._stack and module is self._root and not _runs_twice(module):
            self._stack.clear()  # hooks are not told if an interrupt ended the last run
        if self._stack:
            parent = self._stack[-1]
            if args:
                parent.fed.add(id(args[0]))
            if known.calls_none and not known.is_norm:
                return
            inside = parent.inside or parent.known.numbered
        else:
            self.run += 1
            self._last = None
        frame = _Frame(module, known, inside, None)
        if args and self.hidden and not known.calls_none and (known.numbered or not inside):
            with detached_from_caller():
                frame.before = self._copy(args[0])
        if known.windowed:
            frame.cut, frame.sides = [x for x in args if isinstance(x, Tensor)][:1], sides_of(args)
        self._stack.append(frame)

    @property
    def where(self) -> str:
        """Name of the running module."""
        return self._stack[-1].known.name

    def soften(self, seen: SeenSoftmax) -> None:
        """Record that a softmax ran in the running module."""
        self._stack[-1].softmaxes.append(seen)

    def attend(self, call: AttentionCall | LaterCall, part: str) -> RecordedCall:
        """Record that the running module attended."""
        frame = self._stack[-1]
        name = ".".join(filter(None, (frame.known.name, part))) or type(self._root).__name__
        recorded = RecordedCall(name, self.run, call)
        recorded.batch_first = getattr(frame.module, "batch_first", True)
        frame.own.append(recorded)
        return recorded

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> RecordedCall | None:
        """Called when a module ends or fails; of one that attended in parts, all as one call."""
        if not self._stack or self._stack[-1].module is not module:
            return None
        frame, together = self._stack.pop(), None
        if frame.own or frame.within or frame.softmaxes:
            with detached_from_caller():
                together = self._attended(frame, args, kwargs, out)
        elif frame.known.is_norm and self._last is not None and args:
            self._normed(module, args[0], _first(out), self._last)
        if frame.known.is_norm and self._stack and self._stack[-1].known.windowed:
            self._stack[-1].cut += [x for x in (_first(out),) if x is not None]
        if not self._stack:
            self._last = None
            self.copies.forget()
        return together

    def _attended(
        self, frame: _Frame, args: tuple[Any, ...], kwargs: dict[str, Any] | None, gave: Any
    ) -> RecordedCall | None:
        given = (*args, *(kwargs or {}).values())
        sequences, out = sequences_in(given), _first(gave)
        self._look_at_given(frame, sequences)
        together = None if kwargs is None else self._together(frame, args, kwargs, gave)
        if together is not None:
            frame.own = [together]
        frame.within += [call for call in frame.own if not call.cross]
        if frame.known.numbered:
            _look_for_parts(frame.within, sequences)
        if self._stack:
            self._stack[-1].within += frame.within
        if len(frame.within) != 1:
            return together
        call = frame.within[0]
        self._keep_weights(call, frame.module, given)
        is_block = frame.known.numbered or not (frame.inside or _is_numbered(call.block))
        if self.hidden and is_block and out is not None:
            call.before = frame.before if args else self._copy(_first(given))
            call.after, call.block = self._copy(out), frame.known.name
            call.normed, call.norm, self._last = None, None, _Output(call, out, out.is_nested)
        return together

    def _together(
        self, frame: _Frame, args: tuple[Any, ...], kwargs: dict[str, Any], gave: Any
    ) -> RecordedCall | None:
        """One call in place of those of a module that attended in parts."""
        if frame.within or not is_in_parts(frame.own, frame.softmaxes):
            return None
        kept = in_parts(frame.module, args, kwargs, gave, frame.softmaxes)
        if kept is None:
            return None
        return RecordedCall(frame.known.name, self.run, kept.later(), parts=frame.own)

    def _look_at_given(self, frame: _Frame, given: list[Tensor]) -> None:
        """For each call, whether its keys come from elsewhere, and the sequence it belongs to."""
        heads = [call for call in frame.own if self._stack and is_given_heads(call.shape, given)]
        if heads:  # the enclosing module knows
            self._stack[-1].own += heads
            frame.own = [call for call in frame.own if call not in heads]
        if not frame.own:
            return
        # The model's own arguments are not yet a sequence.
        sizes = tuple(tuple(x.shape) for x in given) if self._stack else None
        for call in frame.own:
            call.cross, call.beside = is_cross(call, frame.fed, given), frame.own
            if sizes is not None:
                call.given = sizes
            call.unfold_heads()
            if given:
                self._look_for_windows(call, given[0])

    def _look_for_windows(self, call: RecordedCall, given: Tensor) -> None:
        """The tokens of the windows that attention was given, if a block around it cut them."""
        block = next((each for each in reversed(self._stack) if each.known.windowed), None)
        cut = None if block is None else cut_of(block.module)
        if block is not None and cut is not None:
            call.window = cut.window
            call.order = order_of(cut, block.sides, given, block.cut)

    def _keep_weights(self, call: RecordedCall, module: nn.Module, given: tuple[Any, ...]) -> None:
        if isinstance(module, nn.TransformerEncoderLayer):
            call.part = keep(module)
        elif isinstance(module, nn.MultiheadAttention) and not (
            self._stack and isinstance(self._stack[-1].module, nn.TransformerEncoderLayer)
        ):
            call.part = keep(module, self._copy(given[0]) if self.hidden and given else None)

    def _normed(self, norm: nn.Module, given: Any, out: Tensor | None, last: _Output) -> None:
        if given is not last.tensor and not last.nested:
            return
        with detached_from_caller():
            if out is not None and _is_same(given, last.tensor):
                last.call.normed, last.call.norm = self._copy(out), keep_norm(norm)

    def _copy(self, x: Any) -> Tensor | None:
        """Copy x if it can be hidden states; states passed between blocks are copied once."""
        if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim not in (2, 3):
            return None
        if is_freed(x):
            return None
        return self.copies.of(x)


def _runs_twice(module: nn.Module) -> bool:
    """Whether two calls of the module are in progress, as when it calls itself."""
    frame: FrameType | None = sys._getframe()
    n_calls = 0
    while frame is not None and n_calls < 2:
        if frame.f_code is CALL and frame.f_locals.get("self") is module:
            n_calls += 1
        frame = frame.f_back
    return n_calls == 2


def _known(name: str, module: nn.Module) -> _Known:
    kind = type(module)
    calls_none = not module._modules and kind.__module__.startswith("torch.nn.modules.")
    is_norm, windowed = "norm" in kind.__name__.lower(), cut_of(module) is not None
    return _Known(name, _is_numbered(name), is_norm, calls_none, windowed)


def _look_for_parts(calls: list[RecordedCall], given: list[Tensor]) -> None:
    """Compare calls with the block's input if one module attended several times in a pass.

    Each call may have been given only part of it.
    """
    calls = [call for call in calls if not call.in_block]
    for name, count in Counter(call.name for call in calls).items():
        if count > 1:
            again = [call for call in calls if call.name == name]
            for call in again:
                call.given, call.beside = tuple(tuple(x.shape) for x in given), again
    for call in calls:
        call.in_block = True


def _is_numbered(name: str) -> bool:
    return name.rpartition(".")[2].isdecimal()


def _is_same(x: Any, given: Tensor) -> bool:
    """Whether x is the block's output, possibly with its padding restored."""
    if x is given or not isinstance(x, Tensor):
        return x is given
    if not given.is_nested or x.is_nested:
        return False
    wide = padded(given)
    return x.ndim == wide.ndim and torch.equal(x[:, : wide.shape[1]], wide)


def _first(out: Any) -> Tensor | None:
    if isinstance(out, Tensor):
        return out
    values = out.values() if isinstance(out, dict) else out
    if isinstance(values, list | tuple) or isinstance(out, dict):
        return next((x for x in values if isinstance(x, Tensor)), None)
    return None
