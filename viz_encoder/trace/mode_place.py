"""Where our function mode stands among those of the caller: it steps out of them and comes back."""

from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode
from torch.overrides import _get_current_function_mode as top_mode
from torch.overrides import _get_current_function_mode_stack as mode_stack


class ModePlace:
    """The place of one mode on this thread's stack of function modes."""

    def __init__(self, mode: TorchFunctionMode) -> None:
        self._mode = mode
        self._above: list[TorchFunctionMode] | None = None

    def push(self) -> None:
        """Put it on top."""
        _push_mode(self._mode)

    def popped(self) -> bool:
        """Take it off if it is on top; whether it was."""
        if top_mode() is not self._mode:
            return False
        _pop_mode()
        return True

    def step_out(self) -> None:
        """Leave, from under those that the model may have put above."""
        self._above = None
        if self._mode in mode_stack():
            self._above = []
            while (top := _pop_mode()) is not self._mode:
                self._above.append(top)
            for mode in reversed(self._above):
                _push_mode(mode)

    def come_back(self) -> None:
        """Return to where it was when it stepped out, if it was there."""
        if self._above is None:
            return
        for _ in self._above:
            _pop_mode()
        for mode in (self._mode, *reversed(self._above)):
            _push_mode(mode)
