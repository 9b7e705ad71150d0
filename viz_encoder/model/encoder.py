"""Encoder: embed, run the blocks, normalize; and, when asked, hand out what each layer ran on."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from viz_encoder.config import EncoderConfig
from viz_encoder.errors import InputError
from viz_encoder.model import masks
from viz_encoder.model.attention import LayerRecord
from viz_encoder.model.block import Block, make_norm
from viz_encoder.model.embed import Embed


class EncoderOutput(NamedTuple):
    """The result of one forward pass; hidden and records are empty unless captured."""

    output: Float[Tensor, "batch token d_model"]  # after the final norm, where there is one
    hidden: tuple[Float[Tensor, "batch token d_model"], ...]  # 0 = embeddings, n = after block n
    records: tuple[LayerRecord, ...]


class Encoder(nn.Module):
    """A transformer encoder (Vaswani et al., 2017), every variant an axis of its config."""

    def __init__(self, config: EncoderConfig) -> None:
        """Build the modules; weights are torch's defaults until a checkpoint is loaded."""
        super().__init__()
        self.config = config
        self.embed = Embed(config)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.final_norm = make_norm(config) if config.final_norm else nn.Identity()
        self.classifier = nn.Linear(config.d_model, len(config.labels)) if config.labels else None

    def forward(
        self,
        values: Tensor,
        valid: Bool[Tensor, "batch token"] | None = None,
        segments: Int[Tensor, "batch token"] | None = None,
        mask: Shaped[Tensor, "*axes"] | None = None,
        capture: bool = False,
    ) -> EncoderOutput:
        """Encode token ids "batch token", pixels "batch channel height width" or vectors.

        Args:
            values: the input, of the kind that config.embedding names.
            valid: True = a real token, False = padding; all real where not given.
            segments: which of two texts each token belongs to.
            mask: a custom mask, True = may attend; it is combined (&) with all others.
            capture: keep every layer's q, k, v and hidden state.
        """
        x = self.embed(values, segments)
        if mask is not None:
            n_batch, n_tokens = x.shape[:2]
            whole = (n_batch, self.config.n_heads, n_tokens, n_tokens)
            mask = masks.require_fit(masks.custom(mask), whole)
        allowed = self.mask(x.shape[1], valid, mask, x.device)
        hidden: list[Tensor] = [x]
        records: list[LayerRecord] | None = [] if capture else None
        for layer in self.layers:
            x = layer(x, allowed, records)
            if capture:
                hidden.append(x)
        return EncoderOutput(
            self.final_norm(x), tuple(hidden) if capture else (), tuple(records or ())
        )

    def mask(
        self,
        n_tokens: int,
        valid: Bool[Tensor, "batch token"] | None,
        extra: Shaped[Tensor, "*axes"] | None = None,
        device: torch.device | None = None,
    ) -> masks.Mask | None:
        """All masks of this run as one, or None if every token may attend to every token."""
        config = self.config
        if valid is not None and valid.shape[-1] != n_tokens:
            raise InputError(f"valid marks {valid.shape[-1]} tokens, but the input has {n_tokens}.")
        return masks.combine(
            masks.padding(valid) if valid is not None else None,
            masks.causal(n_tokens, device) if config.causal else None,
            masks.sliding_window(n_tokens, config.window, device) if config.window else None,
            masks.custom(extra) if extra is not None else None,
        )
