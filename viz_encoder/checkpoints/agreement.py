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
ADDED = range(4)  # where most vocabularies have padding and other special tokens
# Of the largest value; float32 differs by 1e-6, and half precision is the model's own rounding.
TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.2}
Output = Float[Tensor, "token d_model"]


def compare_runs(theirs: nn.Module, ours: LoadedEncoder, plan: Plan) -> tuple[str, ...]:
    """Run both on a few tokens or one picture, hooks and all; notes on what is not the same.

    Only weights and settings are read, so a hook, a replaced function, a changed attribute or a
    setting that was edited after the model was built would otherwise go unseen.

    Raises:
        CheckpointError: the two outputs differ by more than rounding.
    """
    values, kind = _probe(ours), next(theirs.parameters()).dtype
    expected = _output(theirs, values, plan)
    with torch.no_grad():
        found = ours.model(values.to(ours.device)).output[0].float().cpu()
    notes = []
    if isinstance(expected, str):
        notes.append(f"Its run was not compared with the model's own: {expected}.")
    elif expected.shape != found.shape:
        sizes = f"its output has shape {tuple(expected.shape)}, ours {tuple(found.shape)}"
        notes.append(f"Its run was not compared with the model's own: {sizes}.")
    else:
        _require_equal(type(theirs).__name__, expected, found, TOLERANCE.get(kind, 1e-4))
    if kind not in (torch.float32, torch.float64):
        name = str(kind).removeprefix("torch.")
        notes.append(f"The model in memory is {name}; here it is computed in float32.")
    return tuple(notes)


def _require_equal(name: str, expected: Output, found: Output, tolerance: float) -> None:
    apart = float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-12))
    if not apart <= tolerance:
        raise CheckpointError(
            f"{name} computes something other than its weights and config say: its output differs "
            f"by {apart:.1e} of its largest value. A hook, a replaced part or an edited config can "
            "do that; vz.record(model, …) captures the model as it runs."
        )


def _probe(ours: LoadedEncoder) -> Tensor:
    """Ids that are not padding, or a picture of noise, the same at every call."""
    config = ours.config
    if config.embedding is Embedding.TOKEN:
        few = range(min(config.vocab_size, 8 * N_TOKENS))
        ids = [number for number in few if number not in (ours.padding.id, *ADDED)] or list(few)
        n_tokens = min(N_TOKENS, config.max_positions)
        return torch.tensor([[ids[7 * at % len(ids)] for at in range(n_tokens)]])
    noise = torch.Generator().manual_seed(0)
    height, width = config.image_size
    return torch.randn(1, config.n_channels, height, width, generator=noise)


def _output(model: nn.Module, values: Tensor, plan: Plan) -> Output | str:
    """Its last hidden states; the end of a sentence if they cannot be had."""
    weight = next(model.parameters())
    name = "pixel_values" if values.is_floating_point() else "input_ids"
    given = values.to(weight.device, weight.dtype if values.is_floating_point() else None)
    try:
        with _evaluated(model), torch.no_grad():
            states = plan.family.run(model, {name: given})
    except Exception as fault:  # code of another package, on a model of any shape
        return f"it could not be run ({str(fault).partition(chr(10))[0][:120].rstrip('.')})"
    return states[0].float().cpu()


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
