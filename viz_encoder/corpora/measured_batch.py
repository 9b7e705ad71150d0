"""Measured batch: some texts run together, every head's statistics for each, and pooled vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.layer_measures import measure_layer
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model import EncoderOutput
from viz_encoder.trace.batches import joined
from viz_encoder.trace.capture import run
from viz_encoder.trace.states import choose_methods, states_of_batch, unlike_declared
from viz_encoder.trace.token_kinds import token_kinds

DECLARED = "declared"


def pooling_of(encoder: LoadedEncoder, asked: str | None) -> str:
    """The pooling asked for; if none is, the one the model declares, or else the mean.

    Raises:
        SelectionError: no such pooling, or one that this model cannot do.
    """
    usual = "mean" if encoder.declared is None else DECLARED
    return choose_methods(encoder, [asked or usual])[0]


def pooled_vectors(
    encoder: LoadedEncoder, padded: Inputs, ran: EncoderOutput, method: str
) -> Float[np.ndarray, "text d_pooled"]:
    """The vectors of a batch, from its hidden states after the last layer.

    For "declared", texts that sentence-transformers reads in another way (cut at max_seq_length, or
    after a prompt) run again as it reads them.

    Raises:
        InputError: token ids that would have to be read in another way.
    """
    found = _pooled(encoder, padded, ran, method)
    if method == DECLARED:
        lengths = padded.valid.sum(dim=1).tolist()
        unlike = [
            at
            for at, (sample, n) in enumerate(zip(padded.samples, lengths, strict=True))
            if unlike_declared(encoder, sample, n)
        ]
        if unlike:
            again = joined(encoder, [_as_declared(encoder, padded, at) for at in unlike])
            found[unlike] = _pooled(encoder, again, run(encoder, again), method)
    return found


def _pooled(
    encoder: LoadedEncoder, padded: Inputs, ran: EncoderOutput, method: str
) -> Float[np.ndarray, "text d_pooled"]:
    """Prompts of the model's own are told apart: ready-made inputs of a batch may have several."""
    last = (encoder.config.n_layers,)
    states = states_of_batch(encoder, ran, padded.valid, last, (method,))
    prompts = [sample.n_prompt for sample in padded.samples]
    by_prompt = {n: replace(states, n_prompt=n).pooled(method, 0) for n in set(prompts)}
    found = torch.stack([by_prompt[n][at] for at, n in enumerate(prompts)])
    return found.cpu().numpy()


def _as_declared(encoder: LoadedEncoder, padded: Inputs, at: int) -> Inputs:
    sample: Sample = padded.samples[at]
    if not sample.texts:
        raise InputError(unlike_declared(encoder, sample, int(padded.valid[at].sum())))
    source = sample.texts[0] if len(sample.texts) == 1 else sample.texts
    return encoder.read(source, declared=True)


PER_TEXT = ("statistics", "score", "query", "key", "n_real")


@dataclass(frozen=True, eq=False)
class MeasuredBatch:
    """Each text's numbers, in the order of `items`, which are its numbers in the corpus."""

    items: tuple[int, ...]
    samples: tuple[Sample, ...]  # without what fills the batch up
    statistics: Float[np.ndarray, "text layer head statistic"]  # in the order of STATISTICS
    score: Float[np.ndarray, "text layer head"]  # the strongest weight between plain tokens
    query: Int[np.ndarray, "text layer head"]
    key: Int[np.ndarray, "text layer head"]
    n_real: Int[np.ndarray, " text"]  # real tokens
    vectors: Float[np.ndarray, "text d_pooled"] | None = None  # where they were asked for

    @property
    def n_tokens(self) -> int:
        """Real tokens, over all texts."""
        return int(self.n_real.sum())

    def without(self, dropped: set[int]) -> "MeasuredBatch":
        """The texts but those of these numbers."""
        kept = [at for at, item in enumerate(self.items) if item not in dropped]
        return replace(
            self,
            items=tuple(self.items[at] for at in kept),
            samples=tuple(self.samples[at] for at in kept),
            vectors=None if self.vectors is None else self.vectors[kept],
            **{name: getattr(self, name)[kept] for name in PER_TEXT},
        )

    @property
    def broken(self) -> tuple[int, ...]:
        """Texts whose weights, or whose vectors, are no numbers."""
        finite = np.isfinite(self.statistics[..., 0]).all(axis=(1, 2))
        if self.vectors is not None:
            finite &= np.isfinite(self.vectors).all(axis=1)
        return tuple(item for item, fine in zip(self.items, finite, strict=True) if not fine)


def measure_batch(
    encoder: LoadedEncoder, items: Sequence[int], inputs: Sequence[Inputs], pooling: str = ""
) -> MeasuredBatch:
    """Run some inputs as one padded batch and measure every head of each, layer by layer.

    With a pooling, each text's vector too.
    """
    padded = joined(encoder, list(inputs))
    ran = run(encoder, padded)
    found = measured(tuple(items), padded, ran)
    if pooling:
        found = replace(found, vectors=pooled_vectors(encoder, padded, ran, pooling))
    return found


def measured(items: tuple[int, ...], padded: Inputs, ran: EncoderOutput) -> MeasuredBatch:
    """Measure a batch that ran with capture."""
    like = ran.records[0].q.new_empty(0, dtype=torch.float32)
    tokens = token_kinds(padded.samples, padded.valid, like)
    with torch.inference_mode():
        layers = [measure_layer(record, tokens) for record in ran.records]
        statistics, score, query, key = (
            torch.stack(part, dim=1).cpu().numpy() for part in zip(*layers, strict=True)
        )
    return MeasuredBatch(
        *(items, padded.samples, statistics.astype(np.float64), score.astype(np.float64)),
        *(query, key, padded.valid.sum(dim=1).cpu().numpy()),
    )
