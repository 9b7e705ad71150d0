"""Numbers for tests/web/lesson_file.test.js in float64: python -m tests.lesson.web_numbers."""

import json
import math
from pathlib import Path

import numpy as np
import torch

import viz_encoder as vz
from tests.lesson.by_hand import WEIGHTS, Run, without
from viz_encoder.config.weight_parts import layer_cost, weight_parts
from viz_encoder.lesson.seats import OWN_SENTENCE, seat
from viz_encoder.ui.state.built import Built

FILE = Path(__file__).with_suffix(".json")
DIGITS = 9
N_LONGEST = 22
TEXTS = (
    OWN_SENTENCE,
    "[CLS] The cat sat [MASK] the mat [SEP]",
    "[CLS] [SEP]",
    "Ünïcode cat-dog’s [mask] (x){ $5\t`key`   [UNK][MASK]keys",
    "the " * 40,
    "the keys are old [PAD] [PAD]",
    "[CLS] the keys [SEP] [PAD]",
    "[PAD] [CLS] the [PAD] keys[PAD]",
    "the \\[PAD] keys \\\\[PAD] \\[PAD][PAD]",
    "the " * 18 + "[PAD] " * 9,
)
SIZES: tuple[dict[str, object], ...] = (
    {},
    {"norm": "pre", "positions": "learned", "V": 256, "d_model": 96, "n_heads": 6, "T": 33},
    {"positions": "relative", "n_layers": 2, "d_ff": 100, "activation": "gelu"},
    {"positions": "rotary", "V": 6, "n_heads": 4, "d_model": 64, "T": 1},
    {"positions": "none", "d_model": 7, "n_heads": 7, "norm": "pre"},
)
REFUSED: tuple[dict[str, object], ...] = (
    {"V": 5},
    {"d_model": 100},
    {"T": 0},
    {"n_layers": 10**8},
    {"positions": "rotary", "d_model": 24},
)


def runs():
    """Runs with every kind of change."""
    n = len(OWN_SENTENCE.split()) + 2
    places = np.arange(n)
    window = abs(places[:, None] - places) <= 2
    alone = window & (places != 3)
    longest = " ".join(("the key to the cabinets near a dog " * 3).split()[:N_LONGEST])
    padded = OWN_SENTENCE.replace("keys", "keys [PAD]")
    real = np.broadcast_to(np.arange(n + 1) != 3, (n + 1, n + 1))
    unknown, causal = "the cat sat [MASK] zebra", places[:, None] >= places
    removed = [[2, 0], [0, 3]]
    made = [
        (OWN_SENTENCE, {}, Run(OWN_SENTENCE)),
        (seat(17).text, {}, Run(seat(17).text)),
        (longest, {}, Run(longest)),
        (unknown, {"positions": False}, Run(unknown, positions=False)),
        (OWN_SENTENCE, {"causal": True}, Run(OWN_SENTENCE, causal)),
        (OWN_SENTENCE, {"removed": removed}, Run(OWN_SENTENCE, removed=removed)),
        (OWN_SENTENCE, {"mask": window.tolist()}, Run(OWN_SENTENCE, window)),
        (OWN_SENTENCE, {"mask": window.tolist(), "hidden": [3]}, Run(OWN_SENTENCE, alone)),
        (padded, {"padding": [3]}, Run(padded, real)),
    ]
    return [
        {"text": text, "changes": changes, "output": run.output, "weights": _rows(run)}
        for text, changes, run in made
    ]


def _rows(run):
    """The last query's weights in every layer and head."""
    return [block["weights"][:, -1] for block in run.blocks]


