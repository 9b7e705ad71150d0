"""Step 11, pooling and pictures: one vector of many, and a picture as a row of patches."""

import math

from viz_encoder.analyses.padding_drift import padding_drift
from viz_encoder.config import Embedding, Positions
from viz_encoder.inputs import TextReader
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number
from viz_encoder.lesson.pictured import no_padding
from viz_encoder.lesson.texts import Shown, Token

N_TOKENS = 3  # averaged by hand
N_PADDING = 16
MOVED = 1e-4  # relative; rounding is a hundredth of it
USUAL_PICTURE = (224, 224), 16, 1  # height and width, patch, prefix tokens: ViT-base


def mean_cell(asked: Asked) -> Number | None:
    """The mean of the first tokens in one cell of the output."""
    real = asked.trace.valid.nonzero()[:N_TOKENS, 0].tolist()
    if len(real) < N_TOKENS:
        return None
    at = asked.random.randrange(asked.config.d_model) if asked.seat else 0
    cells = [float(asked.trace.output[place, at]) for place in real]
    return Number(
        sum(cells) / N_TOKENS,
        decimals=2,
        given={
            "n": N_TOKENS,
            "cell": at,
            "cells": tuple(
                (Token(asked.token(place)), Shown(cell, 2))
                for place, cell in zip(real, cells, strict=True)
            ),
        },
        mistakes={
            "sum": sum(cells),
            "padding": sum(cells) / (N_TOKENS + 1),
            "largest": max(cells),
        },
        printed=sum(round(cell, 2) for cell in cells) / N_TOKENS,
        cell=at,
        variant="" if asked.trace.grid is None else "picture",
    )


def patches(asked: Asked) -> Number:
    """Number of tokens of an image; of one that is read, in smaller patches than it is."""
    config = asked.config
    own = config.embedding is Embedding.PATCH and config.patch_size > 1
    (height, width), was, n_prefix = USUAL_PICTURE
    if own:
        (height, width), was, n_prefix = config.image_size, config.patch_size, len(config.prefix)
    side = max(each for each in range(1, was) if was % each == 0) if own else was
    n_patches, n_before = (height // each * (width // each) for each in (side, was))
    return Number(
        n_patches + n_prefix,
        given={
            **{"height": height, "width": width, "side": side, "n_prefix": n_prefix},
            **{"was": was, "n_before": n_before + n_prefix, "times": was // side},
        },
        mistakes={
            "no_prefix": n_patches,
            "one_side": height // side + n_prefix,
            "side_once": height * width // side + n_prefix,
            **({"times": n_before * (was // side) + n_prefix} if own else {}),
        },
        variant="finer" if own else "",
    )


def forgotten_mask(asked: Asked) -> AnswerChoice | None:
    """Pooled vectors that move if pooling counts [PAD]."""
    if asked.trace.grid is not None:
        return no_padding(asked)
    config, texts = asked.config, asked.trace.sample.texts
    if not texts or not asked.may_rerun or not isinstance(asked.encoder.reader, TextReader):
        return None
    room = N_PADDING
    if config.positions is Positions.LEARNED:
        room = min(room, config.max_positions - asked.n_real)
    if room < 1:
        return None
    text = texts[0] if len(texts) == 1 else (texts[0], texts[1])
    found = padding_drift(asked.encoder, text, n_padding=room, methods=["mean", "cls"])
    moved = {method: found.row(method, "unmasked").relative for method in ("mean", "cls")}
    names = [method for method, size in moved.items() if size > MOVED]
    answer = "both" if len(names) == 2 else (names[0] if names else "neither")
    choices = ("mean", "cls", "both", "neither")
    return AnswerChoice(
        choices,
        choices.index(answer),
        given={
            "n": asked.n_real,
            "n_padding": room,
            "moved": Shown(moved["mean"], 3),
            "still": f"10^{math.floor(math.log10(max(moved['cls'], 1e-12)))}".replace("-", "−"),
        },
        mistakes={"cls": 1, "both": 2, "neither": 3},
    )
