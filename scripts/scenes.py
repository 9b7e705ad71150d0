"""Scenes: a scikit-learn digit of random size and place on noise, made in batches from a seed."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor

SPLIT_SEED = 20
HELD_OUT = 0.2  # of the 1,797 digits, the same share of each class


class Digits(NamedTuple):
    """Digits of 8 × 8 pixels, ink = 1, and what each of them is."""

    ink: Tensor  # (digit, 1, 8, 8)
    labels: Tensor  # (digit,)

    def choose(self, index: Tensor) -> "Digits":
        """The digits of these numbers, in that order."""
        return Digits(self.ink[index], self.labels[index])


class Scenes(NamedTuple):
    """A batch of scenes; ink tells where the digit is, whether it is the light or the dark part."""

    pixels: Tensor  # (scene, 1, height, width) from 0 = black to 1 = white
    ink: Tensor  # (scene, 1, height, width)
    labels: Tensor  # (scene,)


@dataclass(frozen=True)
class Difficulty:
    """How hard scenes are: the digit's side in pixels, its tilt, and how strong the noise is."""

    smallest: float = 18.0
    largest: float = 26.0
    tilt: float = math.radians(10)
    noise: float = 0.6  # brightest noise pixel, where the digit is 1; drawn from 0 to this

    def eased(self, ease: float) -> "Difficulty":
        """Larger digits on fainter noise, by a share from 0 (as it is) to 1 (easiest)."""
        return Difficulty(
            smallest=self.smallest + 10 * ease,
            largest=self.largest + 6 * ease,
            tilt=self.tilt * (1 - ease),
            noise=self.noise * (1 - ease),
        )


FULL = Difficulty()


def split() -> tuple[Digits, Digits]:
    """Digits to train on and digits held out, stratified, the same at every call."""
    data = load_digits()
    parts = train_test_split(
        data.images, data.target, test_size=HELD_OUT, stratify=data.target, random_state=SPLIT_SEED
    )
    ink = [torch.tensor(part, dtype=torch.float32)[:, None] / 16 for part in parts[:2]]
    labels = [torch.tensor(part, dtype=torch.long) for part in parts[2:]]
    return Digits(ink[0], labels[0]), Digits(ink[1], labels[1])


def make(
    digits: Digits,
    size: tuple[int, int],
    generator: torch.Generator,
    difficulty: Difficulty = FULL,
) -> Scenes:
    """One scene of size (height, width) for each digit; half of them are dark on light."""
    ink = _placed(digits.ink, size, generator, difficulty)
    strength = _uniform(len(ink), generator, 0, difficulty.noise)[:, None, None, None]
    noise = torch.rand(ink.shape, generator=generator) * strength
    light = noise * (1 - ink) + ink
    dark = torch.rand(len(ink), 1, 1, 1, generator=generator) < 0.5
    return Scenes(torch.where(dark, 1 - light, light), ink, digits.labels)


def patch_ink(ink: Tensor, patch_size: int) -> Tensor:
    """Mean ink of each patch, row by row: "scene patch"."""
    return F.avg_pool2d(ink, patch_size).flatten(1)


def _placed(
    ink: Tensor, size: tuple[int, int], generator: torch.Generator, difficulty: Difficulty
) -> Tensor:
    """The digits scaled, tilted and moved anywhere inside a blank picture."""
    n, (height, width) = len(ink), size
    side = _uniform(n, generator, difficulty.smallest, difficulty.largest)
    tilt = _uniform(n, generator, -difficulty.tilt, difficulty.tilt)[:, None, None]
    center_y = side / 2 + torch.rand(n, generator=generator) * (height - side)
    center_x = side / 2 + torch.rand(n, generator=generator) * (width - side)
    y = torch.arange(height)[None, :, None] + 0.5 - center_y[:, None, None]
    x = torch.arange(width)[None, None, :] + 0.5 - center_x[:, None, None]
    half = side[:, None, None] / 2
    across = (torch.cos(tilt) * x + torch.sin(tilt) * y) / half
    down = (torch.cos(tilt) * y - torch.sin(tilt) * x) / half
    grid = torch.stack([across, down], dim=-1)  # -1 … 1 is the digit, and blank outside of it
    return F.grid_sample(ink, grid, mode="bilinear", align_corners=False)


def _uniform(n: int, generator: torch.Generator, low: float, high: float) -> Tensor:
    return low + (high - low) * torch.rand(n, generator=generator)
