"""Rebuilds the parts of a recorded model as our own modules in float64, one block on demand.

nn.TransformerEncoderLayer is read whole; in other blocks only nn.MultiheadAttention is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.arguments import known_kind
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.checkpoints.built_elsewhere import activation_name
from viz_encoder.checkpoints.family import activation
from viz_encoder.config import Embedding, EncoderConfig, Norm, NormPlacement, Positions
from viz_encoder.errors import ConfigError, SelectionError, TraceError
from viz_encoder.model.block import Block
from viz_encoder.shown import OneLine
from viz_encoder.trace.kept_weights import KeptNorm, KeptPart

NOTHING_READ = (
    "This model's weights were not read: record() reads those of nn.TransformerEncoderLayer and "
    "nn.MultiheadAttention."
)
ATTENTION_ALONE = (
    "This model's feed-forward part was not read: record() reads nn.TransformerEncoderLayer."
)
ODD_ACTIVATION = (
    "This model's feed-forward part was not read: its activation is {name}, which "
    "viz_encoder does not know."
)
UNLIKE = "This model's weights were not read: its layers are not all alike in size and kind."
DROPPED = (
    "Dropout was on (train mode), so a block's output is not the sum of its parts. Record the "
    "model after model.eval()."
)
CHANGED = (
    "The weights were changed after this run, so its parts cannot be recomputed. Record the "
    "model again."
)


@dataclass(frozen=True, eq=False, repr=False)
class RecordedParts(OneLine):
    """Weights of a recorded model, by reference, for the step-by-step views.

    axes: the sizes and kinds of its blocks; None if nothing was read. unread: why nothing, or no
    feed-forward part, was read. entered: the input of nn.MultiheadAttention outside of
    nn.TransformerEncoderLayer.
    """

    axes: EncoderConfig | None
    layers: tuple[KeptPart, ...] = ()
    entered: tuple[Float[Tensor, "token d_model"] | None, ...] = ()
    norm: KeptNorm | None = None  # after the last block
    unread: str = ""
    ragged: bool = False  # the run had no padding
    device: ClassVar[torch.device] = torch.device("cpu")
    dtype: ClassVar[torch.dtype] = torch.float64

    @property
    def config(self) -> EncoderConfig:
        """Config of its blocks.

        Raises:
            SelectionError: nothing was read.
        """
        if self.axes is None:
            raise SelectionError(self.unread)
        return self.axes

    def block(self, layer: int) -> Block:
        """One block; if only attention was read, its other parts hold no weights.

        Raises:
            SelectionError: nothing was read.
            TraceError: the weights have changed since the run.
        """
        config = self.config
        kept = self.layers[layer]
        if not kept.unchanged:
            raise TraceError(CHANGED)
        with torch.device("meta"):
            block = Block(config)
        _fill(block.attn, _attention(kept.attention.tensors))
        if kept.network is not None and kept.norms is not None and not self.unread:
            _fill(block.ff, _network(kept.network.tensors))
            block.attn_norm, block.ff_norm = map(_norm, kept.norms)
        return block.eval()

    @property
    def final_norm(self) -> nn.Module | None:
        """The norm after the last block, if the model has one.

        Raises:
            TraceError: its weights have changed since the run.
        """
        if self.norm is not None and not self.norm.weights.unchanged:
            raise TraceError(CHANGED)
        return None if self.norm is None else _norm(self.norm)

    @property
    def undivided(self) -> str:
        """Why a block's output is not the sum of its parts, as a sentence; "" if all are."""
        return self.unread or (DROPPED if any(part.dropout for part in self.layers) else "")

    def require_whole(self) -> None:
        """Raise unless whole blocks were read.

        Raises:
            SelectionError: they were not.
        """
        if self.unread:
            raise SelectionError(self.unread)

    def require_no_dropout(self, layer: int) -> None:
        """Raise if dropout was active, because the parts then do not add up.

        Raises:
            SelectionError: dropout was active.
        """
        if self.layers and self.layers[layer].dropout:
            raise SelectionError(DROPPED)


