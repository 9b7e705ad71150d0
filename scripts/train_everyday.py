"""Train the built-in "everyday" model: it fills a word of plain sentences and names their parts.

python scripts/train_everyday.py               trains, saves the weights and prints its numbers
python scripts/train_everyday.py --evaluate    prints the numbers of assets/models/everyday

A sentence is a subject, a verb and where to: "the cat sat on the mat". The preposition follows from
the verb and the last noun, so whether a filled word is right can be checked. Sentences whose
subject, verb and last noun stand together in the held-out tenth are never trained on.
"""

import argparse
import hashlib
import random
import sys
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # runs from a checkout that is not installed

from scripts import trained_folder  # noqa: E402
from viz_encoder.config import HeadConfig  # noqa: E402
from viz_encoder.model import Encoder  # noqa: E402

MODEL = ROOT / "assets" / "models" / "everyday"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, _, CLS, SEP, MASK = range(len(SPECIAL))
BEINGS = (
    *("cat", "dog", "bird", "mouse", "horse", "boy"),
    *("girl", "man", "woman", "child", "teacher", "doctor"),
)
ADJECTIVES = ("old", "young", "small", "big", "happy", "tired", "black", "white")
# Verbs, and by its last noun the one preposition that goes with them; "" = none, an object.
GROUPS: tuple[tuple[str, dict[str, str]], ...] = (
    ("sat slept rested lay", {
        "on": "mat sofa bed chair floor rug grass roof", "in": "box basket garden kitchen car",
        "under": "table tree bridge umbrella", "beside": "fire river window",
    }),
    ("walked ran went came", {
        "to": "school park station shop market", "through": "forest tunnel gate door",
        "across": "street field bridge road", "along": "beach river wall",
    }),
    ("looked stared smiled pointed", {"at": f"moon picture clock map {' '.join(BEINGS)}"}),
    ("waited asked hoped", {"for": "bus train letter answer dinner"}),
    ("saw found liked followed", {"": f"fish ball book moon {' '.join(BEINGS)}"}),
    ("talked listened sang", {"to": " ".join(BEINGS), "about": "book weather game"}),
)  # fmt: skip
RULES = [
    (verb, noun, preposition)
    for verbs, places in GROUPS
    for verb in verbs.split()
    for preposition, nouns in places.items()
    for noun in nouns.split()
]
LABELS = ("other", "determiner", "adjective", "subject", "verb", "preposition", "object")
DETERMINERS = ("the", "a")
WORDS = tuple(
    dict.fromkeys(
        (*DETERMINERS, *BEINGS, *ADJECTIVES, *(w for rule in RULES for w in (*rule[::2], rule[1])))
    )
)
IDS = {name: at for at, name in enumerate((*SPECIAL, *filter(None, WORDS)))}
CONFIG = trained_folder.small_bert(
    len(IDS), HeadConfig("tokens", n_out=len(LABELS), labels=LABELS), n_layers=3
)
N_STEPS, BATCH, SEED = 1500, 64, 1
LEARNING_RATE, WEIGHT_DECAY = 4e-3, 0.01
N_TESTED = 2000


class Sentence(NamedTuple):
    """Its words, what each is, and where the preposition stands; None without one."""

    words: list[str]
    labels: list[str]
    rule: tuple[str, str, str]
    preposition: int | None


def draw(rng: random.Random, held_out: bool) -> Sentence:
    """A sentence of one half of the language."""
    while True:
        subject, rule = rng.choice(BEINGS), rng.choice(RULES)
        digest = hashlib.sha256(" ".join((subject, *rule)).encode()).digest()
        if rule[1] != subject and (digest[0] < 26) == held_out:
            break
    verb, noun, preposition = rule
    parts = [*_phrase(rng, subject, "subject"), (verb, "verb")]
    at = len(parts) if preposition else None
    parts += [(preposition, "preposition")] if preposition else []
    parts += _phrase(rng, noun, "object")
    words, labels = map(list, zip(*parts, strict=True))
    return Sentence(words, labels, rule, at)


def _phrase(rng: random.Random, noun: str, label: str) -> list[tuple[str, str]]:
    adjective = [(rng.choice(ADJECTIVES), "adjective")] if rng.random() < 0.3 else []
    return [(rng.choice((*DETERMINERS, "the")), "determiner"), *adjective, (noun, label)]


class Batch(NamedTuple):
    """Ids, real tokens, the masked words (−1 elsewhere) and the labels (−1 for padding)."""

    ids: Tensor
    valid: Tensor
    masked: Tensor
    labels: Tensor


