"""capture: runs an encoder on a text or an image and keeps what each layer ran on."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from numbers import Integral
from pathlib import Path
from typing import Any, overload

import torch
from numpy.typing import NDArray
from PIL.Image import Image
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder, as_loaded, names_a_head
from viz_encoder.checkpoints.ready_made import is_ready_made
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.plain_tensor import plain_tensor
from viz_encoder.model import Encoder, EncoderOutput
from viz_encoder.model.attention import HeadEdit
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.model.masks import from_one_means_keep
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.mask_scope import check_mask, note_of
from viz_encoder.trace.run_facts import said_here
from viz_encoder.trace.trace import Trace

One = str | tuple[str, str] | Image | Path
Edits = Mapping[int, HeadEdit] | None
GivenRows = Tensor | NDArray[Any] | Mapping[str, Any]
KERNELS = {
    int(backend.value): name.removesuffix("_ATTENTION").lower()
    for name, backend in torch.nn.attention.SDPBackend.__members__.items()
}
HEAD_SAMPLE = 1024
UNTRAINED = "This encoder is untrained: its weights are random, so its maps show nothing learned."


@overload
def capture(
    encoder: LoadedEncoder | Encoder, source: One, *, mask: CustomMask | None = None
) -> Trace: ...
@overload
def capture(
    encoder: LoadedEncoder | Encoder, source: Inputs, *, mask: CustomMask | None = None
) -> list[Trace]: ...
@overload
def capture(
    encoder: LoadedEncoder | Encoder,
    source: GivenRows | list[Any],
    *,
    mask: CustomMask | None = None,
    valid: Any = None,
    attention_mask: Any = None,
) -> Any: ...
def capture(
    encoder: Any,  # the overloads above give the types; anything else gets a readable error
    source: Any,
    *,
    mask: Any = None,
    valid: Any = None,
    attention_mask: Any = None,
) -> Trace | list[Trace]:
    r"""Run the encoder on one input or on a batch.

    Padding is never attended to, and a note on each trace says what counted as padding. For token
    ids, `valid` or an attention_mask decides, else the model's padding id, if config.json or the
    tokenizer names one. In a text, a typed padding token counts ("a text [PAD]"); at the end it is
    moved behind [SEP], as in a batch. r"\[PAD]" is read as a word.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        source: one input: a text, a (text A, text B) pair, an image (PIL or path), token ids as a
            list of numbers or a tensor (token), pixels (channel, height, width) or vectors (token,
            d_model). Or a batch: a list of these, a tensor or array with a batch axis, the output
            of `encoder.read`, or the output of a transformers tokenizer or image processor, whose
            attention_mask and token_type_ids are used.
        mask: a custom mask, True = may attend: "query key", "batch query key" or "batch head query
            key"; or a dict of them by layer, {3: mask}, or by layer and head, {(3, 5): mask}, which
            leaves all other heads unchanged; a note then says where it was applied. It is combined
            (&) with padding and the model's own masks. To mark real tokens, use `valid` instead.
        valid: for ids, pixels or vectors: bool "batch token", True = a real token.
        attention_mask: the transformers form of `valid`, 1 = a real token, 0 = padding.

    Returns:
        One Trace for one input, or for a tensor, array or tokenizer output with one row. A list of
        traces for several rows, and always for a list (other than of numbers). A trace from a
        padded batch keeps its padding.

    Raises:
        InputError: the encoder cannot read the source, a row is all padding, or this model does not
            support padding.
    """
    encoder = loaded(encoder, "capture")
    if attention_mask is not None:
        valid = _real(attention_mask, valid)
    if not isinstance(source, Inputs):
        inputs = _read(
            encoder, source, valid, "valid" if attention_mask is None else "attention_mask"
        )
    elif valid is None:
        inputs = source
    else:
        raise InputError(
            "These inputs already know their padding; leave out valid= and attention_mask=."
        )
    noted: tuple[str, ...] = ()
    if mask is not None:
        noted = check_mask(mask, inputs, source if is_ready_made(source, encoder.config) else None)
    traces = captured(encoder, inputs, mask)
    noted += note_of(mask, encoder.config.n_layers, encoder.config.n_heads)
    if noted:
        traces = [replace(trace, notes=(*trace.notes, *noted)) for trace in traces]
    return traces if len(traces) > 1 or is_several(source) else traces[0]


def captured(
    encoder: LoadedEncoder, inputs: Inputs, mask: CustomMask | None = None, edits: Edits = None
) -> list[Trace]:
    """Return one trace per row; `edits` replace heads' outputs, by layer."""
    said, put = said_here(), dict[int, Tensor]()
    if said:  # an ablation replaces outputs before W_O, so the weights no longer explain them
        edits = {layer: _keeping(put, layer, edits) for layer in range(encoder.config.n_layers)}
    result = run(encoder, inputs, mask, edits)
    return traces_of(encoder, inputs, result, put)


def traces_of(
    encoder: LoadedEncoder, inputs: Inputs, result: EncoderOutput, put: Mapping[int, Tensor]
) -> list[Trace]:
    """One trace per row of a run; `put` is what W_O was given, by layer, during an ablation."""
    said, origin = said_here(), _origin(encoder, result)
    notes = *(UNTRAINED,) * encoder.card.untrained, *filter(names_a_head, encoder.card.notes)
    notes += tuple(each.note for each in said)
    gone = {head for each in said if each.module is encoder.model for head in each.removed}
    return [
        Trace(
            layers=layers_of(result, at, put),
            hidden_states=tuple(state[at] for state in result.hidden),
            output=result.output[at],
            valid=inputs.valid[at],
            sample=sample,
            origin=origin,
            notes=(*sample.notes, *notes),
            removed=tuple(sorted(gone)),
        )
        for at, sample in enumerate(inputs.samples)
    ]


