"""Step 4, one head and one token: scores, softmax, weights."""

import numpy as np
from jaxtyping import Float

from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number, at_mask
from viz_encoder.lesson.texts import Shown, Token

MOST_LISTED = 16  # keys whose numbers a question lists
FEW_LISTED = 5  # of more keys; the others as one number
N_HEADS = 5  # that can be chosen
SMALL = 0.1  # of a smaller weight three decimals are asked for


def score(asked: Asked) -> Number | None:
    """The product of one query and one key, scaled."""
    ran = asked.scored
    if ran is None or ran.scale == 1:
        return None
    product, width = float(_products(asked)[asked.key]), ran.q.shape[-1]
    return Number(
        product * ran.scale,
        decimals=2,
        given={**_pair(asked), "product": Shown(product, 2), "width": width},
        mistakes={
            "unscaled": product,
            "by_width": product / width,
            "multiplied": product / ran.scale,
        },
        printed=round(product, 2) * ran.scale,
    )


def weight_of_key(asked: Asked) -> Number | None:
    """The softmax of one row at one key."""
    ran = asked.scored
    if ran is None or ran.relative is not None:
        return None
    allowed = asked.row > 0
    if not allowed.sum() >= 2 or not allowed[asked.key]:
        return None
    products = _products(asked)
    scores = products * ran.scale
    listed = np.flatnonzero(allowed)
    many = len(listed) > MOST_LISTED
    if many and ran.scale == 1:
        return None
    if many:
        strongest = listed[np.argsort(-scores[listed])[:FEW_LISTED]]
        listed = np.union1d(strongest, asked.key)
    raw = _softmax(products, allowed)[asked.key]
    root = round(1 / ran.scale, 6)
    seen = np.round(products, 2) / round(root, 3)
    top = round(float(seen[listed].max()), 2)
    left = np.exp(scores - top)[allowed].sum() - np.exp(scores[listed] - top).sum() if many else 0.0
    raised = np.exp(seen[listed] - top)
    weight = float(asked.row[asked.key])
    return Number(
        weight,
        decimals=2 if weight >= SMALL else 3,
        given={
            **_pair(asked),
            "products": tuple(
                (Token(asked.token(at)), Shown(products[at], 2)) for at in map(int, listed)
            ),
            "scale": Shown(root, 0 if root.is_integer() else 3),
            "raw": Shown(raw, 3),
            "top": Shown(top, 2),
            "n_others": int(allowed.sum()) - len(listed),
            "others": Shown(left, 2),
        },
        mistakes={
            "unscaled": raw,
            "column": asked.row_of(asked.key)[asked.query],
            "over_queries": _over_queries(asked),
            "no_exp": scores[asked.key] / scores[allowed].sum(),
            "no_sum": float(np.exp(scores[asked.key] - (top if many else 0))),
            **(
                {"no_others": float(np.exp(scores[asked.key] - top) / raised.sum())} if many else {}
            ),
        },
        printed=float(np.exp(seen[asked.key] - top) / (raised.sum() + round(left, 2))),
        variant="many" if many else "" if ran.scale != 1 else "unscaled",
    )


def key_forbidden(asked: Asked) -> Number | None:
    """The next key's weight once the first is forbidden before the softmax."""
    row = asked.row
    first, second = np.argsort(-row, kind="stable")[:2] if len(row) > 1 else (0, 0)
    if asked.scored is None or not row[second] > 0 or row[first] > 0.99:
        return None
    left = 1 - row[first]
    shown = round(row[second], 3) / (1 - round(row[first], 3))
    return Number(
        row[second] / left,
        decimals=2,
        given={
            "query": Token(asked.token(asked.query)),
            "head": asked.name,
            "first": Token(asked.token(int(first))),
            "second": Token(asked.token(int(second))),
            "weight": Shown(row[first], 3),
            "next": Shown(row[second], 3),
        },
        mistakes={
            "after_softmax": row[second],
            "evenly": row[second] + row[first] / max(1, (row > 0).sum() - 1),
            "inherits": row[second] + row[first],
        },
        printed=shown,
    )


@at_mask
def head_that_acts(asked: Asked) -> AnswerChoice | None:
    """The head whose removal changes the answer, or the vector, the most: looking is not doing."""
    found = None if asked.contrast is None else asked.contrast.heads
    if found is None or asked.trace.n_heads < 2:
        return None
    answers, shares, values = found.answers[0], found.shares[0], np.abs(found.values[0])
    word, share = found.untouched[0]  # "" of a model that gives a vector
    every, own = list(np.ndindex(values.shape)), (asked.layer, asked.head)
    left = -values
    if word:
        left = np.where(answers == word, shares, 0)
    order = sorted(every, key=lambda at: (left[at], -values[at]))
    changing = [at for at in every if word and answers[at] != word]
    if not changing and round(float(left[order[0]]), 3) == round(float(left[order[1]]), 3):
        return None
    offered = sorted({*order[: N_HEADS - 1], own})
    best = order[0]
    kind = "flips" if changing else "" if word else "vector"
    return AnswerChoice(
        tuple(f"{layer}.{head}" for layer, head in offered),
        offered.index(best),
        given={
            **_pair(asked),
            "word": Token(word),
            "share": Shown(float(share), 3),
            "then": Token(str(answers[best])),
            "after": Shown(float(shares[best]), 3),
            "own_then": Token(str(answers[own])),
            "own_after": Shown(float(shares[own]), 3),
            "by": Shown(float(values[best]), 4),
            "own_by": Shown(float(values[own]), 4),
        },
        mistakes={"looks": offered.index(own)},
        verbatim=True,
        named=f"{best[0]}.{best[1]}",
        variant=f"{kind} {'own' if word else 'vector_own'}" if best == own else kind,
        also=tuple(offered.index(at) for at in offered if at in changing and at != best),
    )


def _products(asked: Asked) -> Float[np.ndarray, " key"]:
    """q · k of the query with every key."""
    ran = asked.trace.layers[asked.layer]
    query = ran.q[asked.head, asked.query].double().cpu()
    keys = ran.keys_of(slice(asked.head, asked.head + 1))[0].double().cpu()
    return (keys @ query).numpy()


def _over_queries(asked: Asked) -> float:
    """The mistake of a softmax along the wrong axis: over the queries of one key."""
    ran = asked.trace.layers[asked.layer]
    key = ran.keys_of(slice(asked.head, asked.head + 1))[0, asked.key].double().cpu()
    column = (ran.q[asked.head].double().cpu() @ key).numpy() * ran.scale
    return float(_softmax(column, asked.trace.valid.cpu().numpy())[asked.query])


def _softmax(scores: Float[np.ndarray, " key"], allowed: np.ndarray) -> Float[np.ndarray, " key"]:
    raised = np.where(allowed, np.exp(scores - scores[allowed].max()), 0)
    return raised / raised.sum()


def _pair(asked: Asked) -> dict[str, Token | str]:
    one, two = asked.token(asked.query), asked.token(asked.key)
    return {"query": Token(one), "key": Token(two), "head": asked.name}
