"""The shapes that are measured, as our encoder and as transformers' BERT with the same sizes."""

from dataclasses import dataclass

import torch
from torch import nn

from viz_encoder import EncoderConfig
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model import Encoder


@dataclass(frozen=True)
class Shape:
    """A model's sizes."""

    name: str
    n_layers: int
    n_heads: int
    d_model: int
    d_ff: int


MINILM = Shape("MiniLM", 6, 12, 384, 1536)
BASE = Shape("BERT-base", 12, 12, 768, 3072)
VOCABULARY = 1000


def ours(
    shape: Shape, n_tokens: int, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> LoadedEncoder:
    config = EncoderConfig(
        n_layers=shape.n_layers,
        n_heads=shape.n_heads,
        d_model=shape.d_model,
        d_ff=shape.d_ff,
        vocab_size=VOCABULARY,
        max_positions=n_tokens,
    )
    torch.manual_seed(0)
    model = Encoder(config).eval().to(device=device, dtype=dtype)
    return LoadedEncoder(model, None, ModelCard(shape.name, "random weights"))


def bert(shape: Shape, n_tokens: int, implementation: str) -> nn.Module:
    from transformers import BertConfig, BertModel  # seconds, which most rows need not pay

    config = BertConfig(
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        hidden_size=shape.d_model,
        intermediate_size=shape.d_ff,
        vocab_size=VOCABULARY,
        max_position_embeddings=n_tokens,
        attn_implementation=implementation,
    )
    torch.manual_seed(0)
    return BertModel(config, add_pooling_layer=False).eval()


def torch_encoder(shape: Shape) -> nn.TransformerEncoder:
    """torch.nn's own encoder, which runs one fused kernel a layer."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(shape.d_model, shape.n_heads, shape.d_ff, batch_first=True)
    return nn.TransformerEncoder(layer, shape.n_layers).eval()


def inputs(n_tokens: int) -> Inputs:
    ids = torch.randint(0, VOCABULARY, (1, n_tokens), generator=torch.Generator().manual_seed(1))
    sample = Sample(tokens=("x",) * n_tokens, special=(False,) * n_tokens)
    return Inputs(ids, torch.ones(1, n_tokens, dtype=torch.bool), (sample,))
