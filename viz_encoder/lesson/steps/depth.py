"""Step 8, depth: the states after each block, and when the answer is there."""

import numpy as np

from viz_encoder.analyses.logit_lens import logit_lens
from viz_encoder.config import Task
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Exercise, Number, Step
from viz_encoder.lesson.texts import Blocks, Shown, Token


def n_states(asked: Asked) -> Number:
    """Number of states of one token."""
    n_layers = asked.trace.n_layers
    return Number(
        n_layers + 1,
        given={"n_layers": n_layers},
        mistakes={"no_embedding": n_layers, "halves": 2 * n_layers + 1},
    )


def cosine(asked: Asked) -> Number | None:
    """The cosine of two tokens' states from their product and their lengths."""
    other = asked.apart(1)
    if asked.query == other or not asked.trace.hidden_states:
        return None
    state = asked.trace.hidden(asked.layer).double().cpu().numpy()
    one, two = state[asked.query], state[other]
    inner, a, b = float(one @ two), float(np.linalg.norm(one)), float(np.linalg.norm(two))
    if not a or not b:
        return None
    return Number(
        inner / (a * b),
        decimals=2,
        given={
            "one": Token(asked.token(asked.query)),
            "two": Token(asked.token(other)),
            "blocks": Blocks(asked.layer),
            "inner": Shown(inner, 1),
            "a": Shown(a, 2),
            "b": Shown(b, 2),
        },
        mistakes={
            "one_length": inner / a,
            "squares": inner / (a * b) ** 2,
            "sum": inner / (a + b),
        },
        printed=round(inner, 1) / (round(a, 2) * round(b, 2)),
    )


def settled(asked: Asked) -> Number | None:
    """The block after which the answer stays in the lead."""
    if not asked.answer:
        return None
    found = logit_lens(asked.encoder, asked.trace, task=Task.MASKED, tokens=[asked.query], n=1)
    leads = found.labels[:, 0, 0] == asked.answer
    after = len(leads) - int(np.argmin(leads[::-1])) if not leads.all() else 0
    first = int(np.argmax(leads))
    return Number(
        after,
        given={
            "blocks": Blocks(after),
            "word": Token(asked.answer),
            "query": Token(asked.token(asked.query)),
            "steps": tuple(
                (f"{at}:", Token(str(label)), Shown(float(share), 2))
                for at, (label, share) in enumerate(
                    zip(found.labels[:, 0, 0], found.shares[:, 0, 0], strict=True)
                )
            ),
        },
        mistakes={"first": first, "counted_from_0": after - 1, "all": asked.trace.n_layers},
    )


STEP = Step(
    8,
    (
        Exercise("n-states", 1, n_states),
        Exercise("cosine", 2, cosine),
        Exercise("settled", 3, settled),
    ),
)