WeightSource = LoadedEncoder | RecordedParts
known_kind(RecordedParts, "trace.parts of a recorded model")


def block_of(source: WeightSource, layer: int) -> Block:
    """The block of a layer."""
    if isinstance(source, RecordedParts):
        return source.block(layer)
    block = source.model.layers[layer]
    assert isinstance(block, Block)
    return block


def parts_of(
    kept: Sequence[KeptPart | None],
    entered: Sequence[Tensor | None],
    norm: KeptNorm | None,
    *,
    ragged: bool,
) -> RecordedParts:
    """Combine the parts read from each layer into one model."""
    layers = tuple(part for part in kept if part is not None)
    if not layers or len(layers) < len(kept):
        return RecordedParts(None, unread=NOTHING_READ)
    whole = all(part.network is not None for part in layers)
    unread = "" if whole else ATTENTION_ALONE
    try:
        configs = {_config(part, len(layers)) for part in layers}
    except ConfigError:
        unread = ODD_ACTIVATION.format(name=activation_name(layers[0].activation))
        configs = {_config(part, len(layers), known=False) for part in layers}
    if len(configs) > 1:
        return RecordedParts(None, unread=UNLIKE)
    (config,) = configs
    return RecordedParts(config, layers, tuple(entered), norm, unread, ragged)


def _config(part: KeptPart, n_layers: int, known: bool = True) -> EncoderConfig:
    attention, network = part.attention.tensors, part.network
    width = attention["out_proj.weight"].shape[0]
    more: dict[str, Any] = {"d_ff": width}
    lacking = [] if "in_proj_bias" in attention else ["q", "k", "v"]
    lacking += [] if "out_proj.bias" in attention else ["o"]
    if network is not None and part.norms is not None:
        more = {"d_ff": network.tensors["linear1.weight"].shape[0]}
        lacking += [] if "linear1.bias" in network.tensors else ["up"]
        lacking += [] if "linear2.bias" in network.tensors else ["down"]
        lacking += [] if "bias" in part.norms[0].weights.tensors else ["norm"]
        more["norm"] = Norm.RMS if part.norms[0].rms else Norm.LAYER
        if known:
            more["activation"] = activation(activation_name(part.activation))
    return EncoderConfig(
        n_layers=n_layers,
        n_heads=part.n_heads,
        d_model=width,
        embedding=Embedding.VECTOR,
        positions=Positions.NONE,
        norm_placement=NormPlacement.PRE if part.pre_norm else NormPlacement.POST,
        norm_eps=(part.norms and part.norms[0].eps) or 1e-5,
        embed_norm=False,
        unbiased=tuple(lacking),
        dropout=0.0,
        **more,
    )


def _attention(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Split torch's fused projection into three; `o` is its out_proj."""
    found: dict[str, Tensor] = {}
    for kind in ("weight", "bias"):
        if f"in_proj_{kind}" in tensors:
            parts = tensors[f"in_proj_{kind}"].chunk(3)
            found |= {f"{name}.{kind}": one for name, one in zip("qkv", parts, strict=True)}
        if f"out_proj.{kind}" in tensors:
            found[f"o.{kind}"] = tensors[f"out_proj.{kind}"]
    return found


def _network(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    ours = {"linear1": "up", "linear2": "down"}
    return {
        f"{ours[name.partition('.')[0]]}.{name.partition('.')[2]}": x for name, x in tensors.items()
    }


def _norm(kept: KeptNorm) -> nn.Module:
    tensors = kept.weights.tensors
    norm: nn.Module = nn.RMSNorm(kept.shape, kept.eps, "weight" in tensors)
    if not kept.rms:
        norm = nn.LayerNorm(kept.shape, kept.eps or 0.0, "weight" in tensors, "bias" in tensors)
    _fill(norm, tensors)
    return norm


def _fill(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    wide = {name: x.cpu().double() for name, x in tensors.items()}
    module.load_state_dict(wide, assign=True)
