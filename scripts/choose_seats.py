"""Choose the seats' sentences for assets/lessons/seats.txt: in each, one word decides.

A sentence is taken if it was never trained on, the model is right, hiding the word that decides
changes the answer and hiding any other does not, a head looks at that word most, and every
exercise can be asked. Where several heads look at it, one is taken without which nothing changes:
looking is not doing. Run: python scripts/choose_seats.py
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

import viz_encoder as vz
from scripts.grammar import PRONOUN, Sentence, draw
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.lesson.asked import Asked, asked_of
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.seats import LAST_SEAT
from viz_encoder.trace.capture import captured

SEED = 17
FEWEST_WORDS, MOST_WORDS = 5, 11  # whose scores a question can list
EVERY = 16  # the share of sentences with a pronoun: there are fewer of them
TRIES = 20_000
LEAST_WINDOW = 2
MOST_WEIGHT = 0.99  # else nothing is left for the next key


class Drawn(NamedTuple):
    """A sentence with a word masked, whose place counts the words."""

    said: str  # the whole sentence
    word: str  # the only one that is right at [MASK]
    masked: int
    source: int  # the place of the word that decides

    @property
    def text(self) -> str:
        """With [MASK]."""
        words = self.said.split()
        return " ".join([*words[: self.masked], "[MASK]", *words[self.masked + 1 :]])


def main() -> None:
    """Write the file."""
    rng, encoder = random.Random(SEED), vz.load("grammar", device="cpu")
    n_references = LAST_SEAT // EVERY
    wanted = {"reference": n_references, "agreement": LAST_SEAT - n_references}
    pools = {rule: list(_chosen(encoder, rule, n, rng)) for rule, n in wanted.items()}
    lines = [
        pools["reference" if at % EVERY == EVERY - 1 else "agreement"] for at in range(LAST_SEAT)
    ]
    text = "".join(pool.pop(0) + "\n" for pool in lines)
    asset("lessons/seats.txt").write_text(text, encoding="utf-8")


def _chosen(encoder: LoadedEncoder, rule: str, n: int, rng: random.Random) -> Iterator[str]:
    seen = set[str]()
    for _ in range(TRIES):
        one = masked(draw(rule, rng, held_out=True), rule, rng)
        if one is None or one.text in seen:
            continue
        seen.add(one.text)
        head = _head(encoder, one)
        if head is not None:
            yield " ".join(
                [rule, f"{head[0]}.{head[1]}", str(one.masked), str(one.source), one.said]
            )
            n -= 1
            print(rule, n, end="\r", flush=True)
        if not n:
            return
    raise RuntimeError(f"{n} sentences of {rule} are missing.")


def _head(encoder: LoadedEncoder, one: Drawn) -> tuple[int, int] | None:
    """The head that a seat follows; None if its sentence will not do."""
    inputs = encoder.read(one.text)
    trace, query, key = captured(encoder, inputs)[0], one.masked + 1, one.source + 1
    asked = asked_of(encoder, inputs, trace, query=query, seat=1)
    if asked.answer != one.word or asked.without is None or asked.contrast is None:
        return None
    changing = [at for at in asked.own if asked.without.answers[at] != one.word]
    if changing != [key] or asked.contrast.twin is None or asked.contrast.twin.at != key:
        return None
    heads = [
        (layer, head)
        for layer in range(1, trace.n_layers)
        for head in range(trace.n_heads)
        if int((row := trace.attention(layer, head)[query]).argmax()) == key
        and row[key] < MOST_WEIGHT
    ]
    effects = asked.contrast.heads
    if not heads or effects is None:
        return None
    idle = [each for each in heads if effects.answers[0][each] == one.word]
    layer, head = max(idle or heads, key=lambda each: float(trace.attention(*each)[query, key]))
    at = asked_of(encoder, inputs, trace, layer=layer, head=head, query=query, key=key, seat=1)
    return (layer, head) if _asks_all(at) else None


def _asks_all(asked: Asked) -> bool:
    posed = exercises(asked)
    windows = [each["answer"] for each in posed if each["id"] == "smallest-window"]
    return len(posed) == N_POSED and windows[0] >= LEAST_WINDOW


N_POSED = 39


def masked(made: Sentence, rule: str, rng: random.Random) -> Drawn | None:
    """The sentence with one word masked, at a place where only that word is right."""
    places = [at for at, words in sorted(made.answers.items()) if len(words) == 1]
    if not FEWEST_WORDS <= len(made.words) <= MOST_WORDS or not places:
        return None
    if rule == "reference" and len({PRONOUN[word] for word in made.words if word in PRONOUN}) < 2:
        return None  # whoever is meant, the answer would be the same
    at = rng.choice(places)
    return Drawn(" ".join(made.words), made.words[at], at, made.sources[at])


if __name__ == "__main__":
    main()