def _keeping(put: dict[int, Tensor], layer: int, edits: Edits) -> HeadEdit:
    """Wrap a layer's edit, if any, and record what W_O is given after it."""
    edit = (edits or {}).get(layer)

    def keep(mixed: Tensor) -> Tensor:
        put[layer] = mixed if edit is None else edit(mixed)
        return put[layer]

    return keep


def loaded(encoder: object, name: str) -> LoadedEncoder:
    """The encoder, given as such or as a bare model of ours; `name` is the function's.

    Raises:
        InputError: it is another model.
    """
    found = as_loaded(encoder)
    if found is None:
        raise InputError(
            f"{name} takes what vz.load returns, not {type(encoder).__name__}; write "
            f"vz.{name}(vz.load(model), …), or watch any PyTorch model with vz.record(model, …)."
        )
    return found


def _read(encoder: LoadedEncoder, source: Any, valid: Any, named: str) -> Inputs:
    """Convert the source to inputs; errors name the argument that was given."""
    try:
        return encoder.read(source, valid=valid)
    except InputError as fault:
        if named == "valid":
            raise
        raise type(fault)(re.sub(r"\bvalid\b", named, str(fault))) from None


def _real(attention_mask: Any, valid: Any) -> Tensor:
    if valid is not None:
        raise InputError("Mark the real tokens once: with attention_mask= or with valid=.")
    try:
        given = torch.as_tensor(attention_mask)
    except (TypeError, ValueError, RuntimeError) as fault:
        raise InputError(
            "attention_mask must be numbers (batch, token), 1 = a real token, 0 = padding."
        ) from fault
    return from_one_means_keep(plain_tensor(given, "attention_mask"))


def is_several(source: object) -> bool:
    """Whether to return a list even for one row: true for a list, unless of numbers."""
    if isinstance(source, list):
        return not isinstance(source[0], Integral)
    return isinstance(source, Inputs)


def run(
    encoder: LoadedEncoder, inputs: Inputs, mask: CustomMask | None = None, edits: Edits = None
) -> EncoderOutput:
    """Run one captured forward pass, without dropout or gradients."""
    device = encoder.device
    try:
        with at_rest(encoder.model):
            output: EncoderOutput = encoder.model(
                *arguments(encoder, inputs), on_device(mask, device), capture=True, edits=edits
            )
    except torch.OutOfMemoryError as fault:
        raise InputError(
            f"{inputs.values.shape[-1]:,} tokens do not fit into the memory of {device}; "
            "shorten the input or load the model with device='cpu'."
        ) from fault
    return output


@contextmanager
def at_rest(model: Encoder) -> Iterator[None]:
    """Run without dropout or gradients; the model's training mode is restored."""
    was_training = model.training
    if was_training:  # walking all modules takes longer than capturing a short run
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if was_training:
            model.train()


def arguments(
    encoder: LoadedEncoder, inputs: Inputs
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Values, valid (None without padding), and segments, on the weights' device."""
    device, values = encoder.device, inputs.values.to(encoder.device)
    if values.is_floating_point():
        values = values.to(encoder.dtype)
    valid = inputs.valid.to(device) if inputs.padded else None
    return values, valid, None if inputs.segments is None else inputs.segments.to(device)


def on_device(mask: CustomMask | None, device: torch.device) -> CustomMask | None:
    """Move the mask to the weights' device."""
    if mask is None or isinstance(mask, Tensor):
        return mask if mask is None else mask.to(device)
    return {place: one.to(device) for place, one in mask.items()}


def layers_of(
    result: EncoderOutput, index: int, put: Mapping[int, Tensor] | None = None
) -> tuple[LayerTrace, ...]:
    """The layers of one row of a run, as views of what it keeps."""
    return tuple(
        LayerTrace(
            q=record.q[index],
            k=record.k[index],
            v=record.v[index],
            scale=record.scale,
            mask=None if record.mask is None else record.mask[index if len(record.mask) > 1 else 0],
            signature=record.signature[index],
            name=f"layers.{number}.attn",
            relative=record.relative,
            put=put[number][index] if put and number in put else None,
        )
        for number, record in enumerate(result.records)
    )


def _origin(encoder: LoadedEncoder, result: EncoderOutput) -> Origin:
    first = result.records[0]
    return Origin(
        model=encoder.card.name,
        device=str(encoder.device),
        dtype=str(encoder.dtype).removeprefix("torch."),
        kernel=kernel_name(first.q, first.k, first.v, first.mask),
        revision=encoder.card.revision,
        weights="untrained" if encoder.card.untrained else "",
        heads=heads_digest(encoder),
    )


def heads_digest(encoder: LoadedEncoder) -> str:
    """Digest that identifies a model's prediction heads, from a sample of each weight.

    Small weights are read whole, large ones at HEAD_SAMPLE evenly spaced entries: reading a whole
    vocabulary would slow down each capture.
    """
    parts = [p.detach().reshape(-1) for p in encoder.model.heads.parameters()]
    picked = [part[:: max(1, len(part) // HEAD_SAMPLE)] for part in parts]
    if not picked:
        return ""
    return sha256(torch.cat(picked).cpu().double().numpy().tobytes()).hexdigest()[:16]


def kernel_name(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, is_causal: bool = False
) -> str:
    """The attention kernel that torch picks for these tensors; "unknown" if it does not say."""
    try:
        chosen = torch._fused_sdp_choice(q, k, v, attn_mask=mask, is_causal=is_causal)
    except (AttributeError, RuntimeError, TypeError):
        return "unknown"
    return KERNELS.get(int(chosen), "unknown")
