"""Where the norm stands: two small untrained encoders, by depth, with parts of their blocks off."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.config import Embedding, EncoderConfig, NormPlacement, Positions
from viz_encoder.model import Encoder
from viz_encoder.model.block import Block
from viz_encoder.model.positions import sinusoidal

DEPTHS = (0, 1, 2, 3, 6, 12)  # blocks after which the state is told
WIDTH, N_HEADS, SEED = 64, 4, 0
MOST_TOKENS = 256
NORM_EPS = 1e-5


@dataclass(frozen=True)
class ByDepth:
    """One token's state after some blocks.

    length: of the state.
    left: of the embedding, what came by the residual connections alone, as a part of that length.
    alike: the mean cosine of the state to those of the other tokens.
    """

    length: tuple[float, ...]
    left: tuple[float, ...]
    alike: tuple[float, ...]


def by_depth(
    names: Sequence[str], at: int, placement: str, *, residual: bool = True, norm: bool = True
) -> ByDepth:
    """A token's state in an untrained encoder whose blocks may lack a part.

    Equal names get equal vectors, from N(0, 1); the weights are Xavier's (Glorot & Bengio, 2010),
    as in torch.nn.Transformer. A long text is cut where its vectors would be too many.
    """
    model = untrained(placement)
    x = embedded(names[: max(MOST_TOKENS, at + 1)])
    way = x[at]
    told = [_measured(x, way, at)]
    with torch.inference_mode():
        for layer in model.layers:
            x, way = _through(cast(Block, layer), x, way, at, residual, norm)
            told.append(_measured(x, way, at))
    found = [told[depth] for depth in DEPTHS]
    length, left, alike = zip(*found, strict=True)
    return ByDepth(length, left, alike)


@lru_cache(maxsize=2)
def untrained(placement: str) -> Encoder:
    """The encoder, pre-norm ("pre") or post-norm ("post"); the same weights each time."""
    config = EncoderConfig.named(
        "original",
        n_layers=DEPTHS[-1],
        n_heads=N_HEADS,
        d_model=WIDTH,
        d_ff=4 * WIDTH,
        embedding=Embedding.VECTOR,
        positions=Positions.NONE,
        norm_placement=NormPlacement(placement),
        norm_eps=NORM_EPS,
    )
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(SEED)
        model = Encoder(config).eval()
        for layer in model.layers:
            for part in layer.modules():
                if isinstance(part, nn.Linear):
                    nn.init.xavier_uniform_(part.weight)
                    nn.init.zeros_(part.bias)
    return model.double()  # without norms, 12 blocks make rounding 10⁴ times as large


def embedded(names: Sequence[str]) -> Float[Tensor, "token d_model"]:
    """A random vector for each name, and the position's sinusoids."""
    known = list(dict.fromkeys(names))
    rows = torch.randn(len(known), WIDTH, generator=torch.Generator().manual_seed(SEED))
    places = [known.index(name) for name in names]
    return (rows[places] + sinusoidal(len(names), WIDTH)).double()


def _through(
    layer: Block,
    x: Float[Tensor, "token d_model"],
    way: Float[Tensor, " d_model"],
    at: int,
    residual: bool,
    norm: bool,
) -> tuple[Float[Tensor, "token d_model"], Float[Tensor, " d_model"]]:
    """The block's two sums; `way` is what of the embedding comes by the bypasses alone."""
    for part, scale in ((layer.attn, layer.attn_norm), (layer.ff, layer.ff_norm)):
        into = scale(x) if norm and layer.pre_norm else x
        added: Tensor = part(into[None])[0]
        x, way = (x + added, way) if residual else (added, torch.zeros_like(way))
        if norm and not layer.pre_norm:
            way = (way - way.mean()) / (x[at].var(unbiased=False) + NORM_EPS).sqrt()
            x = scale(x)
    return x, way


def _measured(x: Tensor, way: Tensor, at: int) -> tuple[float, float, float]:
    length = float(x[at].norm())
    others = torch.cat([x[:at], x[at + 1 :]])
    alike = torch.cosine_similarity(others, x[at][None], dim=-1)
    return length, float(way.norm()) / length, float(alike.mean()) if len(others) else 1.0
