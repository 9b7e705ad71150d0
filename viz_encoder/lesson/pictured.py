"""Questions of a picture where a text has others: its patches hidden, masked and pooled."""

import torch

from viz_encoder.analyses.predictions import predictions
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number
from viz_encoder.lesson.texts import Shown, TextValue, Token
from viz_encoder.trace.capture import capture

N_OFFERED = 5
LITTLE = 0.005  # of a probability; less is told with two decimals more
N_ANSWERS = 3  # that can be chosen, and the model's own


def _offered(asked: Asked) -> list[int]:
    """The patches that cost the answer the most, and the one that is attended to most."""
    order = _order(asked)
    if len(order) < N_OFFERED:
        return []
    attended = max(order, key=lambda at: asked.row[at])
    costly = [at for at in order[:N_OFFERED] if at != attended]
    return sorted({attended, *costly[: N_OFFERED - 1]})


def _order(asked: Asked) -> list[int]:
    """The patches by what is left of the answer without each, the least first."""
    found, special = asked.hidden, asked.trace.sample.special
    own = [at for at, made in enumerate(special) if not made]
    return [] if found is None else sorted(own, key=lambda at: found.pair[at, 0])


def deciding_patch(asked: Asked) -> AnswerChoice | None:
    """The patch without which least is left of what the model says of the picture."""
    found, offered = asked.hidden, _offered(asked)
    if found is None or not offered:
        return None
    best, second = _order(asked)[:2]
    left = found.pair[:, 0]
    share = float(found.untouched[1])
    decimals = 3 if share - left[best] >= LITTLE else 5
    if round(left[best], decimals) == round(left[second], decimals):
        return None
    attended = max(offered, key=lambda at: asked.row[at])
    given: dict[str, TextValue] = {
        "word": Token(found.untouched[0]),
        "share": Shown(share, decimals),
        "left": Shown(float(left[best]), decimals),
        "then": Token(str(found.answers[best])),
        "head": asked.name,
        "attended": Token(asked.token(attended)),
    }
    return AnswerChoice(
        tuple(f"{at}: {asked.token(at)}" for at in offered),
        offered.index(best),
        given=given,
        mistakes={"attended": offered.index(attended)},
        verbatim=True,
        named=Token(asked.token(best)),
        variant="picture",
    )


def flipping_patches(asked: Asked) -> Number | None:
    """How many of these patches change what the model says, each hidden alone."""
    found, offered = asked.hidden, _offered(asked)
    if found is None or not offered:
        return None
    changing = [at for at in offered if found.answers[at] != found.untouched[0]]
    return Number(
        len(changing),
        given={
            "word": Token(found.untouched[0]),
            "patches": tuple(Token(asked.token(at)) for at in offered),
            "n": len(offered),
        },
        mistakes={"below": len(offered) - len(changing)},
        variant="picture",
    )


def hidden_together(asked: Asked) -> AnswerChoice | None:
    """What the model says with all of these patches hidden at once."""
    found, offered = asked.hidden, _offered(asked)
    if found is None or not offered:
        return None
    n = asked.trace.n_tokens
    mask = torch.ones(n, n, dtype=torch.bool)
    mask[:, offered] = False
    now = capture(asked.encoder, asked.inputs, mask=mask)[0]
    said = predictions(asked.encoder, now, n=N_ANSWERS)[0]
    words = tuple(sorted({*said.labels, found.untouched[0]}))
    return AnswerChoice(
        words,
        words.index(said.labels[0]),
        given={
            "word": Token(found.untouched[0]),
            "patches": tuple(Token(asked.token(at)) for at in offered),
            "share": Shown(float(said.shares[0]), 3),
        },
        mistakes={"unchanged": words.index(found.untouched[0])},
        verbatim=True,
        variant="picture",
    )


def causal_keys(asked: Asked) -> Number:
    """How many tokens a patch may attend to under a causal mask: the chosen or attended one."""
    grid = asked.trace.grid
    assert grid is not None
    at = asked.query if asked.query >= grid.n_prefix else asked.key
    return Number(
        at + 1,
        given={"token": Token(asked.token(at)), "at": at, "n": grid.n_prefix},
        mistakes={
            "not_itself": at,
            "no_prefix": at + 1 - grid.n_prefix,
            "all": asked.trace.n_tokens,
        },
        variant="picture",
    )


def pairs_of_rows(asked: Asked) -> Number:
    """How many pairs are left if patches attend to their own row and to what comes first."""
    grid = asked.trace.grid
    assert grid is not None
    rows, columns, first = grid.n_rows, grid.n_cols, grid.n_prefix
    n_patches = rows * columns
    return Number(
        n_patches * (columns + first),
        given={"rows": rows, "columns": columns, "n": first, "n_patches": n_patches},
        mistakes={
            "no_prefix": n_patches * columns,
            "columns": n_patches * (rows + first),
            "all": n_patches * (n_patches + first),
        },
        variant="picture",
    )


def no_padding(asked: Asked) -> AnswerChoice:
    """Why a batch of pictures has no [PAD]."""
    return AnswerChoice(
        ("same_number", "masked", "gray"),
        0,
        given={"n": asked.trace.n_tokens},
        mistakes={"masked": 1, "gray": 2},
        variant="picture",
    )
