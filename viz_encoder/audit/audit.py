"""audit_mask: put a model's masking to the test, from outside, and say what is wrong with it."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.adapters import adapt
from viz_encoder.audit.arguments import (
    require_as_many_as_seen,
    require_dtype,
    require_intents,
    require_lengths,
    require_numbers,
    require_one_a_layer,
    require_short,
    require_side,
)
from viz_encoder.audit.audit_context import AuditContext, Options
from viz_encoder.audit.checks import QUESTIONS
from viz_encoder.audit.measure.setting import (
    FIRST_LENGTH,
    Intent,
    Setting,
    lengths_to_try,
    require_distinct,
)
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.report import MaskReport, assert_ok
from viz_encoder.audit.verdict import ask_all, report_of
from viz_encoder.errors import InputError

Model = Callable[[Tensor, Any], Any]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of a model that is run in ways its author did not foresee."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def audit_mask(
    model: Model | nn.Module,
    intent: Intent | Sequence[Intent],
    make_mask: Callable[[Tensor], Any] | None = None,
    *,
    d_model: int | None = None,
    n_layers: int | None = None,
    valid: Tensor | None = None,
    lengths: Sequence[int] = (),
    window: int | None = None,
    max_positions: int | None = None,
    variants: Mapping[str, Model] | None = None,
    step: Callable[[Tensor, Any], tuple[Tensor, Any]] | None = None,
    pooled: Callable[[Any, Tensor], Tensor] | None = None,
    documents: bool | Callable[[Tensor], Tensor] = False,
    positions: str = "right",
    inputs: Callable[[int, int, int], Tensor] | None = None,
    vocab_size: int | None = None,
    pad_id: int = 0,
    dtype: torch.dtype | None = None,
    module: nn.Module | None = None,
    seed: int = 0,
) -> MaskReport:
    """Whether the model looks where `intent` says it may, and nowhere else: a MaskReport.

    Args:
        model: model(x, passed) → the output, "batch token d" (or "batch d" if it pools); a tensor,
            or a tuple or ModelOutput whose first tensor is taken. Or a module that is known:
            nn.TransformerEncoder, nn.MultiheadAttention, a transformers model, our Encoder.
        intent: intent(valid) → Bool "batch query key", True = may look; a list of them, one a
            layer, where layers differ.
        make_mask: make_mask(valid) → what your code passes; intent(valid) where not given.
        d_model: the width of x, "batch token d_model".
        n_layers: how often the model attends; counted in a recording where not given.
        valid: Bool "batch token" of your own; batch and length must differ.
        lengths: numbers of tokens to audit, the first in full.
        window: the width of a sliding window: lengths below, at and above it are audited too.
        max_positions: the longest input: lengths just below and at it are audited too.
        variants: implementations that must agree with the model on real tokens, by name.
        step: step(x of one token, cache or None) → (output, cache): the model with a KV cache.
        pooled: pooled(output, valid) → "batch d", which padding may not change.
        documents: documents(valid) → whole numbers "batch token", the packed document of each
            token; True takes them from the intent.
        positions: where padding stands: "right" or "left", on which the model is judged, the other
            side being told; or "both", on which it is judged.
        inputs: inputs(seed, batch, length) → what the model takes in place of x.
        vocab_size: the model takes token ids below it in place of x.
        pad_id: the id at padded positions.
        dtype: the dtype it will run in, if that is not the module's own: tried too.
        module: the nn.Module to watch and to switch to eval, where `model` does not lead to it.
        seed: of the inputs.

    Raises:
        InputError: the arguments do not fit one another.
    """
    start = time.perf_counter()
    intents = require_intents(intent)
    require_numbers(
        d_model=d_model,
        n_layers=n_layers,
        window=window,
        max_positions=max_positions,
        vocab_size=vocab_size,
        pad_id=pad_id,
        seed=seed,
    )
    require_lengths(lengths)
    require_dtype(dtype)
    require_side(positions)
    adapted = adapt(model, intent, make_mask)
    require_one_a_layer(intents, n_layers or adapted.n_layers)
    subject = Subject(adapted.model, module or adapted.module)
    setting = _setting(
        intents,
        adapted.make_mask,
        _inputs(
            subject,
            d_model or adapted.d_model,
            inputs,
            vocab_size or (None if d_model else adapted.vocab_size),
            pad_id,
        ),
        seed=seed,
        valid=valid,
        left=positions == "left",
        pad_id=pad_id,
        lengths=lengths,
        longest=max_positions,
    )
    options = Options(
        n_layers=n_layers or adapted.n_layers,
        lengths=lengths_to_try(setting.first, lengths, window, max_positions),
        asked_lengths=bool(lengths),
        max_positions=max_positions,
        variants={**adapted.variants, **(variants or {})},
        step=step,
        pooled=pooled,
        documents=documents,
        positions=positions,
        dtype=dtype,
    )
    require_short("window or max_positions asks for", options.lengths)
    setting.allowed(setting.first_valid())  # a wrong intent is the caller's fault, not the model's
    context = AuditContext(subject, setting, options, was_training=subject.trains)
    with torch.random.fork_rng(devices=[]), subject.in_mode(training=False), quiet():
        require_as_many_as_seen(context)
        checks = ask_all(context, QUESTIONS)
    notes = (*adapted.notes, *_never_tested(setting, options))
    return report_of(context, checks, notes, time.perf_counter() - start)


def assert_mask(model: Model | nn.Module, intent: Any, *args: Any, **options: Any) -> MaskReport:
    """The report of `audit_mask`, for a test.

    Raises:
        MaskError: the verdict is FAIL or ERROR; an AssertionError whose text is the report.
    """
    report = audit_mask(model, intent, *args, **options)
    assert_ok(report)
    return report


def _inputs(
    subject: Subject,
    d_model: int | None,
    inputs: Callable[[int, int, int], Tensor] | None,
    vocab_size: int | None,
    pad_id: int,
) -> Callable[[int, int, int], Tensor]:
    """How x is made: by the caller, as ids, or as random vectors."""
    if inputs is not None:
        return lambda seed, batch, length: inputs(seed, batch, length).to(subject.device)
    if vocab_size is None and d_model is None:
        raise InputError("Say d_model=, the width of x; or vocab_size=; or inputs=.")

    def make(seed: int, batch: int, length: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        if vocab_size is not None:
            ids = torch.randint(0, vocab_size - 1, (batch, length), generator=generator)
            return (ids + (ids >= pad_id)).to(subject.device)
        x = torch.randn(batch, length, d_model or 1, generator=generator)
        return x.to(subject.device, subject.dtype)

    return make


def _setting(
    intents: tuple[Intent, ...],
    make_mask: Callable[[Tensor], Any],
    make_x: Callable[[int, int, int], Tensor],
    *,
    valid: Tensor | None,
    lengths: Sequence[int],
    longest: int | None,
    left: bool,
    seed: int,
    pad_id: int,
) -> Setting:
    first = lengths[0] if lengths else min(FIRST_LENGTH, longest or FIRST_LENGTH)
    given = None if valid is None else require_distinct(valid)
    return Setting(
        intents, make_mask, make_x, seed=seed, given=given, left=left, pad_id=pad_id, first=first
    )


def _never_tested(setting: Setting, options: Options) -> tuple[str, ...]:
    tried = [setting.first_valid().shape, *((len(setting.padding(n)), n) for n in options.lengths)]
    longest, largest = max(n for _, n in tried), max(n for n, _ in tried)
    return (
        f"Batches of more than {largest} samples.",
        f"More than {longest} tokens.",
        "Compiled or distributed models, and kernels that only run on other devices.",
        "Whether the intent itself is what you want.",
    )
