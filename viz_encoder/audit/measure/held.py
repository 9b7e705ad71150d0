"""What a model leads to and holds, and what a call changes of it for good."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class HeldTensors:
    """Tensors by name, each beside a copy of what it held."""

    tensors: dict[str, Tensor]
    before: dict[str, Tensor]

    @classmethod
    def of(cls, tensors: dict[str, Tensor]) -> "HeldTensors":
        """Copy the current values."""
        return cls(tensors, {name: one.detach().clone() for name, one in tensors.items()})

    def changed(self) -> list[str]:
        """The names of those that hold something else now."""
        return [name for name, one in self.tensors.items() if not _same(one, self.before[name])]

    def put_back(self) -> None:
        """Restore the values in place."""
        with torch.no_grad():
            for name in self.changed():
                self.tensors[name].copy_(self.before[name])

    @contextmanager
    def put_back_after(self) -> Iterator[None]:
        """Restore the values on exit, whatever happens."""
        try:
            yield
        finally:
            self.put_back()


def _same(one: Tensor, before: Tensor) -> bool:
    if one.shape != before.shape:  # resized in place: no mask
        return True
    return torch.equal(one, before) or torch.allclose(one, before, rtol=0, atol=0, equal_nan=True)


def state_of(whole: nn.Module, others: list[Tensor]) -> dict[str, Tensor]:
    """The tensors that a model keeps from call to call, without its weights.

    Args:
        whole: its buffers, and tensors that are plain attributes of its modules.
        others: tensors that its functions lead to.
    """
    found = {_plain(name): one for name, one in (*whole.named_buffers(), *_attributes(whole))}
    known = {id(one) for one in found.values()}
    more = [one for one in others if id(one) not in known and not isinstance(one, nn.Parameter)]
    return found | {f"{number}": one for number, one in enumerate(more)}


def _attributes(whole: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for name, module in whole.named_modules():
        for attribute, value in vars(module).items():
            if isinstance(value, Tensor):
                yield f"{name}.{attribute}", value


def _plain(name: str) -> str:
    """Name within the caller's own module."""
    parts = name.split(".")
    if parts[0] == "parts":
        return ".".join(parts[2:])
    return ".".join(parts[1:]) if parts[0] == "call" else name


DEPTH = 4  # how far a model's functions are followed in search of its modules
PLAIN = (str, bool, type(None))  # a number may count the calls


@dataclass(eq=False)
class ModuleState:
    """What a model's modules hold besides tensors and numbers, put back after each call."""

    held: list[tuple[dict[str, Any], str, Any]]
    last: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # before and after the last call
    any: bool = False  # whether a call has switched anything
    stays: bool = False  # whether a call's switches are left as they are

    @classmethod
    def of(cls, whole: nn.Module) -> "ModuleState":
        """As they are now; whether a module trains is the audit's to say."""
        held: list[tuple[dict[str, Any], str, Any]] = []
        for module in whole.modules():
            held += [
                (vars(module), name, value)
                for name, value in vars(module).items()
                if type(value) in PLAIN and name != "training"
            ]
            if isinstance(module._modules, dict):  # that of TorchScript is not
                held += [(module._modules, name, one) for name, one in module._modules.items()]
        return cls(held)

    def note(self) -> None:
        """After a call: see what it has switched, and switch it back."""
        moved = [one for one in self.held if _is_moved(*one)]
        self.any |= bool(moved)
        plain = [(where, name, was) for where, name, was in moved if type(was) in PLAIN]
        self.last = {name: (was, where.get(name)) for where, name, was in plain}
        if not self.stays:
            for where, name, was in moved:
                where[name] = was

    @contextmanager
    def left_alone(self) -> Iterator[None]:
        """What calls switch stays so for a while."""
        self.stays = True
        try:
            yield
        finally:
            self.stays = False
            self.note()

    @property
    def words(self) -> str:
        """What the last call has switched, such as "attention_type from 'sparse' to 'full'"."""
        return ", ".join(f"{name} from {a!r} to {b!r}" for name, (a, b) in self.last.items())


def _is_moved(where: dict[str, Any], name: str, was: Any) -> bool:
    """Whether it is another word, flag or module; a tensor or a number in place of None is not."""
    now = where.get(name)
    return now is not was and isinstance(now, (*PLAIN, nn.Module)) and now != was


def modules_of(call: Any) -> list[nn.Module]:
    """The modules that a callable leads to: itself, its closure, its object, its globals."""
    found: dict[int, Any] = {}
    _follow(call, DEPTH, found, set())
    return [one for one in found.values() if isinstance(one, nn.Module)]


def tensors_of(call: Any) -> list[Tensor]:
    """The tensors that it leads to in the same way, and those that its modules' code does."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    _follow(call, DEPTH, found, seen)
    for module in [one for one in found.values() if isinstance(one, nn.Module)]:
        for kind in {type(one) for one in module.modules()}:
            if not issubclass(kind, torch.jit.ScriptModule):  # whose code is not Python's
                _follow(kind.forward, DEPTH, found, seen)
    return [one for one in found.values() if isinstance(one, Tensor)]


def _follow(one: Any, depth: int, found: dict[int, Any], seen: set[int]) -> None:
    if depth < 0 or id(one) in seen:
        return
    seen.add(id(one))
    if isinstance(one, nn.Module | Tensor):
        found[id(one)] = one
        return
    for inner in _within(one):
        _follow(inner, depth - 1, found, seen)


def _within(one: Any) -> list[Any]:
    if isinstance(one, functools.partial):
        return [one.func, *one.args, *one.keywords.values()]
    if isinstance(one, list | tuple):
        return list(one)
    if isinstance(one, dict):
        return list(one.values())
    if (type(one).__module__ or "").partition(".")[0] in ("torch", "numpy", "transformers"):
        return []
    code = getattr(one, "__code__", None)
    if isinstance(code, CodeType) and not (one.__module__ or "").startswith("torch"):
        cells = [cell.cell_contents for cell in one.__closure__ or () if _is_filled(cell)]
        names = [n for n in _names_in(code) if n in one.__globals__]
        used = [one.__globals__[name] for name in names]
        used = [one for one in used if isinstance(one, nn.Module | Tensor) or callable(one)]
        owner = [one.__self__] if hasattr(one, "__self__") else []
        return [*owner, *cells, *(one.__defaults__ or ()), *used]
    if hasattr(one, "__func__"):
        return [one.__self__, one.__func__]
    own = list(vars(one).values()) if hasattr(one, "__dict__") and not isinstance(one, type) else []
    return [*own, type(one).__call__] if callable(one) and own else own


def _names_in(code: CodeType) -> list[str]:
    inner = [
        name for const in code.co_consts if isinstance(const, CodeType) for name in _names_in(const)
    ]
    return [*code.co_names, *inner]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
