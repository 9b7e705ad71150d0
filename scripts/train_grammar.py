"""Train the built-in "grammar" model: a small BERT that fills masked words of a checkable language.

python scripts/train_grammar.py               trains, saves the weights and prints its numbers
python scripts/train_grammar.py --evaluate    prints the numbers of assets/models/grammar

scripts/grammar.py makes the language. No loss looks at an attention weight.
"""

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # runs from a checkout that is not installed

from scripts import grammar, trained_folder  # noqa: E402
from scripts.measure_grammar import (  # noqa: E402
    IDS,
    PAD,
    Batch,
    as_batch,
    evaluate,
    find_roles,
    guess,
)
from viz_encoder.model import Encoder  # noqa: E402

MODEL = ROOT / "assets" / "models" / "grammar"
CONFIG = trained_folder.small_bert(len(IDS), n_layers=4)
N_STEPS, BATCH = 8000, 64
MASKED_SHARE = (0.15, 0.25)  # of a sentence's words, drawn anew for each; at least one
LEARNING_RATE, MUON_RATE, WEIGHT_DECAY = 3e-3, 0.02, 0.01
SEED = 1
N_THREADS = 1  # sums come out alike on any machine


def next_batch(rng: random.Random) -> Batch:
    """New sentences, as many of each rule; each mask is a [MASK], never another word."""
    rules = list(grammar.RULES)
    sentences = [grammar.draw(rules[n % len(rules)], rng, False).words for n in range(BATCH)]
    counts = [max(1, round(rng.uniform(*MASKED_SHARE) * len(words))) for words in sentences]
    masked = [rng.sample(range(len(s)), n) for s, n in zip(sentences, counts, strict=True)]
    return as_batch(sentences, masked)


def train() -> Encoder:
    """The encoder after N_STEPS batches; nothing here depends on the held-out sentences."""
    torch.manual_seed(SEED)
    encoder, rng = Encoder(CONFIG), random.Random(SEED)
    nn.init.normal_(encoder.embed.tokens.word.weight, std=0.5)
    nn.init.normal_(encoder.embed.position, std=0.5)
    steppers, start, total = optimizers(encoder), time.perf_counter(), 0.0
    for step in range(1, N_STEPS + 1):
        batch = next_batch(rng)
        loss = F.cross_entropy(guess(encoder, batch), batch.words[batch.words >= 0])
        loss.backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        for optimizer, schedule in steppers:
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
        total += float(loss.detach()) / 200
        if step % 200 == 0:
            print(f"step {step}, {time.perf_counter() - start:.0f} s: loss {total:.3f}", flush=True)
            total = 0.0
    return encoder.eval()


def optimizers(encoder: Encoder) -> list[trained_folder.Stepper]:
    """Muon (Jordan et al., 2024) for the blocks' matrices, AdamW for all else, both one-cycle."""
    matrices, others = trained_folder.matrices_and_others(encoder)
    rates = MUON_RATE, LEARNING_RATE
    return trained_folder.muon_and_adam(matrices, others, rates, WEIGHT_DECAY, N_STEPS)


def save(encoder: Encoder, measured: dict[str, Any]) -> None:
    """Write the model folder."""
    about = {
        "title": "grammar: a small BERT that fills masked words of a checkable language",
        "description": "Trained on sentences of the four rules of viz_encoder/lesson/grammar.py.",
        "license": "Apache-2.0",
        "pad_token_id": PAD,
    }
    tokenizer = trained_folder.word_tokenizer(IDS, grammar.SPECIAL)
    trained_folder.write(MODEL, encoder, about, measured, tokenizer)


def load() -> Encoder:
    """The encoder that is shipped."""
    return trained_folder.read(MODEL, CONFIG)


def show(measured: dict[str, Any]) -> None:
    """Print the numbers, one sentence a head."""
    for name, value in measured["metrics"].items():
        print(f"{name}: {value}")
    for rule, role in measured["heads"].items():
        print(
            "{rule}: layer {looks[0]} head {looks[1]} puts {weight} of its weight from the masked "
            "place on the one that decides it ({weight_if_even} if even); of {accuracy} right, "
            "{accuracy_without} are left without it, and {accuracy_without_most_needed} without "
            "layer {most_needed[0]} head {most_needed[1]}".format(rule=rule, **role)
        )


def main() -> None:
    """Train, or only evaluate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluate", action="store_true", help="measure the shipped weights")
    wish = parser.parse_args()
    torch.set_num_threads(N_THREADS)
    torch.use_deterministic_algorithms(True)
    if not wish.evaluate:
        save(train(), {})
    encoder = load()
    measured = {"metrics": evaluate(encoder), "heads": find_roles(encoder)}
    if not wish.evaluate:
        save(encoder, measured)
    show(measured)


if __name__ == "__main__":
    main()
