"""Encoder: embed, run the blocks, normalize; and, when asked, hand out what each layer ran on."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import psutil
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_encoder.arguments import public
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.config.encoder import BYTES_PER_WEIGHT
from viz_encoder.errors import ConfigError, InputError
from viz_encoder.model import masks
from viz_encoder.model.attention import Given, HeadEdit, LayerRecord
from viz_encoder.model.block import Block, make_norm
from viz_encoder.model.embed import Embed
from viz_encoder.model.head import PredictionHead
from viz_encoder.model.layer_masks import CustomMask, of_each_layer
from viz_encoder.model.positions import angles_along, angles_of_grid, by_distance
from viz_encoder.model.saving import own_file, own_tensors, write_folder
from viz_encoder.shown import counted, facts_html, one_line


class EncoderOutput(NamedTuple):
    """The result of one forward pass; hidden and records are empty unless captured."""

    output: Float[Tensor, "batch token d_model"]  # after the final norm, where there is one
    hidden: tuple[Float[Tensor, "batch token d_model"], ...]  # 0 = embeddings, n = after block n
    records: tuple[LayerRecord, ...]


class Encoder(nn.Module):
    """A transformer encoder (Vaswani et al., 2017), every variant an axis of its config."""

    @public(fault=ConfigError)
    def __init__(self, config: EncoderConfig) -> None:
        """Build the modules; weights are torch's defaults until a checkpoint is loaded.

        Raises:
            ConfigError: the weights would not fit into this machine.
        """
        super().__init__()
        _require_memory(config)
        self.config = config
        self.embed = Embed(config)
        self.layers = nn.ModuleList(Block(config, number) for number in range(config.n_layers))
        self.final_norm = make_norm(config) if config.final_norm else nn.Identity()
        if config.relative_buckets:
            self.relative = nn.Parameter(torch.zeros(config.relative_buckets, config.n_heads))
        self.heads = nn.ModuleDict(
            {str(head.task): PredictionHead(config, head) for head in config.prediction_heads}
        )

    def __repr__(self) -> str:
        """One line; print(encoder) shows every module."""
        return one_line(f"<Encoder: {self.size}>")

    def __str__(self) -> str:
        """Every module, as torch prints them."""
        return super().__repr__()

    def _repr_html_(self) -> str:
        """The line as HTML, for a notebook, with the axes of the config."""
        return facts_html("Encoder", {"Size": self.size, "Config": repr(self.config)})

    @property
    def size(self) -> str:
        """The sizes in words."""
        config, weight = self.config, next(self.parameters())
        n_millions = sum(each.numel() for each in self.parameters()) / 1e6
        return (
            f"{counted(config.n_layers, 'layer')} × {counted(config.n_heads, 'head')}, "
            f"d_model {config.d_model}, "
            f"d_ff {config.d_ff}, {n_millions:,.1f} M parameters, {weight.device} "
            f"{str(weight.dtype).removeprefix('torch.')}"
        )

    def forward(
        self,
        values: Tensor,
        valid: Bool[Tensor, "batch token"] | None = None,
        segments: Int[Tensor, "batch token"] | None = None,
        mask: CustomMask | None = None,
        capture: bool = False,
        edits: Mapping[int, HeadEdit] | None = None,
    ) -> EncoderOutput:
        """Encode token ids "batch token", pixels "batch channel height width" or vectors.

        Args:
            values: the input, of the kind that config.embedding names.
            valid: True = a real token, False = padding; all real if not given.
            segments: which of two texts each token belongs to.
            mask: a custom mask, True = may attend, for all layers or by layer and head; it is
                combined (&) with all others.
            capture: keep every layer's q, k, v and hidden state.
            edits: by layer, what to put in place of its heads' outputs, before W_O.
        """
        x = self.embed(values, segments)
        hidden: list[Tensor] = [x]
        records: list[LayerRecord] | None = [] if capture else None
        given = self.given(x, values, valid, mask)
        for number, layer in enumerate(self.layers):
            edit = None if edits is None else edits.get(number)
            x = layer(x, given[number]._replace(edit=edit), records)
            if capture:
                hidden.append(x)
        return EncoderOutput(
            self.final_norm(x), tuple(hidden) if capture else (), tuple(records or ())
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write config.json and model.safetensors, which `vz.load(folder)` opens again.

        Args:
            folder: a new or empty folder.
            overwrite: replace an encoder that was saved there.

        Raises:
            CheckpointError: the folder holds something else, or cannot be written.
        """
        tensors = own_tensors(self.state_dict(), self.config)
        write_folder(folder, own_file(self.config), tensors, overwrite=overwrite)

    def mask(
        self,
        n_tokens: int,
        valid: Bool[Tensor, "batch token"] | None,
        extra: masks.Mask | None = None,
        device: torch.device | None = None,
        window: int | None = None,
    ) -> masks.Mask | None:
        """Combine all masks of a layer; None if every token may attend to every token."""
        if valid is not None and valid.shape[-1] != n_tokens:
            raise InputError(
                f"valid is for {valid.shape[-1]} tokens, but the input has {n_tokens}."
            )
        return masks.combine(
            masks.padding(valid) if valid is not None else None,
            masks.causal(n_tokens, device) if self.config.causal else None,
            masks.sliding_window(n_tokens, window, device) if window else None,
            extra,
        )

    def given(
        self,
        x: Float[Tensor, "batch token d_model"],
        values: Tensor,
        valid: Bool[Tensor, "batch token"] | None = None,
        mask: CustomMask | None = None,
    ) -> list[Given]:
        """Inputs of each layer besides x, shared by layers of one kind."""
        config, (n_batch, n_tokens) = self.config, x.shape[:2]
        whole = (n_batch, config.n_heads, n_tokens, n_tokens)
        extra = of_each_layer(mask, config.n_layers, whole)
        relative = None
        if config.relative_buckets:
            relative = by_distance(self.relative, n_tokens, config.relative_distance)
        kinds: dict[tuple[bool, int], Given] = {}
        found = []
        for number in range(config.n_layers):
            kind = config.is_local(number), id(extra[number])
            if kind not in kinds:
                window = config.window if kind[0] else None
                kinds[kind] = Given(
                    self.mask(n_tokens, valid, extra[number], x.device, window),
                    self.angles(values, n_tokens, kind[0], x.device),
                    relative,
                )
            found.append(kinds[kind])
        return found

    def angles(
        self, values: Tensor, n_tokens: int, is_local: bool, device: torch.device
    ) -> Float[Tensor, "token half"] | None:
        """Rotary angles of a layer, if any; only the shape of `values` is used.

        is_local: whether the layer has a window (`config.is_local(layer)`).
        """
        config = self.config
        base = config.rotary_base_local if is_local else config.rotary_base
        base = config.rotary_base if base is None else base
        if base is None:
            return None
        if config.rotary_grid and config.embedding is Embedding.PATCH:
            size = config.patch_size
            grid = values.shape[-2] // size, values.shape[-1] // size
            return angles_of_grid(*grid, len(config.prefix), config.d_head, base, device)
        return angles_along(n_tokens, config.d_head, base, device) / config.rotary_stretch


def _require_memory(config: EncoderConfig) -> None:
    needed, present = config.n_parameters * BYTES_PER_WEIGHT, psutil.virtual_memory().total
    if needed > present:
        raise ConfigError(
            f"This encoder's weights alone need {_gigabytes(needed)}; this machine "
            f"has {_gigabytes(present)}. Use fewer layers or a smaller d_model."
        )


def _gigabytes(n_bytes: int) -> str:
    return f"about {n_bytes / 1e9:,.1f} GB" if n_bytes < 1e18 else "over a billion GB"
