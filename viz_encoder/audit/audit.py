"""audit_mask: put a model's masking to the test, from outside, and say what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.report import MaskReport, assert_ok

Model = Callable[[Tensor, Any], Any]
Intent = Callable[[Tensor], Tensor]


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
    documents: bool = False,
    positions: str = "both",
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
        documents: intent packs several documents in a row; leaks between them are then named so.
        positions: the padding to audit: "right", "left" or "both".
        inputs: inputs(seed, batch, length) → what the model takes in place of x.
        vocab_size: the model takes token ids below it in place of x.
        pad_id: the id at padded positions.
        dtype: what to run in; the module's own, or float32.
        module: the nn.Module to watch and to switch to eval, where `model` does not lead to it.
        seed: of the inputs.

    Raises:
        InputError: the arguments do not fit one another.
    """
    raise NotImplementedError


def assert_mask(model: Model | nn.Module, intent: Any, *args: Any, **options: Any) -> MaskReport:
    """The report of `audit_mask`, for a test.

    Raises:
        MaskError: the verdict is FAIL or ERROR; an AssertionError whose text is the report.
    """
    report = audit_mask(model, intent, *args, **options)
    assert_ok(report)
    return report
