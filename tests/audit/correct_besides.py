"""Correct models of which more is said than a mask: a bias, which tokens are pooled, beams."""

from typing import Any

import torch
from torch import Tensor, nn

from tests.audit.correct_more import mended
from tests.audit.transformers_models import TEXT, embedded, made, ones
from viz_encoder.audit import AuditScope
from viz_encoder.audit.zoo.correct import Correct
from viz_encoder.audit.zoo.meant_besides import between
from viz_encoder.audit.zoo.models import D_MODEL, Around, Heads, drawn, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    earlier_tokens,
    last_tokens,
    own_document,
    real_tokens,
)

GROUPED = {**TEXT, "num_key_value_heads": 1}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_heads": 2, "num_layers": 2, "vocab_size": 40}
BLOOM = {"hidden_size": 16, "n_head": 2, "n_layer": 2, "vocab_size": 40}


def t5_encoder(seed: int) -> MaskedModel:
    """Relative positions in buckets, learned, from the first layer's own table."""
    model = made(seed, "T5", T5, lambda model, x, mask: embedded(model.encoder, x, mask))
    attention = model.inner.encoder.block[0].layer[0].SelfAttention

    def bias(valid: Tensor) -> Tensor:
        return attention.compute_bias(valid.shape[1], valid.shape[1])

    return MaskedModel(model, real_tokens, ones, scope=AuditScope(bias=bias))


def bloom(seed: int) -> MaskedModel:
    """Its slopes times the key's position: the same as the distance, but for a number a row."""

    def bias(valid: Tensor) -> Tensor:
        place = torch.arange(valid.shape[1])
        slopes = 2.0 ** -torch.tensor([4.0, 8.0])
        return -slopes[:, None, None] * (place[:, None] - place[None, :]).clamp(min=0)

    model = made(seed, "Bloom", BLOOM, embedded, "eager")
    return MaskedModel(model, earlier_tokens, ones, scope=AuditScope(bias=bias))


def llama_beams(seed: int) -> MaskedModel:
    model = made(seed, "Llama", GROUPED, embedded)

    def step(x: Tensor, cache: Any, passed: Tensor) -> tuple[Tensor, Any]:
        out = model.inner(
            inputs_embeds=x, attention_mask=passed, past_key_values=cache, use_cache=True
        )
        return out.last_hidden_state, out.past_key_values

    def reorder(cache: Any, order: Tensor) -> Any:
        cache.reorder_cache(order)
        return cache

    scope = AuditScope(step=step, reorder=reorder)
    return MaskedModel(model, earlier_tokens, ones, scope=scope)


def pooled_outside(seed: int, pool: Any, over: Any) -> MaskedModel:
    scope = AuditScope(pooled=pool, pool_over=over)
    return MaskedModel(written_out(seed, sdpa), real_tokens, scope=scope)


def largest(hidden: Tensor, valid: Tensor) -> Tensor:
    return hidden.masked_fill(~between(valid)[:, :, None], -torch.inf).amax(dim=1).nan_to_num()


def first_token(valid: Tensor) -> Tensor:
    return torch.zeros_like(valid).index_fill(1, torch.tensor([0]), True)


def by_attention(seed: int) -> MaskedModel:
    """A score a token, a softmax over those that count, a norm, and a head that nobody asked."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        hidden = self.inner(x, real_tokens(valid))
        scores = self.score(hidden)[..., 0].masked_fill(~between(valid), -torch.inf)
        self.unused(hidden)
        pooled: Tensor = self.norm((scores.softmax(dim=1).nan_to_num()[:, None] @ hidden)[:, 0])
        return pooled

    inner = written_out(seed, sdpa)
    parts = {"score": nn.Linear(D_MODEL, 1), "norm": nn.LayerNorm(D_MODEL)}
    parts["unused"] = nn.Linear(D_MODEL, 3)
    model = drawn(seed, lambda: Around(inner, forward, **parts))
    scope = AuditScope(pool_over=between)
    return MaskedModel(model, real_tokens, lambda valid: valid, scope=scope)


def row_by_row(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    rows = [slice(n, n + 1) for n in range(len(q))]
    return torch.cat([sdpa(q[n], k[n], v[n], passed[n]) for n in rows])


def document_by_document(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Of three tokens each, in each sample by itself."""

    def one(sample: int, start: int) -> Heads:
        at = slice(start, start + 3)
        parts = (x[sample, None, :, at] for x in (q, k, v))
        return sdpa(*parts, passed[sample, None, at, at])

    starts = range(0, q.shape[2], 3)
    return torch.cat([torch.cat([one(s, n) for n in starts], dim=2) for s in range(len(q))])


def unpadded(seed: int) -> MaskedModel:
    """Each sample goes through all layers by itself, cut to its real tokens."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        for sample, real in enumerate(valid):
            one = earlier_tokens(real[real][None])
            out[sample, real] = self.inner(x[sample, real][None], one)[0]
        return out

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, earlier_tokens, lambda valid: valid)


CORRECT: Correct = {
    "ALiBi in a fused kernel": lambda s: mended("H8-alibi-lost", s),
    "ALiBi, softmax written out": lambda s: mended("H9-alibi-heads", s),
    "T5, relative positions": t5_encoder,
    "BLOOM, ALiBi": bloom,
    "mean without special tokens": lambda s: mended("E14-special", s),
    "maximum without special tokens": lambda s: pooled_outside(s, largest, between),
    "[CLS]": lambda s: pooled_outside(s, lambda h, valid: h[:, 0], first_token),
    "attention pooling without special tokens": by_attention,
    "beams with padding": lambda s: mended("H10-beams", s),
    "Llama, beams and padding": llama_beams,
    "sdpa, a sample at a time": lambda s: MaskedModel(written_out(s, row_by_row), last_tokens(3)),
    "sdpa, a sample at a time, unpadded": unpadded,
    "sdpa, a document at a time": lambda s: MaskedModel(
        written_out(s, document_by_document), own_document(3)
    ),
}
