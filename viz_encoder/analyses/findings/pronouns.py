"""Pronouns: which pronouns of a text a head ties to an earlier word, by a rule and no more."""

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.analyses.findings.function_words import FUNCTION_WORDS, PRONOUNS
from viz_encoder.analyses.findings.reading import RunTokens
from viz_encoder.inputs import Sample
from viz_encoder.trace import LayerTrace

LEAST_RATIO = 2.0  # times what the average query gives the key


def pronouns_of(reading: RunTokens, sample: Sample) -> list[int]:
    """The places of third-person pronouns that are one token: "it", but no piece of a word."""
    words: list[object] = list(zip(reading.segment.tolist(), sample.words, strict=False))

    def alone(at: int) -> bool:
        beside = words[max(0, at - 1) : at] + words[at + 1 : at + 2]
        return not words or words[at] not in beside

    named = [at for at, name in enumerate(reading.names) if name.lower() in PRONOUNS]
    return [at for at in named if bool(reading.content[at]) and alone(at)]


def n_linked(
    layer: LayerTrace,
    head: int,
    means: Float[Tensor, " key"],
    reading: RunTokens,
    pronouns: list[int],
) -> int:
    """Number of pronouns that a head links to an earlier content word.

    A pronoun is linked if the largest weight in its row, over real tokens, is on an earlier content
    word (not a function word, pronoun or punctuation) and is at least LEAST_RATIO times the mean
    weight that queries give that key.
    """
    rows = torch.tensor(pronouns, device=layer.q.device)
    weights = layer.weights(slice(head, head + 1), rows)[0].float().cpu()
    top = weights.where(reading.real, -1).max(dim=1)
    plain = [name.lower() not in PRONOUNS | FUNCTION_WORDS for name in reading.names]
    nouns = reading.content & torch.tensor(plain)
    earlier = top.indices < torch.tensor(pronouns)
    selective = top.values >= LEAST_RATIO * means.cpu()[top.indices]
    return int((nouns[top.indices] & earlier & selective & (top.values > 0)).sum())
