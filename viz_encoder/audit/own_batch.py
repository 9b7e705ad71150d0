"""audit_batch: a batch of one's own, as it comes out of a data loader, against what is meant."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from viz_encoder.arguments import AS_IT_IS, public
from viz_encoder.audit.arguments import AuditScope, require_intents
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.batch_facts import ids_of_padding, lengths_of
from viz_encoder.audit.calling import require_one_stack, with_batch
from viz_encoder.audit.checks import in_place
from viz_encoder.audit.checks import maps as maps_check
from viz_encoder.audit.diagnose.right_on import unlike_itself
from viz_encoder.audit.faults import weights
from viz_encoder.audit.faults.row_sums import with_sinks
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.flex_masks import mapped, tensors_in
from viz_encoder.audit.measure.intents import read_intent, require_samples
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.reach import pattern_in
from viz_encoder.audit.measure.setting import Case, Intent, ModelFault, RowsLost, Setting, called
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.missing_links import find_unread
from viz_encoder.audit.question import Evidence, Question, explained
from viz_encoder.audit.report import Check, Learned, MaskReport, fails, passes, raised, untested
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

    The model runs six times: twice for its output, for its maps, to see whether it changes what it
    is given, and twice to see whether tokens stand in another order inside. It runs a few more
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
    context = AuditContext(subject, _only(case), AuditScope(may_leave_out=may_leave_out))
    context.base = case
    with random_states_kept([subject.device]), subject.state.put_back_after():
        unlike = _as_its_loop_runs_it(context)
        if call.told:
            context.require_runs(call.told, call.instead)
        checks = ask_all(context, _questions(pad_id))
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


def _only(case: Case) -> Setting:
    """A setting that makes no other case than this one."""

    def intent_of(number: int) -> Intent:
        def intent(valid: Tensor) -> Tensor:
            if valid.shape != case.valid.shape:
                raise ModelFault("there is only this batch")
            allowed = case.allowed[number]
            return pattern_in(allowed, case.valid) if bool(valid.all()) else allowed

        return intent

    intents = tuple(intent_of(number) for number in range(len(case.allowed)))
    return Setting(
        intents, lambda valid: case.passed, lambda *sizes: case.x, given=case.valid, fixed=True
    )


def _questions(pad_id: int | None) -> tuple[Question, ...]:
    def ids(context: AuditContext) -> Check:
        return ids_of_padding(context.base, pad_id)

    def lengths(context: AuditContext) -> Check:
        return lengths_of(context.base)

    return explained(
        (
            Question("runs", "Gives numbers", _runs, Evidence.CALL),
            in_place.in_place,
            Question("maps", "Attention maps", _maps, Evidence.WEIGHTS, ("runs",)),
            Question(
                "row_sums",
                "Rows of the maps sum to 1",
                maps_check.ask_one_batch,
                Evidence.WEIGHTS,
                ("runs", "maps"),
            ),
            Question(
                "never_read", "Tokens that are never read", _never_read, after=("runs", "maps")
            ),
            Question("pad_id", "Ids of padding", ids),
            Question("length", "Lengths of the samples", lengths),
        )
    )


def _runs(context: AuditContext) -> Check:
    try:
        out = context.out
    except ModelFault as fault:
        return fails(fault.sentence, learned=Learned("the model does not run"))
    fits = out.shape[:2] == context.base.valid.shape
    if not fits and _is_cut(context, out):
        return raised(RowsLost.of(out, context.base.valid))
    bad = ~out.isfinite().flatten(2).all(dim=-1) if fits and out.ndim > 2 else None
    if bad is not None and bool((bad & context.base.valid).any()):
        sample, query = (int(n) for n in (bad & context.base.valid).nonzero()[0])
        text = f"Output row {query} of sample {sample}, a real token, is NaN or inf."
        return fails(text, sample=sample, query=query)
    again = gap(out, context.second.out, context.base.valid) if fits else None
    if again is not None and not context.subject.trains and again.amount > context.tolerance(out):
        text = (
            f"A second run on this batch differs by {again.amount:.2g} at token {again.query} of "
            f"sample {again.sample}, in eval mode."
        )
        found = fails(text, sample=again.sample, query=again.query)
        return found.because(unlike_itself(context))
    return passes(f"It runs, and gives {tuple(out.shape)}.")


def _is_cut(context: AuditContext, out: Tensor) -> bool:
    """Whether there are as many rows as the longest sample has tokens, in a batch of one, too."""
    case = context.base
    counts = case.valid.sum(dim=1)
    least, sample = (int(one) for one in counts.min(dim=0))
    if out.ndim < 3 or out.shape[:2] != (len(counts), int(counts.max())):
        return False
    own = mapped(
        case.passed, lambda one: one[sample:][:1] if one.shape[:1] == counts.shape else one
    )
    with suppress(ModelFault):
        alone = context.subject.run(replace(case, passed=own))
        return least < int(counts.max()) and alone.shape[1] == least
    return False


def _maps(context: AuditContext) -> Check:
    found = maps_of(context.subject, context.base)
    context.maps = found
    if not found.layers:
        n_tokens = context.base.valid.shape[1]
        other = f" The intent has {n_tokens} tokens; seen were {', '.join(found.kinds_left_out)}."
        return untested(f"No maps could be seen: {found.why_none}{other if found.left_out else ''}")
    if len(context.base.allowed) not in (1, len(found.layers)):
        raise InputError(
            f"{len(context.base.allowed)} intents are given, but {len(found.layers)} attention "
            "layers were seen; give 1, or one per layer."
        )
    fault = weights.find_fault(context, context.base, found)
    heads = sum(layer.shape[1] for layer in found.layers)
    text = f"{heads} heads of {len(found.layers)} layers look where they may, and nowhere else."
    return fault or with_sinks(context, text)


def _never_read(context: AuditContext) -> Check:
    """Of one vector a sample, as of learned queries; where each token has a row, maps tell."""
    if not context.is_pooled or len(context.out) != len(context.base.valid):
        return passes("The output is no vector a sample that tokens could be missing from.")
    if context.scope.may_leave_out:
        return untested("Tokens that are never read: any may be left out (may_leave_out=True).")
    if isinstance(context.gradients, str):
        return untested(f"Tokens that are never read: no gradients: {context.gradients}.")
    return find_unread(context, context.base) or passes(
        "The vector of each sample changes with each token that all may know of."
    )
