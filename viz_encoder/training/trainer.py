"""TrainerEvents: the events of transformers' Trainer, of which a watch needs four."""

from typing import Any

from torch import nn


class TrainerEvents:
    """A TrainerCallback by its methods alone, for transformers is no dependency."""

    def start(self, module: nn.Module) -> None:
        """Begin to watch this module."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop watching."""
        raise NotImplementedError

    def expect(self, step: int) -> None:
        """The next call of the module is the first of this step."""
        raise NotImplementedError

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The model is known from here on."""
        self.start(given["model"])

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Steps are the optimizer's, of which each may have several batches."""
        self.expect(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Close the writers."""
        self.close()

    def __getattr__(self, name: str) -> Any:
        """Any other event: nothing to do."""
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _nothing(*args: Any, **given: Any) -> None:
    """Do nothing at most events."""
