"""Pooled vectors: one a text of a batch that ran, as the model declares it or by another method."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model import EncoderOutput
from viz_encoder.trace.batches import joined
from viz_encoder.trace.capture import run
from viz_encoder.trace.states import choose_methods, states_of_batch, unlike_declared

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
