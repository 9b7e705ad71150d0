"""What it costs: time and memory of vz.attribute beside a plain forward pass, as a text grows."""

import resource
import statistics
from collections.abc import Callable
from functools import partial

import psutil
import torch
from captum.attr import IntegratedGradients
from torch import Tensor

import viz_encoder as vz
from benchmarks.models import MINILM, inputs, ours
from benchmarks.timing import Work, clock
from viz_encoder.attribution import Attribution
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.inputs import Inputs

LENGTHS = {16: 61, 128: 15, 512: 5, 2048: 3, 8192: 3}  # tokens, and rounds
LONGEST = 512  # for what takes as many passes as there are steps or tokens
STEPS, PART = 50, 4  # of integrated gradients; so many are measured, and scaled
LAYER, HEAD = 3, 5
COLUMNS = (
    *("tokens", "vz.attribute ÷ forward", "one map of links ÷ one of weights", "peak memory"),
    *("integrated gradients ÷ forward", "leave one out ÷ forward"),
)


def measured(n_tokens: int) -> dict[str, float]:
    """Ratios of medians of processor time on one thread, and megabytes, in a process of its own."""
    torch.set_num_threads(1)
    rounds = LENGTHS[n_tokens]
    encoder, given = ours(MINILM, n_tokens), inputs(n_tokens)
    split = partial(vz.attribute, encoder, given, of="pooled")
    plain = partial(_forward, encoder, given.values)
    found: dict[str, float] = {"peak": 0.0}
    found["attribute"] = _ratio(partial(_watched, split, found), plain, rounds)
    shares = found.pop("result")
    weights = partial(_one(shares).trace.attention, LAYER, HEAD)
    found["links"] = _ratio(partial(_one(shares).links, LAYER, HEAD), weights, 2 * rounds + 1)
    if n_tokens <= LONGEST:
        steps = _ratio(partial(_integrated, encoder, given), plain, rounds)
        found["integrated"] = steps * STEPS / PART
        masked = given.values.repeat(PART, 1)
        found["left_out"] = (
            _ratio(partial(_forward, encoder, masked), plain, rounds) * n_tokens / PART
        )
    return found


def _one(found: object) -> Attribution:
    return found[0] if isinstance(found, list) else found


def _watched(split: Work, found: dict) -> object:
    """The peak of the first call, over what the process holds before it, in MB."""
    before = psutil.Process().memory_info().rss / 2**20
    result = split()
    if not found["peak"]:
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10 - before
    found["result"] = result
    return result


def _ratio(work: Work, against: Work, rounds: int) -> float:
    """Alternated, after a first call of each, whose memory is new."""
    against(), work()
    seconds = [(clock(work), clock(against)) for _ in range(rounds)]
    mine, others = zip(*seconds, strict=True)
    return statistics.median(mine) / statistics.median(others)


@torch.inference_mode()
def _forward(encoder: LoadedEncoder, values: Tensor) -> None:
    encoder.model(values)


def _integrated(encoder: LoadedEncoder, given: Inputs) -> None:
    """captum's, through the same fused attention; one step at a time, as memory asks."""
    with torch.no_grad():
        x = encoder.model.embed(given.values)
    score: Callable[[Tensor], Tensor] = partial(_length, encoder)
    IntegratedGradients(score).attribute(x, n_steps=PART, internal_batch_size=1)


def _length(encoder: LoadedEncoder, x: Tensor) -> Tensor:
    for block in encoder.model.layers:
        x = block(x)
    return encoder.model.final_norm(x).mean(dim=1).norm(dim=-1)


def cells(found: dict[str, float]) -> list[str]:
    ratios = [f"{found[name]:.2f}" for name in ("attribute", "links")]
    others = [f"{found[name]:,.0f}" if name in found else "" for name in ("integrated", "left_out")]
    return [*ratios, f"{found['peak']:,.0f} MB", *others]
