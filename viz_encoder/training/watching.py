"""watch: every so many steps, look at the batch that a training loop runs, and write it down."""

import inspect
import re
import warnings
from collections.abc import Callable, Collection
from contextlib import ExitStack
from types import TracebackType
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from viz_encoder.arguments import AS_IT_IS, Count, public
from viz_encoder.audit.arguments import require_intents
from viz_encoder.audit.measure.flex_masks import mapped
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.own_batch import BatchIntents, case_of
from viz_encoder.audit.report import Check, Verdict
from viz_encoder.errors import InputError, VizEncoderError
from viz_encoder.trace.callers_state import detached_from_caller
from viz_encoder.trace.intercept import listening
from viz_encoder.trace.left_out import is_compiled
from viz_encoder.training.beside import BatchRecording, Hook, around, nothing, undisturbed
from viz_encoder.training.look import Look, look_at
from viz_encoder.training.verdict import (
    KeptVersions,
    checks_of,
    in_place,
    meant_in,
    side_of,
    switched_side,
    versions_of,
)
from viz_encoder.training.writers import writer_of

ADVICE = re.compile(r"recording\.trace\((?=within=r?'[^']*'\))")
# Outside of training, torch runs these as one kernel only where no torch function mode is on.
FUSED = (nn.MultiheadAttention, nn.TransformerEncoder, nn.TransformerEncoderLayer)


@public(fault=InputError)
def watch(
    model: nn.Module | None = None,
    every: Count = 200,
    *,
    intent: Annotated[BatchIntents | None, AS_IT_IS] = None,  # see require_intents
    log: Any = "watch.csv",
    pad_id: int | None = None,
    special_ids: Collection[int] = (),
    samples: Count = 4,
    within: str = "",
    may_leave_out: bool = False,
) -> "Watch":
    """Look at a batch of a training loop every so many calls, and write heads and leaks to `log`.

    Calls of `model` with gradients on are counted, so evaluation is not; the first is looked at.
    With transformers: `Trainer(…, callbacks=[vz.watch(intent=…)])`; steps are the optimizer's. What
    the model computes stays bit for bit as it is. A compiled model cannot be seen, so the original
    is run once more beside it, without gradients; random states and buffers are then put back.

    A look multiplies the time of a training step of 4 layers of d_model 128 by 1.5 (8 samples of
    32 tokens), 1.2 (16 of 64) or 1.06 (32 of 128; medians of pairs of steps, one core); calls in
    between are only counted. A call that has to run beside costs one more forward pass.

    Not looked at: calls between two looks and calls without gradients; samples beyond `samples`, in
    statistics and atlas; cross-attention; other kernels (flash-attn, xformers) and code that is
    compiled by a module around the model. A look without intent judges no mask.

    Args:
        model: the module that the loop calls, torch.compile'd or not; with a Trainer, leave it out.
        every: how many calls (or steps of a Trainer) there are between looks.
        intent: intent(batch) → Bool "batch query key", True = may attend; a list of them, one per
            layer, if layers differ. batch is what the model is called with: its keywords as a dict
            (several arguments by their names), or its one argument. Without it nothing is judged.
        log: the path of a CSV file to append to; a TensorBoard SummaryWriter; a wandb run; or
            a function of a `viz_encoder.training.Look`.
        pad_id: the id of the padding; then real tokens that have it are counted.
        special_ids: ids of special tokens, for the statistic "special".
        samples: how many samples of a batch, spread evenly, statistics are means of; leaks are of
            all of them.
        within: only this module, or those whose names fit this pattern, if a model has several
            stacks; see `Recording.trace`.
        may_leave_out: attention may leave out what the intent allows (see AuditScope).

    Raises:
        InputError: an argument is not what it must be, or, at the first look, what intent(batch)
            gives.
    """
    if intent is not None:
        require_intents(intent)
    write, special = writer_of(log), frozenset(special_ids)
    started = Watch(every, intent, write, pad_id, special, samples, within, may_leave_out)
    if model is not None:
        started.start(model)
    return started


