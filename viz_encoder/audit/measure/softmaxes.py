"""Softmaxes over tokens by themselves, such as two whose maps are subtracted.

No recorded call holds such a map, because none of them meets values alone.
"""

from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.trace.attention_call import from_maps
from viz_encoder.trace.torch_ops import SOFTMAX


class _Noted(TorchFunctionMode):
    """While it is entered, keeps each map of a softmax over all tokens of each sample."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.n_samples, self.n_tokens = case.valid.shape
        self.maps: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run it, and keep what it gives if that is a map."""
        out = func(*args, **(kwargs or {}))
        if func in SOFTMAX and self._is_map(out, *args[1:2], **(kwargs or {})):
            self.maps.append(out.detach().clone())
        return out

    def _is_map(self, out: Tensor, dim: int | None = None, **more: Any) -> bool:
        square = out.shape[-2:] == (self.n_tokens, self.n_tokens)
        return square and out.ndim > 3 and len(out) == self.n_samples and dim in (-1, out.ndim - 1)


def softmaxes_of(subject: Subject, case: Case, *, grad: bool | None = None) -> list[LayerRun]:
    """Each softmax of a run over the tokens, as it was before anything is done to its weights."""
    with _Noted(case) as noted:
        subject.run(case, grad=grad)
    n_samples, n_tokens = case.valid.shape
    calls = [from_maps(one.flatten(1, -3), None, None) for one in noted.maps]
    return [LayerRun("", one, n_samples, n_keys=n_tokens, by_hand=True) for one in calls]