def as_batch(sentences: list[Sentence], places: list[list[int]]) -> Batch:
    """The sentences with [CLS] and [SEP], these places masked."""
    shape = len(sentences), max(len(one.words) for one in sentences) + 2
    ids = torch.full(shape, PAD)
    masked, labels = torch.full(shape, -1), torch.full(shape, -1)
    for row, (one, hidden) in enumerate(zip(sentences, places, strict=True)):
        numbers = [CLS, *(IDS[word] for word in one.words), SEP]
        kinds = [0, *map(LABELS.index, one.labels), 0]
        for place in hidden:
            masked[row, place + 1], numbers[place + 1] = numbers[place + 1], MASK
        ids[row, : len(numbers)] = torch.tensor(numbers)
        labels[row, : len(kinds)] = torch.tensor(kinds)
    return Batch(ids, ids != PAD, masked, labels)


def train() -> Encoder:
    """The encoder after N_STEPS batches of new sentences, both heads trained together."""
    torch.manual_seed(SEED)
    encoder, rng = Encoder(CONFIG), random.Random(SEED)
    torch.nn.init.normal_(encoder.embed.tokens.word.weight, std=0.5)
    torch.nn.init.normal_(encoder.embed.position, std=0.5)
    optimizer = torch.optim.AdamW(encoder.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=N_STEPS)
    for step in range(1, N_STEPS + 1):
        sentences = [draw(rng, False) for _ in range(BATCH)]
        hidden = [rng.sample(range(len(s.words)), rng.choice((1, 1, 2))) for s in sentences]
        batch = as_batch(sentences, hidden)
        state = encoder(batch.ids, batch.valid).output
        loss = F.cross_entropy(
            encoder.heads["masked"](state)[batch.masked >= 0], batch.masked[batch.masked >= 0]
        )
        labels = encoder.heads["tokens"](state)[batch.labels >= 0]
        loss = loss + 0.5 * F.cross_entropy(labels, batch.labels[batch.labels >= 0])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        cycle.step()
        if step % 250 == 0:
            print(f"step {step}: loss {float(loss.detach()):.3f}", flush=True)
    return encoder.eval()


@torch.inference_mode()
def evaluate(encoder: Encoder) -> dict[str, float]:
    """Held-out numbers: the preposition filled right, verbs and nouns that fit it, the labels."""
    rng = random.Random(SEED + 1)
    sentences = [draw(rng, True) for _ in range(N_TESTED)]
    found = {}
    with_one = [one for one in sentences if one.preposition is not None]
    batch = as_batch(with_one, [[one.preposition] for one in with_one])  # type: ignore[list-item]
    state = encoder(batch.ids, batch.valid).output
    guessed = encoder.heads["masked"](state)[batch.masked >= 0].argmax(dim=-1)
    right = guessed == batch.masked[batch.masked >= 0]
    found["preposition filled right"] = float(right.float().mean())
    names, rules = list(IDS), set(RULES)
    for what, place in (("verb", -1), ("last noun", 1)):
        hidden = [
            len(one.words) - 1 if place == 1 else one.labels.index("verb") for one in sentences
        ]
        batch = as_batch(sentences, [[at] for at in hidden])
        state = encoder(batch.ids, batch.valid).output
        said = [names[at] for at in encoder.heads["masked"](state)[batch.masked >= 0].argmax(-1)]
        fits = [
            ((word, s.rule[1], s.rule[2]) if place == -1 else (s.rule[0], word, s.rule[2])) in rules
            for word, s in zip(said, sentences, strict=True)
        ]
        found[f"{what} that fits"] = sum(fits) / len(fits)
    batch = as_batch(sentences, [[] for _ in sentences])
    labels = encoder.heads["tokens"](encoder(batch.ids, batch.valid).output).argmax(dim=-1)
    found["parts of a sentence named right"] = float(
        (labels == batch.labels)[batch.labels >= 0].float().mean()
    )
    return {name: round(value, 4) for name, value in found.items()}


def save(encoder: Encoder, metrics: dict[str, float]) -> None:
    """Write the model folder."""
    about = {
        "title": "everyday: a small BERT that fills words of plain sentences and names their parts",
        "description": "Trained on the sentences of scripts/train_everyday.py.",
        "license": "Apache-2.0",
        "pad_token_id": PAD,
    }
    tokenizer = trained_folder.word_tokenizer(IDS, SPECIAL)
    trained_folder.write(MODEL, encoder, about, {"metrics": metrics}, tokenizer)


def load() -> Encoder:
    """The encoder that is shipped."""
    return trained_folder.read(MODEL, CONFIG)


def main() -> None:
    """Train, or only evaluate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluate", action="store_true", help="measure the shipped weights")
    wish = parser.parse_args()
    torch.set_num_threads(1)
    if not wish.evaluate:
        save(train(), {})
    metrics = evaluate(load())
    if not wish.evaluate:
        save(load(), metrics)
    for name, value in metrics.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
