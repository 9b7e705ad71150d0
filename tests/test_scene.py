"""The scene model as shipped: its numbers, measured again on scenes that its script never made."""

import json
import math
from functools import cache

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from scripts import scenes
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import load
from viz_encoder.model import Encoder

N_HELD_OUT = 360


@pytest.fixture(scope="module")
def scene():
    return load("scene", device="cpu")


@cache
def measured(scene, size: tuple[int, int], every: int = 1) -> tuple[float, float]:
    """Accuracy, and mean correlation of rollout with ink, over one scene a held-out digit."""
    digits = scenes.split()[1].choose(torch.arange(0, N_HELD_OUT, every))
    batch = scenes.make(digits, size, torch.Generator().manual_seed(2024))
    mean, std = scene.reader.mean[0], scene.reader.std[0]
    with torch.inference_mode():
        run = scene.model((batch.pixels - mean) / std, capture=True)
        guesses = scene.model.heads["classify"](run.output).argmax(dim=1)
    seen, ink = standardized(rollout(run.records)), standardized(scenes.patch_ink(batch.ink, 4))
    return float((guesses == batch.labels).float().mean()), float((seen * ink).mean())


def standardized(x: torch.Tensor) -> torch.Tensor:
    """Each row with mean 0 and variance 1, so that the mean of a product is Pearson's r."""
    return (x - x.mean(dim=1, keepdim=True)) / x.std(dim=1, keepdim=True, correction=0)


def rollout(records) -> torch.Tensor:
    """From [CLS] to each patch, written out (Abnar & Zuidema, 2020)."""
    total = torch.eye(records[0].q.shape[2])
    for record in records:
        scores = record.q @ record.k.transpose(-2, -1) / math.sqrt(record.q.shape[-1])
        layer = 0.5 * torch.softmax(scores, dim=-1).mean(dim=1) + 0.5 * torch.eye(scores.shape[-1])
        total = layer / layer.sum(dim=-1, keepdim=True) @ total
    return total[:, 0, 1:]


def test_it_names_digits_it_has_never_seen_and_looks_at_their_ink(scene):
    accuracy, correlation = measured(scene, (40, 40))
    assert accuracy >= 0.92
    assert correlation >= 0.8


@pytest.mark.parametrize("size", [(40, 60), (60, 40)])
def test_oblong_scenes_with_interpolated_positions(scene, size: tuple[int, int]):
    accuracy, correlation = measured(scene, size, every=2)
    assert accuracy >= 0.9
    assert correlation >= 0.8


def test_the_numbers_on_its_card_are_true(scene):
    metrics = json.loads(asset("models/scene/config.json").read_text(encoding="utf-8"))["metrics"]
    accuracy, correlation = measured(scene, (40, 40))
    assert metrics["held_out_digits"] == N_HELD_OUT
    assert metrics["accuracy_40x40"] == pytest.approx(accuracy, abs=0.03)
    assert metrics["rollout_ink_correlation_40x40"] == pytest.approx(correlation, abs=0.03)


def test_its_file_holds_the_encoder_and_nothing_else(scene):
    path = asset("models/scene/model.safetensors")
    tensors = load_file(path)
    expected = Encoder(scene.config).state_dict()
    assert {name: t.shape for name, t in tensors.items()} == {
        name: t.shape for name, t in expected.items()
    }
    assert all(t.is_floating_point() for t in tensors.values())
    assert path.stat().st_size < 400_000


@pytest.mark.parametrize(
    "name, size, digit", [("digit.png", (160, 160), "7"), ("wide.png", (240, 160), "3")]
)
def test_the_example_pictures_are_read_and_named(scene, name: str, size: tuple, digit: str):
    path = asset("examples") / name
    with Image.open(path) as picture:
        assert picture.size == size
    inputs = scene.reader.read(path)
    with torch.inference_mode():
        logits = scene.model.heads["classify"](scene.model(inputs.values).output)
    assert scene.config.prediction_heads[0].labels[int(logits.argmax())] == digit


def test_no_digit_is_both_trained_on_and_held_out():
    trained, held_out = scenes.split()
    assert len(trained.labels) + len(held_out.labels) == 1797
    counts = [int((held_out.labels == digit).sum()) for digit in range(10)]
    assert min(counts) >= 34 and max(counts) <= 37
    assert torch.equal(scenes.split()[1].ink, held_out.ink)


def test_a_scene_holds_the_whole_digit():
    held_out = scenes.split()[1]
    batch = scenes.make(held_out, (40, 60), torch.Generator().manual_seed(0))
    assert batch.pixels.shape == (N_HELD_OUT, 1, 40, 60)
    assert float(batch.pixels.min()) >= 0 and float(batch.pixels.max()) <= 1
    assert bool((batch.ink.amax(dim=(1, 2, 3)) > 0.7).all())
