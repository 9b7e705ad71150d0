"""grammar: how often the word that decides an answer, by the language's own rule, comes first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

import viz_encoder as vz
from benchmarks.faithfulness.asked import Asked
from benchmarks.faithfulness.methods import Method, methods, shares
from scripts.grammar_roles import Twin, twins
from viz_encoder.checkpoints import LoadedEncoder

N_SENTENCES, SEED = 100, 35  # of each rule, held out, none of the seed of the tables in docs
TWINS = ("against the twin text", "the state against the twin text", "against the twin's answer")
ALONE = ("the answer", "against the runner-up", "the state")
SETTINGS = (*TWINS, *ALONE)


@dataclass(frozen=True)
class Case:
    """A sentence, its twin, and what is asked about them; words are the model's two answers."""

    twin: Twin
    asked: Asked
    words: tuple[str, str]


def cases(encoder: LoadedEncoder, rule: str, n: int = N_SENTENCES) -> list[Case]:
    """The first n sentences between which and their twins the model's answer changes."""
    found = (_case(encoder, twin) for twin in twins(rule, 2 * n, SEED))
    return [case for case in found if case is not None][:n]


def _case(encoder: LoadedEncoder, twin: Twin) -> Case | None:
    texts = (twin.clean, twin.other)
    said = [vz.analyses.predictions(encoder, vz.capture(encoder, text), n=1)[0] for text in texts]
    one, two = (each.labels[0] for each in said)
    if one == two:
        return None
    inputs = encoder.read(twin.clean)
    direction = torch.zeros(encoder.config.vocab_size, dtype=encoder.dtype)
    for word, sign in ((one, 1.0), (two, -1.0)):
        direction[encoder.reader.id_of(word)] = sign
    n_tokens = len(inputs.samples[0].tokens)
    asked = Asked(
        encoder,
        inputs,
        direction,
        units=[(at,) for at in range(n_tokens) if at != twin.mask],
        head="masked",
        token=twin.mask,
        settings=_settings(twin, two),
        effect={"measure": "masked", "answer": one, "other": two},
    )
    return Case(twin, asked, (one, two))


def _settings(twin: Twin, answer: str) -> dict[str, dict[str, object]]:
    state = {"of": "state", "token": twin.mask}
    asked = ({"against": twin.other}, state | {"against": twin.other}, {"against": answer})
    return dict(zip(SETTINGS, (*asked, {}, {"against": "runner-up"}, state), strict=True))


def rank(values: np.ndarray, at: int, without: Sequence[int] = ()) -> int:
    """1 if no other one is as large; the places in `without` do not count."""
    others = np.delete(values, [at, *without])
    return 1 + int((others >= values[at]).sum())


def ranks(method: Method, cases: Sequence[Case]) -> list[int]:
    """Where the deciding word stands among all tokens but the masked one."""
    return [rank(method.measure(c.asked), c.twin.source, [c.twin.mask]) for c in cases]


def patched(cases: Sequence[Case]) -> list[int]:
    """The head whose output from the twin's run changes the answer most, sentence by sentence."""
    encoder = cases[0].asked.encoder
    found = vz.patch(encoder, [c.twin.clean for c in cases], [c.twin.other for c in cases])
    return [int(shares.argmax()) for shares in found.shares]


def head_ranks(cases: Sequence[Case], named: Sequence[int], name: str) -> list[int]:
    """Where the named head stands among all heads of the sentence."""
    return [rank(_heads(c, name).ravel(), at) for c, at in zip(cases, named, strict=True)]


def _heads(case: Case, name: str) -> np.ndarray:
    """A value for each head, "layer head"."""
    asked, twin = case.asked, case.twin
    if name in asked.settings:
        return shares(asked, name).heads
    if name == REMOVED:
        return -vz.effect(asked.encoder, asked.inputs, **asked.effect).mean
    if name == "random":
        return np.random.default_rng(SEED + twin.source).random((4, 4))
    (trace,) = vz.capture(asked.encoder, asked.inputs)
    rows = torch.stack([trace.attention(n)[:, twin.mask] for n in range(trace.n_layers)]).numpy()
    return rows[..., twin.source] if name == LOOKS else rows.max(axis=-1)


REMOVED = "vz.effect (removed)"
LOOKS, LARGEST = "attention to the deciding word", "largest attention weight of the masked place"
HEADS = (*SETTINGS, REMOVED, LOOKS, LARGEST, "random")


def cells(by_rule: Mapping[str, Sequence[int]]) -> list[str]:
    """Share that is first, rule by rule, then the mean reciprocal rank over all sentences."""
    each = [np.array(found) for found in by_rule.values()]
    mean = (1 / np.concatenate(each)).mean()
    return [*(f"{(found == 1).mean():.2f}" for found in each), f"{mean:.3f}"]


def measured(rule: str, n: int = N_SENTENCES) -> dict[str, dict[str, list[int]]]:
    """Ranks in both tables, by the name of the row, for the sentences of one rule."""
    each = cases(vz.load("grammar", device="cpu"), rule, n)
    named = patched(each)
    words = {method.name: ranks(method, each) for method in methods(*SETTINGS)}
    heads = {
        f"vz.attribute, {name}" if name in SETTINGS else name: head_ranks(each, named, name)
        for name in HEADS
    }
    return {"words": words, "heads": heads}