def step():
    """The lesson's own place, part by part."""
    run, layer, query = Run(OWN_SENTENCE), 2, 6
    block = run.blocks[layer]
    return {
        "place": {"layer": layer, "head": 0, "query": query, "key": 2, "dim": 3},
        "token": run.rows[query],
        "position": run.places[query],
        "x": block["x"][query],
        "entering": block["entering"][query],
        "q": block["q"][0, query],
        "dots": block["products"][0, query],
        "weights": block["weights"][0, query],
        "parts": block["parts"][:, query],
        "attention": block["attention"][query],
        "before": block["before"][query],
        "out": run.states[layer + 1][query],
    }


def depth():
    """The answer after each block, and without each token."""
    run = Run(OWN_SENTENCE)
    apart = [None if at == 6 else without(OWN_SENTENCE, at) for at in range(9)]

    def logit(each):
        return np.log(each.share("are", 6) / each.share("is", 6))

    return {
        "said": [run.said(6, state) for state in range(5)],
        "shares": [run.shares(6, state).max() for state in range(5)],
        "effects": [None if each is None else logit(each) - logit(run) for each in apart],
        "answers": ["" if each is None else each.said(6) for each in apart],
        "turned": turned(run, apart[2], 6),
    }


def turned(run, without_one, at):
    """By how much each state of a token turns without another."""
    pairs = zip(run.states, without_one.states, strict=True)
    return [1 - one[at] @ two[at] / np.linalg.norm(one[at]) / np.linalg.norm(two[at])
            for one, two in pairs]  # fmt: skip


def heads():
    """The answer without each head."""
    gone = [[Run(OWN_SENTENCE, removed=[(layer, head)]) for head in range(4)] for layer in range(4)]
    return {
        "answers": [[each.said(6) for each in row] for row in gone],
        "shares": [[each.shares(6).max() for each in row] for row in gone],
    }


def carried():
    """The shares of tokens and biases, by the package: of the answer here and in the twin."""
    encoder = vz.load("grammar", device="cpu", dtype=torch.float64)
    texts = {"here": OWN_SENTENCE, "there": OWN_SENTENCE.replace("keys", "key")}
    found = {
        name: vz.attribute(encoder, text, token=6, label="are", against="is")
        for name, text in texts.items()
    }
    found["vector"] = vz.attribute(encoder, "the cat sleeps", of="pooled")
    return {name: [*each.tokens.tolist(), each.biases] for name, each in found.items()}


def readings():
    """What the tokenizer makes of texts, and which of it is padding."""
    encoder = vz.load("grammar", device="cpu")
    read = [encoder.read(text) for text in TEXTS]
    rows = [(each.values[0].tolist(), (~each.valid[0]).nonzero()[:, 0].tolist()) for each in read]
    return [[text, *row] for text, row in zip(TEXTS, rows, strict=True)]


def counts():
    """Weights part by part, as the Learn tab's server counts them."""
    told = []
    for sizes in SIZES:
        built = Built.of(sizes)
        cost = layer_cost(built.config, built.T)
        parts = [[part.name, part.formula, part.count] for part in weight_parts(built.config)]
        costs = [cost.scores, cost.feed_forward, cost.projections, cost.equal_at]
        told.append([{name: str(value) for name, value in sizes.items()}, parts, costs])
    return told


def numbers():
    """All of them."""
    return {
        "n_weights": sum(each.size for each in WEIGHTS.values()),
        "erf": [[x, math.erf(x)] for x in (0, 1e-9, -0.3, 0.7, -1.5, 2.9, -4.2, 5.8, -5.99, 7)],
        "runs": runs(),
        "step": step(),
        "depth": depth(),
        "heads": heads(),
        "carried": carried(),
        "readings": readings(),
        "counts": counts(),
        "refused": [{name: str(value) for name, value in sizes.items()} for sizes in REFUSED],
    }


def plain(value):
    """For JSON, with as many digits as the comparison needs."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.floating | float):
        return float(f"{value:.{DIGITS}g}")
    return value


if __name__ == "__main__":
    FILE.write_text(json.dumps(plain(numbers()), ensure_ascii=False) + "\n", encoding="utf-8")
