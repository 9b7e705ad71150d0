"""Subject: the audited model, called in one way whatever it is, and left as it was found."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Any, Literal

import torch
from torch import Tensor, nn

from viz_encoder.audit.measure.changes import with_content
from viz_encoder.audit.measure.flex_masks import mapped
from viz_encoder.audit.measure.held import (
    HeldTensors,
    ModuleState,
    modules_of,
    state_of,
    tensors_of,
)
from viz_encoder.audit.measure.output_axes import ReadOutput, as_it_is
from viz_encoder.audit.measure.setting import Case, ModelFault

FLATTER = 0.05
FixedKeys = Literal["router", "memory", "unknown"]  # of a softmax over as many keys at any length


class Whole(nn.Module):
    """The caller's model as one module, so that all of it can be recorded."""

    def __init__(self, call: Callable[[Tensor, Any], Any], parts: list[nn.Module]) -> None:
        """A function's modules are registered beside it."""
        super().__init__()
        self.call = call
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor, passed: Any) -> Any:
        """Call the model as its owner would."""
        return self.call(x, passed)


class Subject:
    """A model under audit."""

    def __init__(self, call: Callable[[Tensor, Any], Any], module: nn.Module | None = None) -> None:
        """`module` is what to watch; without it the modules that the callable leads to."""
        parts = [module] if module is not None else modules_of(call)
        self.whole = Whole(call, [part for part in parts if part is not call])
        weights = [p for p in self.whole.parameters() if p.is_floating_point()]
        self.dtype = weights[0].dtype if weights else torch.float32
        self.device = weights[0].device if weights else torch.device("cpu")
        self.fixed_keys: dict[int, FixedKeys] = {}  # by the number of the call in a run
        self.slots_after: dict[int, bool] = {}  # of a call, also by its number: if after its tokens
        self.switches = ModuleState.of(self.whole)
        self.state = HeldTensors.of(state_of(self.whole, tensors_of(call)))
        self.reorders = False  # once it is known that tokens or samples are in another order inside
        self.bare = False  # whether its maps are those of softmaxes that meet no values alone
        self.beside: list[tuple[int, ...]] = []  # shapes of the outputs that are not judged
        self.grad = False  # whether it runs with gradients on where nothing else is said
        self.reading: ReadOutput = as_it_is  # which axis of its output is the tokens

    def run(self, case: Case, *, x: Tensor | None = None, grad: bool | None = None) -> Tensor:
        """The output's first tensor, as floats "batch token d" or "batch d".

        Raises:
            ModelFault: the model raised, or gave no tensor.
        """
        given = case if x is None else with_content(case, x)
        with torch.set_grad_enabled(self.grad if grad is None else grad):
            return self.read(self.raw(given.x, given), case.valid)

    def read(self, out: Any, valid: Tensor) -> Tensor:
        """The first tensor of what it returned, as "batch token d" or "batch d".

        Raises:
            ModelFault: there is none, or it has other axes than that of the base case.
        """
        given = first_tensor(out)
        if given is not out:
            self.beside = [
                tuple(one.shape) for one in _floats_in(out) if one is not given and one.ndim
            ]
        try:
            return self.reading(given, valid)
        except (RuntimeError, IndexError) as fault:
            n_samples, n_tokens = valid.shape
            raise ModelFault(
                f"The output of {n_samples} samples of {n_tokens} tokens is {tuple(given.shape)}."
            ) from fault

    def raw(self, x: Tensor, case: Case) -> Any:
        """The model's output on copies of x and of the mask."""
        return self.called(x.clone(), mapped(case.passed, Tensor.clone), case.sizes)

    def called(self, x: Tensor, passed: Any, sizes: str) -> Any:
        """The model's output on these exact tensors.

        Raises:
            ModelFault: it raised.
        """
        try:
            return self.whole(x, passed)
        except Exception as fault:
            raise ModelFault(f"{type(fault).__name__}: {fault} ({sizes})") from fault
        finally:
            self.switches.note()

    def as_bare(self) -> "Subject":
        """The same model, whose maps are those of its softmaxes that meet no values alone."""
        other = copy(self)
        other.bare = True
        return other

    @property
    def trains(self) -> bool:
        """Whether any of the caller's modules was in training mode."""
        ours = (self.whole, self.whole.parts)
        return any(one.training for one in self.whole.modules() if one not in ours)

    @contextmanager
    def in_mode(self, training: bool) -> Iterator[None]:
        """Every module in that mode, and afterwards each as it was."""
        was = {module: module.training for module in self.whole.modules()}
        self.whole.train(training)
        try:
            yield
        finally:
            for module, flag in was.items():
                module.training = flag

    @contextmanager
    def weights(self, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
        """Other weights for a while; afterwards the very tensors of before."""
        tensors = [*self.whole.parameters(), *self.whole.buffers()]
        held = [(one, one.data) for one in tensors if one.is_floating_point()]
        try:
            for one, data in held:
                one.data = change(data)
            yield
        finally:
            for one, data in held:
                one.data = data

    def flattened(
        self, dtype: torch.dtype | None = None, times: float = 1.0
    ) -> AbstractContextManager[None]:
        """Weights so small that all scores are nearly equal, and no weight of attention is 0."""
        return self.weights(lambda weight: weight.to(dtype or weight.dtype) * FLATTER * times)


def first_tensor(out: Any) -> Tensor:
    """The first floating tensor of what a model returned; not its loss, if there is any other.

    Raises:
        ModelFault: there is none.
    """
    if isinstance(out, Tensor):
        return out
    found = _floats_in(out)
    if found:
        return next((one for one in found if one.ndim), found[0])
    raise ModelFault(f"The model returned {type(out).__name__}, in which there is no tensor.")


def _floats_in(out: Any) -> list[Tensor]:
    values = list(out.values()) if isinstance(out, dict) else out
    values = values if isinstance(values, list | tuple) else ()
    return [one for one in values if isinstance(one, Tensor) and one.is_floating_point()]


def rows_of_embedding(whole: nn.Module) -> int:
    """The rows of its first table of tokens, which is how many ids it knows; 0 without one."""
    return next((m.num_embeddings for m in whole.modules() if isinstance(m, nn.Embedding)), 0)
