"""What the "grammar" model gets right, rule by rule, and which of its heads look where."""

import copy
import random
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from scripts import grammar
from viz_encoder.model import Encoder, attention_weights

IDS = {word: number for number, word in enumerate(grammar.VOCABULARY)}
PAD, CLS, SEP, MASK = (IDS[token] for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]"))
NOT_ASKED = -100  # where cross_entropy asks nothing
TEST_SEED, N_TEST, N_ROLES = 99, 400, 100  # sentences a rule, for accuracy and for heads


class Batch(NamedTuple):
    """Sentences with [CLS], [SEP] and padding, some of their words masked."""

    ids: Tensor  # (sentence, place)
    valid: Tensor
    words: Tensor  # what stood there, NOT_ASKED where nothing is masked


def as_batch(sentences: list[list[str]], masked: list[list[int]]) -> Batch:
    """Sentences of words, each masked at its places."""
    longest = 2 + max(map(len, sentences))
    ids = torch.full((len(sentences), longest), PAD)
    asked = torch.full_like(ids, NOT_ASKED)
    for row, (words, places) in enumerate(zip(sentences, masked, strict=True)):
        ids[row, : len(words) + 2] = torch.tensor([CLS, *(IDS[word] for word in words), SEP])
        at = torch.tensor(places) + 1
        asked[row, at] = ids[row, at]
        ids[row, at] = MASK
    return Batch(ids, ids != PAD, asked)


def guess(encoder: Encoder, batch: Batch) -> Tensor:
    """Scores of every word at each masked place, "place word", sentence by sentence."""
    output = encoder(batch.ids, batch.valid).output
    return encoder.heads["masked"](output[batch.words >= 0][None])[0]


class Trial(NamedTuple):
    """Held-out sentences of a rule, each once for every place that the rule decides."""

    batch: Batch
    right: Tensor  # (row, word): whether it is right
    at: Tensor  # the masked place
    source: Tensor  # the place that decides it
    crosses: Tensor  # whether a noun of the other number stands between


def make_trial(rule: str, n_sentences: int = N_TEST) -> Trial:
    """One masked place a row, so that what is right there is known exactly."""
    rng = random.Random(TEST_SEED)
    drawn = [grammar.draw(rule, rng, True) for _ in range(n_sentences)]
    rows = [(s, at) for s in drawn for at in s.answers]
    right = torch.zeros(len(rows), len(IDS), dtype=torch.bool)
    for row, (sentence, at) in enumerate(rows):
        right[row, [IDS[word] for word in sentence.answers[at]]] = True
    return Trial(
        as_batch([s.words for s, _ in rows], [[at] for _, at in rows]),
        right,
        torch.tensor([at + 1 for _, at in rows]),
        torch.tensor([s.sources[at] + 1 for s, at in rows]),
        torch.tensor([rule == "agreement" and s.crosses(at) for s, at in rows]),
    )


@torch.inference_mode()
def is_right(encoder: Encoder, trial: Trial) -> Tensor:
    """Whether the likeliest word is one of the right ones, for each row."""
    guesses = guess(encoder, trial.batch).argmax(dim=-1)
    return trial.right[torch.arange(len(guesses)), guesses]


def evaluate(encoder: Encoder) -> dict[str, float]:
    """Share of the decided places of held-out sentences whose likeliest word is right, by rule."""
    metrics: dict[str, float] = {"held_out_sentences_per_rule": N_TEST}
    for rule in grammar.RULES:
        trial = make_trial(rule)
        right = is_right(encoder, trial).float()
        metrics[f"accuracy_{rule}"] = round(float(right.mean()), 4)
        if rule == "agreement":
            metrics["accuracy_agreement_across_attractors"] = round(
                float(right[trial.crosses].mean()), 4
            )
    return metrics


def find_roles(encoder: Encoder, n_sentences: int = N_ROLES) -> dict[str, dict[str, Any]]:
    """For each rule, the head that looks most at what decides a masked word, and which is needed.

    Only places decided by an earlier one are asked: a verb, a closing bracket, a copied letter, a
    pronoun. What is measured is a weight, and what is lost when one head puts out zeros.
    """
    roles = {}
    for rule in grammar.RULES:
        trial = backward_only(make_trial(rule, n_sentences))
        weight, left = looks(encoder, trial), accuracy_without(encoder, trial)
        looker, needed = int(weight.argmax()), int(left.argmin())
        roles[rule] = {
            "looks": divmod(looker, encoder.config.n_heads),
            "weight": round(float(weight.flatten()[looker]), 3),
            "weight_if_even": round(float((1 / trial.batch.valid.sum(dim=1)).mean()), 3),
            "accuracy": round(float(is_right(encoder, trial).float().mean()), 3),
            "accuracy_without": round(float(left.flatten()[looker]), 3),
            "most_needed": divmod(needed, encoder.config.n_heads),
            "accuracy_without_most_needed": round(float(left.flatten()[needed]), 3),
        }
    return roles


def backward_only(trial: Trial) -> Trial:
    """The rows in which what decides stands before what is masked."""
    kept = trial.source < trial.at
    return Trial(Batch(*(part[kept] for part in trial.batch)), *(part[kept] for part in trial[1:]))


@torch.inference_mode()
def looks(encoder: Encoder, trial: Trial) -> Tensor:
    """The mean weight of each head, "layer head", from the masked place to the deciding one."""
    rows = torch.arange(len(trial.at))
    records = encoder(trial.batch.ids, trial.batch.valid, capture=True).records
    maps = [attention_weights(r.q, r.k, r.mask, r.scale) for r in records]
    return torch.stack([m[rows, :, trial.at, trial.source].mean(dim=0) for m in maps])


def accuracy_without(encoder: Encoder, trial: Trial) -> Tensor:
    """The accuracy that is left, "layer head", when that head alone is silent."""
    left = torch.zeros(encoder.config.n_layers, encoder.config.n_heads)
    for layer, head in product(*map(range, left.shape)):
        left[layer, head] = is_right(without(encoder, layer, head), trial).float().mean()
    return left


def without(encoder: Encoder, layer: int, head: int) -> Encoder:
    """A copy in which one head puts out zeros."""
    cut, width = copy.deepcopy(encoder), encoder.config.d_head
    with torch.no_grad():
        cut.layers[layer].attn.o.weight[:, head * width : (head + 1) * width] = 0
    return cut
