"""Correct models that an audit once called wrong, or might: each must pass without a word."""

from typing import Any

import torch
from torch import Tensor, nn

from tests.audit.correct_transformers import bert
from viz_encoder.audit import AuditInputs
from viz_encoder.audit.zoo import SPECIMENS
from viz_encoder.audit.zoo.correct import Correct
from viz_encoder.audit.zoo.models import D_MODEL, Around, Heads, drawn, scores_of, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    Intent,
    MaskedModel,
    earlier_tokens,
    last_tokens,
    neighbors,
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
}