class Watch:
    """A watched training; close() ends it, and so does the end of a `with` block.

    It is a TrainerCallback by its methods alone, for transformers is no dependency.

    Attributes:
        last: the last Look; None before the first.
        found: for each check that failed or warned, by its name, the first Look in which it did.
    """

    def __init__(
        self,
        every: int,
        intent: BatchIntents | None,
        write: Callable[[Look], object],
        pad_id: int | None,
        special_ids: Collection[int],
        samples: int,
        within: str,
        may_leave_out: bool = False,
    ) -> None:
        self.last: Look | None = None
        self.found: dict[str, Look] = {}
        self.n_calls = 0
        self._every, self._intent, self._write = every, intent, write
        self._pad_id, self._special_ids = pad_id, special_ids
        self._samples, self._within, self._may_leave_out = samples, within, may_leave_out
        self._module: nn.Module | None = None
        self._installed = ExitStack()
        self._open: tuple[ExitStack, BatchRecording, Any, Case | None, KeptVersions] | None = None
        self._side = ""  # where padding stood when there first was any
        self._expected: int | None = None  # the step of a Trainer whose first batch comes next
        self._has_trainer = False
        self._warned: set[str] = set()

    def start(self, module: nn.Module) -> None:
        """Begin to watch this module."""
        self._remove()
        self._module, self.n_calls = module, 0
        if module._compiled_call_impl is not None:  # by module.compile(): hooks are compiled, too
            call = module._compiled_call_impl
            self._installed.callback(setattr, module, "_compiled_call_impl", call)
            module._compiled_call_impl = around(self._before, module, call)
            return
        before = module.register_forward_pre_hook(Hook(self._before), with_kwargs=True)
        after = module.register_forward_hook(Hook(self._after), always_call=True)
        self._installed.callback(before.remove)
        self._installed.callback(after.remove)

    def close(self) -> None:
        """Stop watching; warns if the module was never seen to be called."""
        watched = self._module is not None
        self._remove()
        if watched and not self.n_calls:
            self._warn(
                "calls",
                "vz.watch has seen no call of the model with gradients. If a compiled module "
                "calls it, give that module to vz.watch.",
            )

    def _remove(self) -> None:
        self._leave_off()
        self._installed.close()
        self._module = None

    def __enter__(self) -> "Watch":
        """The watch itself, for `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Stop watching; what the loop raised goes on."""
        if kind is None:
            self.close()
        else:
            self._remove()

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The model is known from here on."""
        self.start(given["model"])

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Steps are the optimizer's; the first of their batches comes next."""
        step, self._has_trainer = state.global_step, True
        self._expected = step if step % self._every == 0 else None

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Close the writers."""
        self.close()

    def __getattr__(self, name: str) -> Any:
        """Any other event: nothing to do."""
        if name.startswith("on_"):
            return nothing
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _due(self) -> int | None:
        """The step of the call that begins, if it is to be looked at."""
        number, self.n_calls = self.n_calls, self.n_calls + 1
        if self._has_trainer:
            step, self._expected = self._expected, None
            return step
        return number if number % self._every == 0 else None

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if module is not self._module or not torch.is_grad_enabled():
            return
        self._leave_off()  # after an interrupted call
        step = self._due()
        if step is None:
            return
        try:
            self._begin(step, module, args, kwargs)
        except InputError as fault:
            if self.last is None:  # the arguments of watch() are wrong: better now than never
                raise
            self._missed(step, fault)
        except Exception as fault:
            self._missed(step, fault)

    def _begin(
        self, step: int, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        batch = _batch(module, args, kwargs)
        case = None
        if self._intent is not None:
            with detached_from_caller():
                case = case_of(self._intent, batch)
        meant = () if case is None else meant_in(case)
        inner = getattr(module, "_orig_mod", module)
        recording = BatchRecording(inner, meant, self._samples, self._within)
        if _may_be_fused(module) or is_compiled(module.modules()):
            self._run_beside(inner, recording, args, kwargs)
            self._finish(step, recording, batch, case, {})  # the loop's own call comes later
            return
        opened = ExitStack()
        opened.enter_context(listening(recording))
        recording.enter(module, args)  # it started before anyone listened
        self._open = (opened, recording, batch, case, versions_of(batch))
        self._step = step

    def _run_beside(
        self,
        inner: nn.Module,
        recording: BatchRecording,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Run once more, uncounted, if the run itself cannot be seen."""
        module, self._module = self._module, None
        try:
            with undisturbed(inner), listening(recording):
                inner(*mapped(args, Tensor.clone), **mapped(kwargs, Tensor.clone))
        finally:
            self._module = module

    def _after(self, module: nn.Module, args: tuple[Any, ...], out: Any) -> None:
        if self._open is None or module is not self._module:
            return
        opened, recording, batch, case, versions = self._open
        self._open = None
        opened.close()
        if out is not None:  # did not fail
            self._finish(self._step, recording, batch, case, versions)

    def _leave_off(self) -> None:
        if self._open is not None:
            self._open[0].close()
            self._open = None

    def _finish(
        self,
        step: int,
        recording: BatchRecording,
        batch: Any,
        case: Case | None,
        versions: KeptVersions,
    ) -> None:
        try:
            with detached_from_caller():
                checks = () if case is None else self._checks(case, recording)
                checks = in_place(checks, versions)
                checks += switched_side(side := side_of(case), self._side)
                self._side = self._side or side
                look = look_at(step, recording, checks, batch, self._special_ids, self._within)
            self.last = look
            self._write(look)
        except Exception as fault:
            self._missed(step, fault)
            return
        for text in look.not_seen:
            self._warn(text, f"vz.watch, step {step}: {text}")
        for check, text in zip(look.checks, look.sentences, strict=True):
            if check.verdict is not Verdict.INFO and check.name not in self.found:
                self.found[check.name] = look
                self._warn(check.name, f"vz.watch, step {step}: {text}")

    def _checks(self, case: Case, recording: BatchRecording) -> tuple[Check, ...]:
        leave_out = self._may_leave_out
        return checks_of(case, recording.leaks, self._pad_id, may_leave_out=leave_out)

    def _missed(self, step: int, fault: Exception) -> None:
        """Say why nothing was seen or written; the loop goes on."""
        kind = "" if isinstance(fault, VizEncoderError) else f"{type(fault).__name__}: "
        why = ADVICE.sub("vz.watch(", str(fault))
        self._warn(f"{kind}{why}", f"vz.watch missed step {step}: {kind}{why}")

    def _warn(self, what: str, text: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(text, stacklevel=2)


def _may_be_fused(module: nn.Module) -> bool:
    """Whether the module itself may run as one kernel, which a look at it would prevent."""
    parts = (part for part in module.modules() if isinstance(part, FUSED))
    return isinstance(module, FUSED) and not all(part.training for part in parts)


def _batch(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The model's arguments, in the form `intent` takes."""
    if not args:
        return kwargs
    if len(args) == 1 and not kwargs:
        return args[0]
    inner = getattr(module, "_orig_mod", module)
    if isinstance(inner, nn.parallel.DistributedDataParallel):
        inner = inner.module
    return dict(inspect.signature(inner.forward).bind_partial(*args).arguments) | kwargs
