"""What carried the answer: the exercises on shares, of a run with its attention weights held."""

import numpy as np

from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number
from viz_encoder.lesson.texts import Shown, TextValue, Token

MOST_LISTED = 16  # tokens whose shares a question lists
N_CHOICES = 5
FEW = 3  # of a smaller score two decimals are asked for


def sum_of_shares(asked: Asked) -> Number | None:
    """The score as the sum of the tokens' shares and that of the biases."""
    found = None if asked.contrast is None else asked.contrast.carried
    if found is None or len(found.tokens) > MOST_LISTED:
        return None
    shares, biases = [round(float(each), 2) for each in found.tokens], round(found.biases, 2)
    return Number(
        found.score,
        decimals=1 if abs(found.score) >= FEW else 2,
        given={
            **_words(asked),
            "shares": tuple(
                (Token(asked.token(at)), Shown(share, 2)) for at, share in enumerate(shares)
            ),
            "biases": Shown(biases, 2),
        },
        mistakes={
            "no_biases": float(found.tokens.sum()),
            "signs": float(np.abs(found.tokens).sum()) + found.biases,
        },
        printed=sum(shares) + biases,
        variant="" if asked.answer else "vector",
    )


def twin_share(asked: Asked) -> AnswerChoice | None:
    """The word whose share is most unlike that in the twin; without answers, the largest share."""
    contrast = asked.contrast
    found = None if contrast is None else contrast.carried
    own = [at for at in asked.own if found is not None and at < len(found.tokens)]
    if contrast is None or found is None or len(own) < 2:
        return None
    moved = np.abs(found.tokens)
    given: dict[str, TextValue] = {**_words(asked)}
    if asked.answer:
        twin, other = contrast.twin, contrast.carried_in_twin
        if twin is None or other is None:
            return None
        moved = np.abs(found.tokens - other.tokens)
        given |= {"old": Token(asked.token(twin.at)), "new": Token(twin.word)}
        given |= {"there": Shown(float(other.tokens[twin.at]), 2)}
    order = sorted(own, key=lambda at: -moved[at])
    offered = sorted(order[:N_CHOICES])
    if round(moved[order[0]], 2) == round(moved[order[1]], 2):
        return None
    best = order[0]
    return AnswerChoice(
        tuple(f"{at}: {asked.token(at)}" for at in offered),
        offered.index(best),
        given={
            **given,
            "here": Shown(float(found.tokens[best]), 2),
            "next": Token(asked.token(order[1])),
            "less": Shown(float(moved[order[1]]), 2),
            "by": Shown(float(moved[best]), 2),
        },
        mistakes={"second": offered.index(order[1])} if asked.answer else {},
        verbatim=True,
        variant="" if asked.answer else "vector",
    )


def _words(asked: Asked) -> dict[str, Token]:
    rival = "" if asked.contrast is None else asked.contrast.rival
    return {"word": Token(asked.answer), "rival": Token(rival)}
