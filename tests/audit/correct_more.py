"""Correct models that an audit once called wrong, or of which more is said than a mask."""

from typing import Any

import torch
from torch import Tensor, nn

from tests.audit.transformers_models import embedded, made, ones
from tests.audit.transformers_zoo import GROUPED, bert
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.audit.zoo import SPECIMENS
from viz_encoder.audit.zoo.correct import Correct
from viz_encoder.audit.zoo.meant_besides import between
from viz_encoder.audit.zoo.models import D_MODEL, Around, Heads, drawn, scores_of, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    Intent,
    MaskedModel,
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    real_tokens,
)

VALID = torch.ones(3, 7, dtype=torch.bool)


def exp_and_sum(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """A softmax that no recording sees."""
    scores = scores_of(q, k).masked_fill(~passed[:, None], torch.finfo(q.dtype).min)
    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return (weights / weights.sum(dim=-1, keepdim=True)) @ v


def unseen(seed: int, intent: Intent, n_layers: int | None = None) -> MaskedModel:
    """Where the intent is the same after any number of layers, nobody need say how many."""
    return MaskedModel(written_out(seed, exp_and_sum), intent, n_layers=n_layers)  # type: ignore[arg-type]


def mended(identifier: str, seed: int) -> MaskedModel:
    return SPECIMENS[identifier].build(seed, fixed=True)


def half(seed: int) -> MaskedModel:
    return MaskedModel(written_out(seed, sdpa).half(), earlier_tokens)


def of_patches(seed: int) -> MaskedModel:
    """Pictures of 16 patches, each of which may look at its neighbors."""

    def forward(self: Any, pixels: Tensor, keep: Tensor) -> Tensor:
        return self.inner(self.cut(pixels).flatten(2).mT, keep)

    def pictures(seed: int, batch: int, length: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(batch, 3, 8, 8, generator=generator)

    made = written_out(seed, sdpa)
    model = drawn(seed, lambda: Around(made, forward, cut=nn.Conv2d(3, D_MODEL, 2, 2)))
    given = AuditInputs(make=pictures, valid=torch.ones(3, 16, dtype=torch.bool))
    return MaskedModel(model, neighbors(4), inputs=given)


def never_padded(seed: int) -> MaskedModel:
    """A mean over all tokens is right where none is padding."""

    def forward(self: Any, x: Tensor, keep: Tensor) -> Tensor:
        return self.inner(x - x.mean(dim=1, keepdim=True), torch.ones_like(keep))

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, real_tokens, inputs=AuditInputs(valid=VALID))


def of_ids(seed: int) -> MaskedModel:
    def forward(self: Any, ids: Tensor, keep: Tensor) -> Tensor:
        return self.inner(self.table(ids), keep)

    made = written_out(seed, sdpa)
    model = drawn(seed, lambda: Around(made, forward, table=nn.Embedding(20, D_MODEL)))
    return MaskedModel(model, last_tokens(3), inputs=AuditInputs(vocab_size=20, pad_id=1))


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
    "exp and sum, causal, layers not counted": lambda s: unseen(s, earlier_tokens),
    "exp and sum, window": lambda s: unseen(s, last_tokens(3), 2),
    "samples sorted inside and put back": lambda s: mended("C9-sorted", s),
    "cross-attention to a memory": lambda s: mended("H6-cross-causal", s),
    "a cache with padding": lambda s: mended("H7-prompt-padding", s),
    "global tokens both ways": lambda s: mended("D8-global", s),
    "dropout on the weights": lambda s: mended("F3-mask-dropout", s),
    "sdpa, float16": half,
    "BERT, float16": lambda s: bert(s, "sdpa", torch.float16),
    "pictures by their patches": of_patches,
    "never padded": never_padded,
    "ids in a window": of_ids,
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
