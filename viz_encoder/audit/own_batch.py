"""audit_batch: a batch of one's own, as it comes out of a data loader, against what is meant."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from viz_encoder.arguments import AS_IT_IS, public
from viz_encoder.audit.arguments import AuditScope, require_intents
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.calling import require_one_stack, with_batch
from viz_encoder.audit.checks import OF_OWN_BATCH
from viz_encoder.audit.measure.flex_masks import tensors_in
from viz_encoder.audit.measure.intents import read_intent, require_samples
from viz_encoder.audit.measure.setting import Case, ModelFault, Setting, called
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.report import MaskReport
from viz_encoder.audit.verdict import ask_all, report_of
from viz_encoder.errors import InputError
from viz_encoder.trace.callers_state import random_states_kept

BatchIntent = Callable[[Any], Tensor]
BatchIntents = BatchIntent | Sequence[BatchIntent]


@public(fault=InputError)
def audit_batch(
    model: nn.Module | Callable[..., Any],
    batch: Any,
    intent: Annotated[BatchIntents, AS_IT_IS],  # see require_intents
    *,
    pad_id: int | None = None,
    module: nn.Module | None = None,
    may_leave_out: bool = False,
) -> MaskReport:
    """Whether the model looks where it may on this very batch, in its own mode.

    In training mode it runs with gradients on, as in its loop. Nothing of it is changed.

    The model runs five times: twice for its output and to see whether it changes what it is given,
    for its maps, and twice to see whether tokens stand in another order inside. It runs a few more
    times to find the cause of a fault, or if attention is called one sample at a time; with
    gradients, if it gives one vector a sample, to see whether each token is read.

    It sees what made-up batches cannot have: real tokens with the id of the padding, texts that
    were cut, samples in order of their length. What needs other batches (gradients, padding, other
    lengths) is not tried; `audit_mask` tries it.

    Args:
        model: called as model(**batch) if the batch is a mapping, as model(*batch) if it is a tuple
            of what forward takes, or else as model(batch).
        batch: what your data loader gives.
        intent: intent(batch) → Bool "batch query key", True = may attend, or a BlockMask; a list
            of them, one per layer, if layers differ.
        pad_id: the id of the padding; then real tokens that have it are counted.
        module: the nn.Module to watch, if `model` does not lead to it.
        may_leave_out: attention may leave out what the intent allows (see AuditScope).

    Raises:
        InputError: intent(batch) is no Bool "batch query key", or forward does not take the batch.
    """
    start = time.perf_counter()
    case = case_of(intent, batch)
    if module is None and len(case.allowed) == 1:
        require_one_stack(model, "audit_batch")
    call = with_batch(model, batch)
    if module is None and isinstance(model, nn.Module):
        module = model
    subject = Subject(call.run, module)
    setting = Setting.of_one(case, pad_id)
    context = AuditContext(subject, setting, AuditScope(may_leave_out=may_leave_out))
    with random_states_kept([subject.device]), subject.state.put_back_after():
        unlike = _as_its_loop_runs_it(context)
        if call.told:
            context.require_runs(call.told, call.instead)
        checks = ask_all(context, OF_OWN_BATCH)
    notes = (
        *((call.told,) if call.told else ()),
        *unlike,
        "Gradients, padding, other lengths and other batches: this was one batch. "
        "audit_mask makes such batches.",
        "Whether the intent itself is what you want.",
    )
    return report_of(context, checks, notes, time.perf_counter() - start)


def _as_its_loop_runs_it(context: AuditContext) -> tuple[str, ...]:
    """Run with gradients on in training mode; if that raises, without them, with a note."""
    subject = context.subject
    subject.grad = subject.trains
    if not subject.grad:
        return ()
    with suppress(ModelFault):
        _ = context.out
        return ()
    with suppress(ModelFault):
        subject.run(context.base, grad=False)
        subject.grad = False
        return (f"With gradients on, in which it trains: the model raised {context.grad_fault}.",)
    return ()


def case_of(intent: BatchIntents, batch: Any) -> Case:
    """The batch and what is meant; a token is real if any query is meant to attend to it.

    Raises:
        InputError: intent(batch) is no Bool "batch query key".
    """
    allowed = tuple(
        read_intent(called(one, "intent(batch)", batch), "intent(batch)")
        for one in require_intents(intent, "batch")
    )
    require_samples(allowed, tuple(one for _, one in tensors_in(batch)))
    valid = torch.stack([one.any(dim=1) for one in allowed]).any(dim=0)
    return Case(valid.long(), valid, allowed, batch, own=True)
