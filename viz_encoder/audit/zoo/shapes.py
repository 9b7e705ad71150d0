"""Section C: masks whose axes are not the ones they are taken for."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.zoo.models import (
    N_HEADS,
    Attention,
    Heads,
    Stack,
    drawn,
    multihead,
    scores_of,
    sdpa,
    torch_encoder,
    written_out,
)
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    as_it_is,
    earlier_tokens,
    plant,
    real_tokens,
)
from viz_encoder.model.attention import merge_heads


def _ignoring(layer: nn.MultiheadAttention, x: Tensor, ignore: Tensor) -> Tensor:
    return layer(x, x, x, attn_mask=ignore)[0]


@plant(
    "C1-repeat",
    wrong="ignore.repeat(N_HEADS, 1, 1)",
    right="ignore.repeat_interleave(N_HEADS, dim=0)",
    taker=lambda seed: multihead(seed, _ignoring),
)
def repeated_in_the_wrong_order(valid: Valid) -> Tensor:
    """A three-dimensional mask whose first axis is batch · heads."""
    ignore = ~real_tokens(valid)
    return ignore.repeat(N_HEADS, 1, 1)


@plant(
    "C2-transposed",
    wrong="keep[:, None, :, None]",
    right="keep[:, None, None, :]",
    passed=as_it_is,
)
def queries_masked(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
    """The new axis in the wrong place."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, :, None])


@plant(
    "C3-batch-is-length",
    wrong="attn_mask=ignore",
    right="key_padding_mask=ignore",
    flagged_by="runs",
    passed=lambda valid: ~valid,
)
def batch_as_queries(layer: nn.MultiheadAttention, x: Tensor, ignore: Tensor) -> Tensor:
    """Two masks of two axes, mixed up."""
    return layer(x, x, x, attn_mask=ignore)[0]


@plant(
    "C4-batch-first",
    wrong="encoder(x, src_key_padding_mask=ignore.T)",
    right="encoder(x.transpose(0, 1), src_key_padding_mask=ignore).transpose(0, 1)",
    flagged_by="batch_independence",
)
def samples_mixed(seed: int) -> MaskedModel:
    """The batch is taken for the sequence."""

    def run(encoder: nn.TransformerEncoder, x: Tensor, ignore: Tensor) -> Tensor:
        mixed: Tensor = encoder(x, src_key_padding_mask=ignore.T)
        return mixed

    model = torch_encoder(seed, run, batch_first=False)
    return MaskedModel(model, real_tokens, lambda valid: ~valid)


@plant(
    "C5-one-layer",
    wrong="F.scaled_dot_product_attention(q, k, v)",
    right="sdpa(q, k, v, passed)",
)
def one_layer_open(seed: int) -> MaskedModel:
    """Two layers of three are masked."""

    def forgetful(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        return F.scaled_dot_product_attention(q, k, v)

    return MaskedModel(written_out(seed, sdpa, forgetful, sdpa), real_tokens, n_layers=3)


@plant(
    "C5-one-head",
    wrong="keep[:, 1] = True",
    right="keep[:, 1] = passed",
    intent=earlier_tokens,
)
def one_head_open(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """One mask per head."""
    keep = passed[:, None].repeat(1, N_HEADS, 1, 1)
    keep[:, 1] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


@plant(
    "C5-no-head-axis",
    wrong="attn_mask=keep",
    right="attn_mask=keep[:, None]",
    flagged_by="runs",
)
def no_head_axis(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
    """Three samples and two heads."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


@plant(
    "C6-softmax-axis",
    wrong="scores.softmax(dim=-2)",
    right="scores.softmax(dim=-1)",
    flagged_by="gradient",
    intent=earlier_tokens,
)
def softmax_over_queries(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Weights normalized over the queries."""
    keep = passed[:, None]
    scores = scores_of(q, k).masked_fill(~keep, torch.finfo(q.dtype).min)
    return scores.softmax(dim=-2) @ v


@plant(
    "C7-heads-by-view",
    wrong="t.reshape(t.shape[0], N_HEADS, -1, t.shape[-1] // N_HEADS)",
    right="t.unflatten(-1, (N_HEADS, -1)).transpose(1, 2)",
    flagged_by="gradient",
)
def heads_by_view(seed: int) -> MaskedModel:
    """The heads are cut across tokens."""

    def split(t: Tensor) -> Heads:
        return t.reshape(t.shape[0], N_HEADS, -1, t.shape[-1] // N_HEADS)

    class Viewed(Attention):
        def forward(self, x: Tensor, passed: Tensor) -> Tensor:
            q, k, v = (split(project(x)) for project in (self.q, self.k, self.v))
            return self.o(merge_heads(sdpa(q, k, v, passed)))

    return MaskedModel(drawn(seed, lambda: Stack([Viewed(sdpa), Viewed(sdpa)])), earlier_tokens)
