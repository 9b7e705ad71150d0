"""Whether a model in memory computes what its weights and settings say: one short run of both."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.checkpoints.loaded import LoadedEncoder
from viz_encoder.checkpoints.plan import Plan
from viz_encoder.config import Embedding
from viz_encoder.errors import CheckpointError

N_TOKENS = 8
# Of the largest value; float32 differs by 1e-6, and half precision is the model's own rounding.
TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.2}
Output = Float[Tensor, "token d_model"]


def compare_runs(theirs: nn.Module, ours: LoadedEncoder, plan: Plan) -> str:
    """Run both on a few tokens or one picture, hooks and all; the reason where that cannot be done.

    Only weights and settings are read, so a hook, a replaced function, a changed attribute or a
    setting that was edited after the model was built would otherwise go unseen.

    Raises:
        CheckpointError: the two outputs differ by more than rounding.
    """
    values = _probe(ours)
    expected = _output(theirs, values, plan)
    if isinstance(expected, str):
        return expected
    with torch.no_grad():
        found = ours.model(values.to(ours.device)).output[0].float().cpu()
    if expected.shape != found.shape:
        return f"its output has shape {tuple(expected.shape)}, ours {tuple(found.shape)}"
    apart = float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-12))
    kind = next(theirs.parameters()).dtype
    if not apart <= TOLERANCE.get(kind, 1e-4):
        raise CheckpointError(
            f"{type(theirs).__name__} computes something other than its weights and config say: "
            f"its output differs by {apart:.1e} of its largest value. A hook, a replaced part or "
            "an edited config can do that; vz.record(model, …) captures the model as it runs."
        )
    return ""


def _probe(ours: LoadedEncoder) -> Tensor:
    """Ids that are not padding, or a picture of noise, the same at every call."""
    config = ours.config
    if config.embedding is Embedding.TOKEN:
        usual = {ours.padding.id, 0, 1, 2, 3}
        free = [number for number in range(config.vocab_size) if number not in usual]
        n_tokens = min(N_TOKENS, config.max_positions)
        ids = free or list(range(config.vocab_size))
        return torch.tensor([[ids[7 * at % len(ids)] for at in range(n_tokens)]])
    noise = torch.Generator().manual_seed(0)
    height, width = config.image_size
    return torch.randn(1, config.n_channels, height, width, generator=noise)


def _output(model: nn.Module, values: Tensor, plan: Plan) -> Output | str:
    """Its last hidden states; a sentence's end where they cannot be had."""
    if plan.file.get("model_type") == "vit_mae":
        return "it hides patches at random"
    inner = _encoder_of(model, plan)
    weight = next(inner.parameters())
    name = "pixel_values" if values.is_floating_point() else "input_ids"
    given = values.to(weight.device, weight.dtype if values.is_floating_point() else None)
    try:
        with _evaluated(model), torch.no_grad():
            states = inner(**{name: given}).last_hidden_state
            if plan.family.model_types[0].startswith("clip_vision"):  # ours has it for all tokens
                states = inner.get_submodule("post_layernorm")(states)
    except Exception as fault:  # code of another package, on a model of any shape
        return f"it could not be run ({str(fault).partition(chr(10))[0][:120].rstrip('.')})"
    return states[0].float().cpu()


def _encoder_of(model: nn.Module, plan: Plan) -> nn.Module:
    """The part that is loaded: one half of two, an encoder, or what heads stand on."""
    half = plan.family.part_of[1] if plan.family.part_of else plan.family.model_types[0]
    for side in ("text", "vision"):
        if side in half and isinstance(getattr(model, f"{side}_model", None), nn.Module):
            return getattr(model, f"{side}_model")
    if "t5" in plan.family.model_types[0]:
        encoder: nn.Module = model.get_encoder()  # type: ignore[operator]
        return encoder
    base = getattr(model, "base_model", model) if "For" in type(model).__name__ else model
    return base if isinstance(base, nn.Module) else model


@contextmanager
def _evaluated(model: nn.Module) -> Iterator[None]:
    """Without dropout, each module's mode afterwards as it was."""
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
