"""Step 8, depth: the states after each block, and when the answer is there."""

import numpy as np

from viz_encoder.analyses.predictions import logit_lens
from viz_encoder.config import Task
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Number
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
    """The block after which the answer at [MASK], or the label of the input, stays in the lead."""
    heads = [head.task for head in asked.config.prediction_heads]
    if not asked.answer and heads[:1] != [Task.CLASSIFY]:
        return None
    task, tokens = (Task.MASKED, [asked.query]) if asked.answer else (Task.CLASSIFY, None)
    found = logit_lens(asked.encoder, asked.trace, task=task, tokens=tokens, n=1)
    said = found.labels[:, 0, 0]
    word = str(said[-1])
    leads = said == word
    after = len(leads) - int(np.argmin(leads[::-1])) if not leads.all() else 0
    first = int(np.argmax(leads))
    return Number(
        after,
        given={
            "blocks": Blocks(after),
            "word": Token(word),
            "query": Token(asked.token(asked.query)),
            "steps": tuple(
                (f"{at}:", Token(str(label)), Shown(float(share), 2))
                for at, (label, share) in enumerate(zip(said, found.shares[:, 0, 0], strict=True))
            ),
        },
        mistakes={"first": first, "counted_from_0": after - 1, "all": asked.trace.n_layers},
        variant="" if asked.answer else "whole",
    )
