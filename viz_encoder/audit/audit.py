"""audit_mask: put a model's masking to the test, from outside, and say what is wrong with it."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from viz_encoder.arguments import AS_IT_IS, Progress, at_least, at_most, public, said
from viz_encoder.audit.adapters import Adapted, adapt
from viz_encoder.audit.arguments import (
    AuditInputs,
    AuditScope,
    ModelCall,
    require_intents,
    require_one_a_layer,
)
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.calling import name_of
from viz_encoder.audit.checks import QUESTIONS
from viz_encoder.audit.gaps import gaps, require_scope_applies
from viz_encoder.audit.measure.maps import n_calls
from viz_encoder.audit.measure.output_axes import reading_of
from viz_encoder.audit.measure.setting import Intent, ModelFault, Setting, called
from viz_encoder.audit.measure.subject import Subject, rows_of_embedding
from viz_encoder.audit.report import MaskReport, assert_ok
from viz_encoder.audit.verdict import ask_all, report_of
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.shown import listed
from viz_encoder.trace.callers_state import random_states_kept

MAX_WIDTH, MAX_LAYERS = 100_000, 10_000
Audited = Annotated[ModelCall | nn.Module | LoadedEncoder, "callable: model(x, passed)"]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of a model that is run in ways its author did not foresee."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@public(fault=InputError)
def audit_mask(
    model: Audited,
    intent: Annotated[Intent | Sequence[Intent], AS_IT_IS],  # see require_intents
    make_mask: Callable[[Tensor], Any] | Callable[[Tensor, Tensor], Any] | None = None,
    *,
    d_model: Annotated[int, at_least(1), at_most(MAX_WIDTH)] | None = None,
    n_layers: Annotated[int, at_least(1), at_most(MAX_LAYERS)] | None = None,
    inputs: AuditInputs | None = None,
    scope: AuditScope | None = None,
    module: nn.Module | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> MaskReport:
    """Whether the model looks where `intent` says it may, and nowhere else: a MaskReport.

    Args:
        model: model(x, passed) → the output, a tensor, or a tuple or ModelOutput whose first
            tensor is taken (after a loss, which is one number): the axis that is as long as there
            are tokens holds these; without one (labels, queries) it is one row a sample. Or a
            module that is known: nn.TransformerEncoder, nn.MultiheadAttention, a transformers
            model, our Encoder.
        intent: intent(valid) → Bool "batch query key", True = may attend, or a BlockMask or
            mask_mod of flex_attention; a list of them, one per layer, if layers differ. Where the
            model makes its mask of its ids, intent(valid, ids), and so may make_mask.
        make_mask: make_mask(valid) → what your code passes; intent(valid) if not given.
        d_model: the width of x, "batch token d_model".
        n_layers: how often the model attends; counted in a recording if not given.
        inputs: token ids, a padding or inputs of your own in place of x.
        scope: lengths, a dtype, documents, a cache … to try as well.
        module: the nn.Module to watch and to switch to eval, if `model` does not lead to it.
        seed: for the inputs.
        progress: called with the share of the checks that are done; what it raises ends the audit.

    Raises:
        InputError: the arguments do not fit one another.
    """
    start = time.perf_counter()
    intents = require_intents(intent)
    inputs, scope = inputs or AuditInputs(), scope or AuditScope()
    adapted = adapt(model, intent, make_mask)
    asked, n_layers = n_layers, n_layers or adapted.n_layers
    require_one_a_layer(intents, n_layers)
    subject = Subject(adapted.model, adapted.module if module is None else module)
    setting = _setting(subject, adapted, intents, inputs, d_model, seed, scope.first_length)
    setting.require_fit()  # a wrong intent is the caller's fault, not the model's
    if adapted.closes_padding:
        _require_closed_padding(setting, model)
    scope = replace(scope, variants={**adapted.variants, **scope.variants})
    context = AuditContext(subject, setting, scope, n_layers, was_training=subject.trains)
    context.crossed(setting.first_valid())
    kept = random_states_kept([subject.device])
    with kept, subject.in_mode(training=False), subject.state.put_back_after(), quiet():
        if adapted.instead:
            context.require_runs(adapted.notes[0], adapted.instead)
        _read_output(context)
        _require_as_many_as_seen(context, asked)
        if module is not None:
            context.unwatched = _unwatched(context, adapted)
        require_scope_applies(context)
        checks = ask_all(context, QUESTIONS, progress)
        notes = (*adapted.notes, *gaps(context, inputs), *_never_tested(context))
    return report_of(context, checks, notes, time.perf_counter() - start)


def assert_mask(model: Audited, intent: Any, *args: Any, **options: Any) -> MaskReport:
    """The report of `audit_mask`, for a test.

    Raises:
        MaskError: the verdict is FAIL, ERROR or NOT TESTED; an AssertionError whose text is the
            report.
    """
    report = audit_mask(model, intent, *args, **options)
    assert_ok(report)
    return report


def _setting(
    subject: Subject,
    adapted: Adapted,
    intents: tuple[Intent, ...],
    inputs: AuditInputs,
    d_model: int | None,
    seed: int,
    first_length: int,
) -> Setting:
    vocab_size = inputs.vocab_size or (None if d_model else adapted.vocab_size)
    return Setting(
        intents,
        adapted.make_mask,
        _maker(subject, inputs, d_model or adapted.d_model, vocab_size),
        seed=seed,
        given=inputs.valid,
        padding_side=inputs.padding_side,
        pad_id=inputs.pad_id,
        first=first_length,
        edge_ids=_edges(vocab_size, inputs.pad_id) if inputs.make is None else (),
    )


def _edges(vocab_size: int | None, pad_id: int) -> tuple[int, ...]:
    """The first ids and the last, which hand-written masks (ids > 1) take for special ones."""
    edges = dict.fromkeys((0, 1, 2, 3, (vocab_size or 0) - 1))
    return tuple(one for one in edges if 0 <= one < (vocab_size or 0) and one != pad_id)


def _require_closed_padding(setting: Setting, model: Any) -> None:
    """Raise InputError where padding is meant to be seen by a model that is told to mask it."""
    valid = setting.first_valid()
    for allowed in setting.allowed(valid):
        seen = allowed & valid[:, :, None] & ~valid[:, None, :]
        if bool(seen.any()):
            sample, query, key = (int(n) for n in seen.nonzero()[0])
            raise InputError(
                f"intent(valid) lets token {query} of sample {sample} attend to padding (token "
                f"{key}), which {name_of(model)} is told to mask. Write pattern & "
                "valid[:, None, :], or give make_mask=: what your code passes."
            )


def _maker(
    subject: Subject, inputs: AuditInputs, d_model: int | None, vocab_size: int | None
) -> Callable[[int, int, int], Tensor]:
    """Make a function that makes x: the caller's, random ids, or random vectors."""
    own = inputs.make
    if own is not None:
        return lambda *sizes: _made(own, *sizes).to(subject.device)
    if vocab_size is None and d_model is None:
        rows = rows_of_embedding(subject.whole)
        raise InputError(
            "Give d_model=, the width of x; or for token ids "
            f"inputs=viz_encoder.audit.AuditInputs(vocab_size={rows or '…'}), or (make=…)."
        )

    def make(seed: int, batch: int, length: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        if vocab_size is not None:
            ids = torch.randint(0, vocab_size - 1, (batch, length), generator=generator)
            return (ids + (ids >= inputs.pad_id)).to(subject.device)
        x = torch.randn(batch, length, d_model or 1, generator=generator)
        return x.to(subject.device, subject.dtype)

    return make


def _made(own: Callable[[int, int, int], Tensor], *sizes: int) -> Tensor:
    found = called(own, "make(seed, batch, length)", *sizes)
    if not isinstance(found, Tensor):
        raise InputError(f"make(seed, batch, length) gave {said(found)}; it must give a tensor.")
    return found


def _require_as_many_as_seen(context: AuditContext, asked: int | None) -> None:
    """Raise InputError where a recording shows another number of layers than there are intents.

    Or more than were asked for: what lies within reach would be called a leak.
    """
    n_intents = len(context.setting.intents)
    with suppress(ModelFault):
        seen = len(context.maps.layers)
        if asked is not None and seen > asked:
            raise InputError(
                f"n_layers is {asked}, but {seen} attention layers were seen; leave n_layers out, "
                f"or give at least {seen}."
            )
        if seen and n_intents not in (1, seen) and context.given_layers is None:
            raise InputError(
                f"{n_intents} intents are given, but {seen} attention layers were seen; give "
                f"1, or one per layer, or say n_layers={n_intents} if not every layer can be "
                "seen."
            )


def _unwatched(context: AuditContext, adapted: Adapted) -> int:
    """Calls of attention outside the module to watch, in modules that the model leads to."""
    subject, every = context.subject, Subject(adapted.model)
    watched = {*subject.whole.modules()}
    if not any(part not in watched for part in every.whole.parts):
        return 0
    with suppress(ModelFault), every.in_mode(training=False), every.state.put_back_after():
        every.reading = subject.reading
        whole = replace(context, subject=every)
        return max(0, n_calls(whole.maps) - n_calls(context.maps))
    return 0


def _read_output(context: AuditContext) -> None:
    """Find which axis of the output is its tokens; a model that does not run says so later."""
    subject = context.subject
    with suppress(ModelFault):
        valid = context.base.valid
        made, other = (context.out, valid), _at_another_length(context)
        try:
            subject.reading = reading_of(made, other)
        except InputError:  # it may lose tokens where they are padding
            whole = subject.run(context.full)
            subject.reading = reading_of((whole, context.full.valid), other)
        context.out = subject.read(context.out, valid)


def _at_another_length(context: AuditContext) -> tuple[Tensor, Tensor] | None:
    """An output without padding at another length, if any runs; what it keeps is as before."""
    (n_samples, n_tokens), setting = context.base.valid.shape, context.setting
    for length in (n_tokens + 4, 2 * n_tokens, *context.other_lengths):
        with suppress(ModelFault, InputError):
            case = setting.case(torch.ones(n_samples, length, dtype=torch.bool))
            if case.x.shape != context.base.x.shape:
                return context.subject.run(case).detach(), case.valid
    return None


def _lengths(context: AuditContext) -> set[int]:
    """The lengths that any check has tried besides the first, on both sides of padding."""
    sides = [context.answers] + ([] if context.other_side is None else [context.other_side.answers])
    return {length for side in sides for one in side.values() for length in one.learned.lengths}


def _never_tested(context: AuditContext) -> tuple[str, ...]:
    setting = context.setting
    tried = [
        setting.first_valid().shape,
        *((len(setting.padding(length)), length) for length in _lengths(context)),
    ]
    largest = max(n for n, _ in tried)
    lengths = listed([str(n) for n in sorted({n for _, n in tried})])
    return (
        f"Batches of more than {largest} samples.",
        f"Other numbers of tokens than {lengths}.",
        "Compiled or distributed models, and kernels that only run on other devices.",
        "Whether the intent itself is what you want.",
    )
