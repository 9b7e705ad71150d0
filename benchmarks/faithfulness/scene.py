"""scene: how much of what speaks for a digit lies on the ink that the digit was drawn with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

import viz_encoder as vz
from benchmarks.faithfulness.asked import Asked
from benchmarks.faithfulness.methods import Method, methods
from scripts import scenes
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.inputs import Grid, Inputs, Sample

N_DIGITS, SEED = 120, 35
SIZE, INK = (40, 40), 0.1  # as in training, where a patch with less mean ink counts as blank
SETTINGS = ("the answer", "against the runner-up", "the state of [CLS]")


@dataclass(frozen=True)
class Case:
    """A held-out digit on noise; which of its patches hold ink."""

    asked: Asked
    inked: np.ndarray  # bool: "patch"


def cases(encoder: LoadedEncoder, n: int = N_DIGITS) -> list[Case]:
    """Every third of the held-out digits, each in a scene that no other test has."""
    digits = scenes.split()[1]
    chosen = digits.choose(torch.arange(0, len(digits.labels), 3)[:n])
    batch = scenes.make(chosen, SIZE, torch.Generator().manual_seed(SEED))
    ink = scenes.patch_ink(batch.ink, encoder.config.patch_size).numpy() > INK
    pixels = (batch.pixels - encoder.reader.mean[0]) / encoder.reader.std[0]
    return [_case(encoder, one[None], inked) for one, inked in zip(pixels, ink, strict=True)]


def _case(encoder: LoadedEncoder, pixels: torch.Tensor, inked: np.ndarray) -> Case:
    side = SIZE[0] // encoder.config.patch_size
    names = ("[CLS]", *(f"{at // side},{at % side}" for at in range(side**2)))
    sample = Sample(names, (True, *(False,) * side**2), grid=Grid(side, side, 1))
    inputs = Inputs(pixels, torch.ones(1, len(names), dtype=torch.bool), (sample,))
    with torch.no_grad():
        output = encoder.model(pixels).output
        first, second = encoder.model.heads["classify"](output)[0].topk(2).indices.tolist()
    asked = Asked(
        encoder,
        inputs,
        torch.eye(encoder.config.prediction_heads[0].n_out)[first],
        units=[(at,) for at in range(1, len(names))],
        head="classify",
        token=0,
        settings=dict(
            zip(SETTINGS, ({}, {"against": "runner-up"}, {"of": "state", "token": 0}), strict=True)
        ),
        effect={"measure": "logit", "answer": str(first), "other": str(second)},
    )
    return Case(asked, inked)


def on_ink(method: Method, cases: Sequence[Case]) -> tuple[float, float]:
    """Share of the positive values that lies on ink, and how often the largest value does."""
    shares, tops = [], []
    for case in cases:
        values = method.measure(case.asked)[1:]
        positive = values.clip(min=0)
        shares.append(positive[case.inked].sum() / positive.sum())
        tops.append(case.inked[values.argmax()])
    return float(np.mean(shares)), float(np.mean(tops))


def measured(n: int = N_DIGITS) -> dict[str, list[str]]:
    """The cells of the table, by the name of the row."""
    each = cases(vz.load("scene", device="cpu"), n)
    found = {method.name: on_ink(method, each) for method in methods(*SETTINGS)}
    return {name: [f"{share:.2f}", f"{top:.2f}"] for name, (share, top) in found.items()}
