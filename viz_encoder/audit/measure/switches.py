"""ModuleState: words, flags and inner modules that a call sets to something else for good."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import nn

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
