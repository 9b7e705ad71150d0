"""Settings shared by image families: patches, prefix tokens, positions, averaged classes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from viz_encoder.checkpoints.family import Json, pre_norm_axes, sizes
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import CheckpointError, KeyMismatch

PREFIXES = ("prefix.cls", "prefix.dist", "prefix.reg")  # in the order of the tokens


def patches(file: Json) -> dict[str, Any]:
    """The axes of a patch embedding; sizes in config.json are one number or [height, width]."""
    size = file["patch_size"]
    if isinstance(size, list | tuple) and len(size) == 2 and size[0] == size[1]:
        size = size[0]
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise CheckpointError("config.json's patch_size must be one number; patches are square.")
    sides = file["image_size"]
    sides = sides if isinstance(sides, list | tuple) else (sides, sides)
    return {
        "embedding": Embedding.PATCH,
        # Pixels beyond the last whole patch are not read: 384 of 14 are 27 patches, 378 pixels.
        "image_size": tuple(side // size * size for side in sides),
        "patch_size": size,
        "n_channels": file["num_channels"],
    }


def vit_encoder(file: Json, **own: Any) -> EncoderConfig:
    """The encoder of ViT and its kin: patches, and pre-norm; `own` is added or in their place."""
    return EncoderConfig(**(sizes(file) | patches(file) | pre_norm_axes(file) | own))


def registers(count: object) -> tuple[str, ...]:
    """Names of register tokens (Darcet et al., 2023, arXiv:2309.16588)."""
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 1000:
        raise CheckpointError("config.json's number of register tokens must be a whole number.")
    return tuple(f"[REG{number}]" for number in range(count))


def join_tokens(
    tensors: Mapping[str, Tensor], config: EncoderConfig, bare: tuple[str, ...] | None = None
) -> dict[str, Tensor]:
    """Prefix tokens as one table; a row of zeros where a prefix token has no position.

    `bare` are the prefix tokens that may be without one: registers, where it is not given.
    """
    if bare is None:
        bare = tuple(token for token in config.prefix if token.startswith("[REG"))
    joined = dict(tensors)
    width = config.d_embed
    found = [_rows(name, joined.pop(name), width) for name in PREFIXES if name in tensors]
    joined["embed.tokens.prefix"] = torch.cat(found) if found else torch.zeros(0, width)
    if "embed.position" in tensors:
        table = _rows("embed.position", tensors["embed.position"], width)
        placed = len(table) - config.grid[0] * config.grid[1]  # prefix tokens with a position
        absent = len(config.prefix) - placed
        if placed >= 0 and absent == len(bare):
            zeros = table.new_zeros(absent, width)
            table = torch.cat([table[:placed], zeros, table[placed:]])
        joined["embed.position"] = table
    return joined


def average_classes(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of what [CLS] and [DIST] say, as one layer that reads both (DeiT)."""
    joined = dict(tensors)
    for axes, kind in ((2, "weight"), (1, "bias")):
        of_cls, of_dist = f"heads.classify.out.{kind}", f"heads.classify.dist.{kind}"
        if of_cls in joined and of_dist in joined:
            pair = joined[of_cls], joined.pop(of_dist)
            if pair[0].shape != pair[1].shape or pair[0].ndim != axes:
                raise KeyMismatch(f"The {kind}s of the two classifiers differ in shape.")
            joined[of_cls] = (torch.cat(pair, dim=1) if kind == "weight" else pair[0] + pair[1]) / 2
    return joined


def _rows(name: str, tensor: Tensor, width: int) -> Tensor:
    if tensor.ndim == 0 or tensor.shape[-1] != width:
        raise KeyMismatch(f"{name} is {tuple(tensor.shape)}; its rows must have {width} numbers.")
    return tensor.reshape(-1, width)
