"""The grammar model once more, in numpy and float64 from its file: nothing of the package runs."""

import json
import math

import numpy as np
from safetensors.numpy import load_file

from viz_encoder.bundled import asset

N_HEADS, WIDTH = 4, 64
EPS = 1e-6
WEIGHTS = {
    name: tensor.astype(np.float64)
    for name, tensor in load_file(asset("models/grammar/model.safetensors")).items()
}
VOCABULARY = json.loads(asset("models/grammar/tokenizer.json").read_text())["model"]["vocab"]
WORDS = {number: word for word, number in VOCABULARY.items()}


def norm(x, name):
    apart = x - x.mean(axis=-1, keepdims=True)
    scaled = apart / np.sqrt((apart**2).mean(axis=-1, keepdims=True) + EPS)
    return scaled * WEIGHTS[f"{name}.weight"] + WEIGHTS[f"{name}.bias"]


def linear(x, name):
    return x @ WEIGHTS[f"{name}.weight"].T + WEIGHTS[f"{name}.bias"]


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(scores):
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


class Run:
    """All that happens to one text, by layer; `allowed` is "query key", True = may attend.

    Heads that are removed, as (layer, head), put out 0.
    """

    def __init__(self, text, allowed=None, positions=True, removed=()):
        self.words, self.removed = ["[CLS]", *text.split(), "[SEP]"], removed
        self.ids = [VOCABULARY.get(word, VOCABULARY["[UNK]"]) for word in self.words]
        n = len(self.ids)
        self.rows = WEIGHTS["embed.tokens.word.weight"][self.ids]
        self.places = WEIGHTS["embed.position"][:n] * positions
        x = self.rows + self.places
        self.allowed = np.ones((n, n), bool) if allowed is None else allowed
        self.states, self.blocks = [x], []
        for number in range(4):
            x = self.block(x, number)
            self.states.append(x)
        self.output = norm(x, "final_norm")

    def block(self, x, number):
        name = f"layers.{number}"
        entering = norm(x, f"{name}.attn_norm")
        q, k, v = (self.heads(linear(entering, f"{name}.attn.{one}")) for one in "qkv")
        products = q @ k.transpose(0, 2, 1)
        scores = np.where(self.allowed, products / math.sqrt(WIDTH // N_HEADS), -np.inf)
        weights = softmax(scores)
        mixed = weights @ v
        mixed[[head for layer, head in self.removed if layer == number]] = 0
        matrix = WEIGHTS[f"{name}.attn.o.weight"]
        parts = np.stack([mixed[h] @ matrix[:, 16 * h : 16 * h + 16].T for h in range(N_HEADS)])
        attention = parts.sum(axis=0) + WEIGHTS[f"{name}.attn.o.bias"]
        middle = x + attention
        before = linear(norm(middle, f"{name}.ff_norm"), f"{name}.ff.up")
        self.blocks.append(
            {
                "x": x,
                "entering": entering,
                "q": q,
                "products": products,
                "weights": weights,
                "parts": parts,
                "attention": attention,
                "before": before,
            }
        )
        return middle + linear(gelu(before), f"{name}.ff.down")

    @staticmethod
    def heads(x):
        return x.reshape(len(x), N_HEADS, -1).transpose(1, 0, 2)

    def shares(self, at, state=None):
        """How likely each word is at a place, of the output or of an earlier state."""
        x = self.output[at] if state is None else norm(self.states[state][at], "final_norm")
        x = norm(gelu(linear(x, "heads.masked.dense")), "heads.masked.norm")
        return softmax(linear(x, "heads.masked.out"))

    def said(self, at, state=None):
        return WORDS[int(self.shares(at, state).argmax())]

    def share(self, word, at):
        return self.shares(at)[VOCABULARY[word]]


def without(text, away):
    """The run in which nobody may attend to one token."""
    n = len(text.split()) + 2
    allowed = np.ones((n, n), bool)
    allowed[:, away] = False
    return Run(text, allowed)


def windowed(text, reach):
    places = np.arange(len(text.split()) + 2)
    return Run(text, abs(places[:, None] - places) <= reach)
