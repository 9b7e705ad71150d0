"""capture: run an encoder once on a text or a picture and keep what each layer ran on."""

from pathlib import Path
from typing import Any, overload

import torch
from PIL.Image import Image
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs
from viz_encoder.model import EncoderOutput, LayerRecord
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.trace import Trace

One = str | tuple[str, str] | Image | Path | Tensor


@overload
def capture(encoder: LoadedEncoder, source: One, *, mask: Tensor | None = None) -> Trace: ...
@overload
def capture(
    encoder: LoadedEncoder, source: list[Any] | Inputs, *, mask: Tensor | None = None
) -> list[Trace]: ...
def capture(
    encoder: LoadedEncoder, source: One | list[Any] | Inputs, *, mask: Tensor | None = None
) -> Trace | list[Trace]:
    """Run the encoder on one input, or on a list of inputs padded into one batch.

    Args:
        encoder: what `viz_encoder.load` returned.
        source: a text, a (text A, text B) pair, a picture (PIL image or path), a tensor in the
            model's own form, or a list of these.
        mask: a custom mask, True = may attend: "query key", "batch query key" or
            "batch head query key"; it is combined (&) with padding and the model's own masks.

    Returns:
        One Trace, or a list of them for a list; a trace from a padded batch keeps its padding.

    Raises:
        InputError: a source that this encoder cannot read.
    """
    inputs = source if isinstance(source, Inputs) else encoder.read(source)
    result = run(encoder, inputs, mask)
    origin = _origin(encoder, result)
    traces = [_sample_trace(result, inputs, index, origin) for index in range(len(inputs.samples))]
    return traces if isinstance(source, list | Inputs) else traces[0]


def run(encoder: LoadedEncoder, inputs: Inputs, mask: Tensor | None = None) -> EncoderOutput:
    """One captured forward pass, without dropout and without gradients."""
    model, device = encoder.model, encoder.device
    was_training = model.training
    if was_training:  # walking through all modules takes longer than a short run's capture
        model.eval()
    values = inputs.values.to(device)
    if values.is_floating_point():
        values = values.to(encoder.dtype)
    try:
        with torch.inference_mode():
            output: EncoderOutput = model(
                values,
                inputs.valid.to(device) if inputs.padded else None,
                inputs.segments.to(device) if inputs.segments is not None else None,
                mask.to(device) if mask is not None else None,
                capture=True,
            )
    except torch.OutOfMemoryError as fault:
        raise InputError(
            f"{inputs.values.shape[-1]:,} tokens do not fit into the memory of {device}; "
            "shorten the input or load the model with device='cpu'."
        ) from fault
    finally:
        if was_training:
            model.train()
    return output


def _sample_trace(result: EncoderOutput, inputs: Inputs, index: int, origin: Origin) -> Trace:
    return Trace(
        layers=tuple(
            _layer_trace(record, index, f"layers.{number}.attn")
            for number, record in enumerate(result.records)
        ),
        hidden_states=tuple(state[index] for state in result.hidden),
        output=result.output[index],
        valid=inputs.valid[index],
        sample=inputs.samples[index],
        origin=origin,
        notes=inputs.samples[index].notes,
    )


def _layer_trace(record: LayerRecord, index: int, name: str) -> LayerTrace:
    mask = record.mask
    if mask is not None:
        mask = mask[index] if mask.shape[0] > 1 else mask[0]
    return LayerTrace(
        q=record.q[index],
        k=record.k[index],
        v=record.v[index],
        scale=record.scale,
        mask=mask,
        signature=record.signature[index],
        name=name,
        relative=record.relative,
    )


def _origin(encoder: LoadedEncoder, result: EncoderOutput) -> Origin:
    first = result.records[0]
    return Origin(
        model=encoder.card.name,
        device=str(encoder.device),
        dtype=str(encoder.dtype).removeprefix("torch."),
        kernel=kernel_name(first.q, first.k, first.v, first.mask),
        revision=encoder.card.revision,
    )


def kernel_name(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, is_causal: bool = False
) -> str:
    """The attention kernel that torch chooses for these tensors; "unknown" where it won't tell."""
    try:
        chosen = torch._fused_sdp_choice(q, k, v, attn_mask=mask, is_causal=is_causal)
    except (AttributeError, RuntimeError, TypeError):
        return "unknown"
    names = {int(b.value): name for name, b in torch.nn.attention.SDPBackend.__members__.items()}
    return names.get(int(chosen), "unknown").removesuffix("_ATTENTION").lower()
