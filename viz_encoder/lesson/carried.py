"""What carried the answer: the exercises on shares, of a run with its attention weights held."""

import numpy as np

from viz_encoder.attribution import Attribution
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number
from viz_encoder.lesson.texts import Shown, Token

MOST_LISTED = 16  # tokens whose shares a question lists
FEW_LISTED = 8  # of more tokens, as on the page; the others as one number
N_CHOICES = 5
FEW = 3  # of a smaller score two decimals are asked for


def sum_of_shares(asked: Asked) -> Number | None:
    """The score as the sum of the tokens' shares and that of the biases."""
    contrast = asked.contrast
    found = None if contrast is None else contrast.carried
    if contrast is None or found is None:
        return None
    word, rival = contrast.said
    listed = list(range(len(found.tokens)))
    if len(listed) > MOST_LISTED:
        listed = sorted(sorted(listed, key=lambda at: -abs(found.tokens[at]))[:FEW_LISTED])
    n_others = len(found.tokens) - len(listed)
    left = float(found.tokens.sum() - found.tokens[listed].sum()) if n_others else 0.0
    *shares, others, biases = _adding_up([*found.tokens[listed], left, found.biases], found.score)
    kind = "" if word else "vector"
    return Number(
        found.score,
        decimals=1 if abs(found.score) >= FEW else 2,
        given={
            **{"word": Token(word), "rival": Token(rival)},
            "shares": tuple(
                (Token(asked.token(at)), Shown(share, 2))
                for at, share in zip(listed, shares, strict=True)
            ),
            "n_others": n_others,
            "others": Shown(others, 2),
            "biases": Shown(biases, 2),
        },
        mistakes={
            "no_biases": float(found.tokens.sum()),
            **({"signs": float(np.abs(found.tokens).sum()) + found.biases} if word else {}),
        },
        variant=f"{kind} {kind}_many".replace(" _", " ") if n_others else kind,
    )


def twin_share(asked: Asked) -> AnswerChoice | Number | None:
    """The word whose share is most unlike that in the twin; without [MASK], the largest share."""
    contrast = asked.contrast
    found = None if contrast is None else contrast.carried
    own = [at for at in asked.own if found is not None and at < len(found.tokens)]
    if contrast is None or found is None or len(own) < 2:
        return None
    if not asked.answer:
        return _largest_share(asked, found)
    twin, other = contrast.twin, contrast.carried_in_twin
    if twin is None or other is None:
        return None
    moved = np.abs(found.tokens - other.tokens)
    order = sorted(own, key=lambda at: -moved[at])
    offered = sorted(order[:N_CHOICES])
    if round(moved[order[0]], 2) == round(moved[order[1]], 2):
        return None
    best = order[0]
    return AnswerChoice(
        tuple(f"{at}: {asked.token(at)}" for at in offered),
        offered.index(best),
        given={
            **{"old": Token(asked.token(twin.at)), "new": Token(twin.word)},
            **{"rival": Token(twin.answer), "there": Shown(float(other.tokens[twin.at]), 2)},
            "here": Shown(float(found.tokens[best]), 2),
            "next": Token(asked.token(order[1])),
            "less": Shown(float(moved[order[1]]), 2),
        },
        mistakes={"second": offered.index(order[1])},
        verbatim=True,
        named=Token(asked.token(best)),
    )


def _largest_share(asked: Asked, found: Attribution) -> Number | None:
    """What percentage of the score the token with the largest share brings."""
    best = int(found.tokens.argmax())
    here, score = Shown(float(found.tokens[best]), 2), Shown(found.score, 2)
    if not here.rounded or not score.rounded:
        return None
    part = found.tokens[best] / found.score
    return Number(
        float(100 * part),
        given={"best": Token(asked.token(best)), "here": here, "score": score},
        mistakes={"fraction": float(part), "inverse": float(1 / part)},
        printed=100 * here.rounded / score.rounded,
        unit="%",
        variant="vector",
    )


def _adding_up(addends: list[float], total: float) -> list[float]:
    """Rounded to two decimals such that they add up to the total, as the page prints them."""
    cents = np.asarray(addends) * 100
    found = np.floor(cents)
    short = round(round(total, 2) * 100 - found.sum())
    most = np.argsort(-(cents - found), kind="stable")[: max(short, 0)]
    found[most] += 1
    return [float(each) for each in found / 100]
