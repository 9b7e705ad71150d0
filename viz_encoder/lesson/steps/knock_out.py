"""Step 9, knock-out: a word taken from all, and what the model says then; what carried it."""

import numpy as np

from viz_encoder.analyses.predictions import predictions
from viz_encoder.config import Task
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number, at_mask
from viz_encoder.lesson.grammar import CONJUNCTIONS
from viz_encoder.lesson.grammar import other_word as other_word_of
from viz_encoder.lesson.pictured import deciding_patch, flipping_patches, hidden_together
from viz_encoder.lesson.texts import Shown, Token
from viz_encoder.trace.capture import capture

N_CHOICES = 6
MOST_LISTED = 16


@at_mask
def deciding_word(asked: Asked) -> AnswerChoice | None:
    """A word without which the answer is another; where there is none, what costs it the most."""
    if asked.turned is not None:
        return _turning_word(asked, asked.turned)
    if asked.trace.grid is not None:
        return deciding_patch(asked)
    found = asked.without
    if found is None or len(asked.own) < 2:
        return None
    order = sorted(asked.own, key=asked.left.__getitem__)
    changing = [at for at in order if found.answers[at] != asked.answer]
    best = asked.deciding if asked.deciding in changing or not changing else changing[0]
    if best is None or (not changing and asked.tied != [best]):
        return None
    attended = max(asked.own, key=lambda at: asked.row[at])
    near = [at for at in asked.own if at != best and other_word_of(asked.token(at)) is not None]
    offered = sorted({best, attended, *near[:1], *changing[: N_CHOICES - 3]})
    left = [at for at in order if at not in offered]
    offered = sorted([*offered, *left[: N_CHOICES - len(offered)]])
    return AnswerChoice(
        tuple(f"{at}: {asked.token(at)}" for at in offered),
        offered.index(best),
        given={
            "word": Token(asked.answer),
            "share": Shown(float(found.untouched[1]), 3),
            "left": Shown(asked.left[best], 3),
            "then": Token(str(found.answers[best])),
            "changing": tuple(Token(asked.token(at)) for at in sorted(changing)) or ("–",),
            "head": asked.name,
            "attended": Token(asked.token(attended)),
        },
        mistakes={"attended": offered.index(attended)},
        verbatim=True,
        named=Token(asked.token(best)),
        variant="flips" if changing else "",
        also=tuple(offered.index(at) for at in offered if at in changing and at != best),
    )


def _turning_word(asked: Asked, turned: dict[int, float]) -> AnswerChoice | None:
    """For a model without answers: the word whose removal turns its vector the most."""
    order = sorted(turned, key=turned.__getitem__, reverse=True)
    if len(order) < 2 or round(turned[order[0]], 3) == round(turned[order[1]], 3):
        return None
    attended = max(order, key=lambda at: asked.row[at])
    offered = sorted({*order[: N_CHOICES - 2], attended})
    return AnswerChoice(
        tuple(f"{at}: {asked.token(at)}" for at in offered),
        offered.index(order[0]),
        given={
            "by": Shown(turned[order[0]], 3),
            "next": Token(asked.token(order[1])),
            "less": Shown(turned[order[1]], 3),
            "head": asked.name,
            "attended": Token(asked.token(attended)),
        },
        mistakes={"attended": offered.index(attended)},
        verbatim=True,
        named=Token(asked.token(order[0])),
        variant="vector",
    )


@at_mask
def flips(asked: Asked) -> Number | None:
    """Number of words that change the answer when removed alone."""
    if asked.turned is not None:
        return _turning(asked, asked.turned)
    if asked.trace.grid is not None:
        return flipping_patches(asked)
    found = asked.without
    if found is None:
        return None
    changed = [at for at in asked.own if found.answers[at] != asked.answer]
    return Number(
        len(changed),
        given={
            "word": Token(asked.answer),
            "n_words": len(asked.own),
            "changing": tuple(Token(asked.token(at)) for at in changed) or ("–",),
        },
        mistakes={"one": 1, "all": len(asked.own), "special": _n_flipping(asked)},
    )


def _turning(asked: Asked, turned: dict[int, float]) -> Number | None:
    """Number of words that turn the vector by more than the mean, by the printed numbers."""
    printed = {at: Shown(by, 3) for at, by in turned.items()}
    if not 2 <= len(printed) <= MOST_LISTED:
        return None
    mean = sum(by.rounded for by in printed.values()) / len(printed)
    above = [at for at, by in printed.items() if by.rounded > mean]
    return Number(
        len(above),
        given={
            "effects": tuple((Token(asked.token(at)), by) for at, by in printed.items()),
            "mean": Shown(mean, 4),
            "changing": tuple(Token(asked.token(at)) for at in above) or ("–",),
        },
        mistakes={
            "below": len(printed) - len(above),
            "half": sum(by.rounded > _median(printed) for by in printed.values()),
            "all_words": len(printed),
        },
        variant="vector",
    )


def _median(printed: dict[int, Shown]) -> float:
    return float(np.median([by.rounded for by in printed.values()]))


@at_mask
def other_word(asked: Asked) -> AnswerChoice | None:
    """The prediction at [MASK] if the deciding word is replaced."""
    if asked.trace.grid is not None:
        return hidden_together(asked)
    place = _swapped(asked)
    new = None if place is None else other_word_of(asked.token(place))
    if place is None or new is None:
        return None
    start, stop = asked.trace.sample.spans[place]
    text = asked.trace.sample.texts[0]
    now = capture(asked.encoder, f"{text[:start]}{new}{text[stop:]}")
    if now.n_tokens != asked.trace.n_tokens:
        return None
    found = predictions(asked.encoder, now, task=Task.MASKED, tokens=[asked.query], n=3)[0]
    words = tuple(sorted({*found.labels, asked.answer}))
    return AnswerChoice(
        words,
        words.index(found.labels[0]),
        given={
            "old": Token(asked.token(place)),
            "new": Token(new),
            "word": Token(asked.answer),
            "share": Shown(float(found.shares[0]), 3),
        },
        mistakes={"unchanged": words.index(asked.answer)},
        verbatim=True,
    )


def _swapped(asked: Asked) -> int | None:
    """The place of a conjunction, which decides who is meant, or of the deciding word."""
    if len(asked.trace.sample.texts) != 1 or not asked.trace.sample.spans:
        return None
    joining = [at for at in asked.own if asked.token(at) in CONJUNCTIONS]
    return joining[0] if joining else asked.deciding


def _n_flipping(asked: Asked) -> int:
    """The number with special tokens included."""
    found = asked.without
    assert found is not None
    return int(np.sum([bool(said) and said != asked.answer for said in found.answers]))
