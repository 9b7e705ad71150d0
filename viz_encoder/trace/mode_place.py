"""Our function mode's position on the caller's mode stack: steps out of it and comes back."""

from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode
from torch.overrides import _get_current_function_mode as top_mode
from torch.overrides import _get_current_function_mode_stack as mode_stack


class ModePlace:
    """Position of one mode on this thread's stack of function modes."""

    def __init__(self, mode: TorchFunctionMode) -> None:
        self._mode = mode
        self._above: list[TorchFunctionMode] | None = None

    def push(self) -> None:
        """Push the mode on top of the stack."""
        _push_mode(self._mode)

    def popped(self) -> bool:
        """Pop the mode if it is on top; return whether it was."""
        if top_mode() is not self._mode:
            return False
        _pop_mode()
        return True

    def step_out(self) -> None:
        """Leave the stack, even from under modes the model pushed."""
        self._above = None
        if self._mode in mode_stack():
            self._above = []
            while (top := _pop_mode()) is not self._mode:
                self._above.append(top)
            for mode in reversed(self._above):
                _push_mode(mode)

    def come_back(self) -> None:
        """Return to the position it left, if it was on the stack."""
        if self._above is None:
            return
        for _ in self._above:
            _pop_mode()
        for mode in (self._mode, *reversed(self._above)):
            _push_mode(mode)
