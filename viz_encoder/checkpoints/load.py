"""load: from a built-in name, a folder or a hub id to an encoder with the reader of its inputs."""

from dataclasses import replace
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be a stranger's, of any length

import torch
from torch import Tensor

from viz_encoder.checkpoints.loaded import LoadedEncoder
from viz_encoder.checkpoints.plan import Plan, plan
from viz_encoder.checkpoints.readers import make_reader
from viz_encoder.checkpoints.rename import require_match
from viz_encoder.checkpoints.surgery import fold_scales, share_layers, tie
from viz_encoder.checkpoints.weights import Tell, read_weights, silent
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError, ConfigError, KeyMismatch
from viz_encoder.model import Encoder

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def load(
    name: str | Path,
    *,
    device: str = "auto",
    dtype: torch.dtype | None = None,
    part: str = "",
    revision: str = "",
) -> LoadedEncoder:
    """Load a built-in model by name, a folder with its config.json and weights, or a hub id.

    Args:
        name: a built-in name ("all-MiniLM-L6-v2", "scene"), the path of a folder, or the id of a
            model on the Hugging Face hub ("organization/name"), which is then downloaded.
        device: "auto" (CUDA, else MPS, else CPU) or any torch device.
        dtype: the type to compute in; float32 where not given.
        part: "text" or "vision", of a model that has both (CLIP, SigLIP); "vision" if not given.
        revision: branch, tag or commit on the hub; the newest of the main branch if not given.

    Raises:
        CheckpointError: no such model, or files that cannot be trusted or do not fit together.
    """
    where = choose_device(device)
    if dtype is not None and dtype not in DTYPES:
        raise CheckpointError(
            f"dtype is {shown(dtype)}; it must be torch.float64, float32, bfloat16 or float16."
        )
    return fill(plan(name, part=part, revision=revision)).to(where, dtype or torch.float32)


def fill(plan: Plan, tell: Tell = silent) -> LoadedEncoder:
    """Build without memory on torch's meta device, check every key, then put the tensors in.

    Args:
        plan: what `plan` returned.
        tell: called with the share that is read, 0 … 1; what it raises ends the loading.
    """
    config, family = plan.config, plan.family
    model = without_weights(config)
    tensors = _ours(plan, read_weights(plan.folder, plan.needed, tell))
    require_match(tensors, model.state_dict())
    model.load_state_dict(tensors, strict=True, assign=True)
    held = {tensor.data_ptr(): tensor.numel() for tensor in tensors.values()}
    card = replace(plan.card, n_parameters=sum(held.values()))
    return LoadedEncoder(model.eval(), make_reader(plan.folder, config, plan.file, family), card)


def without_weights(config: EncoderConfig) -> Encoder:
    """The modules on torch's meta device; what this machine has no room for is refused."""
    try:
        with torch.device("meta"):
            return Encoder(config)
    except ConfigError as fault:
        raise CheckpointError(f"config.json describes no possible encoder: {fault}") from fault


def _ours(plan: Plan, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under our names and in our shapes."""
    try:
        tensors = plan.names.rename(tensors)
        tensors = fold_scales(share_layers(tensors, plan.config.n_layers))
        if plan.family.adapt is not None:
            tensors = plan.family.adapt(tensors, plan.config)
        return tie(tensors, plan.config)
    except (LookupError, TypeError, ValueError, RuntimeError) as fault:  # odd shapes, no such name
        said = str(fault).partition("\n")[0][:200].rstrip(".")
        raise KeyMismatch(f"The tensors do not fit config.json: {said}.") from fault


def choose_device(device: str = "auto") -> torch.device:
    """The device of that name; for "auto" the fastest that is there."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen).item()
    except (RuntimeError, AssertionError, TypeError, ValueError, OverflowError) as fault:
        raise CheckpointError(
            f"The device {device!r} cannot be used here ({fault}). Use 'auto' or 'cpu'."
        ) from fault
    return chosen
