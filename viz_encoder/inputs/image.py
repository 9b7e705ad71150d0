"""ImageReader: pictures of any size → patches, with every change told in a plain sentence."""

from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from viz_encoder.errors import ConfigError, InputError
from viz_encoder.inputs.decode import MAX_BYTES, MAX_PIXELS, decode
from viz_encoder.inputs.sample import Grid, Inputs, Sample

ChannelNumbers = tuple[int | float, ...]  # one a channel; a config.json may say 0 for 0.0
ImageSource = str | Path | bytes | Image.Image | NDArray[Any]
LARGEST = 1e6  # of a mean or std; pixels are 0 to 1
MAX_EDGE = 10_000
Fit = Literal["whole", "squash", "crop"]  # keep the shape, squeeze it to the trained one, cut it
MAX_ASPECT = 4  # a longer picture would be all patches along one side, and cost their square
GRAY = "The picture was converted to gray: this model reads one channel."
FLAT = "Every pixel of the picture has the same color, so its patches differ by position only."


@dataclass(frozen=True, eq=False)
class ImageReader:
    """Turns pictures into Inputs at the resolution a model was trained at, whatever their shape.

    fit "whole": the short side is resized to the trained short side and the long side to the
    nearest multiple of the patch size, so a picture keeps its aspect ratio and nothing is cropped.
    "squash": both sides are resized to the window. "crop": resized, then the window is cut out of
    the middle. Pixels at the window's edge that do not fill a whole patch are not read.
    """

    image_size: tuple[int, int]  # height, width the model was trained at
    patch_size: int
    n_channels: int = 3
    prefix: tuple[str, ...] = ()
    mean: ChannelNumbers = (0.5, 0.5, 0.5)
    std: ChannelNumbers = (0.5, 0.5, 0.5)
    fit: Fit = "whole"
    resample: int = 3  # as Pillow numbers its filters; 3 is bicubic
    window: tuple[int, ...] = ()  # height, width squashed to or cut out; () = image_size
    resized: tuple[int, ...] = ()  # before cutting: (short side,) or (height, width); () = window
    max_pixels: int = MAX_PIXELS
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        """Refuse a mean or std that would make NaN of every picture."""
        for name, values in (("mean", self.mean), ("std", self.std)):
            numbers = all(isinstance(v, int | float) and abs(v) < LARGEST for v in values)
            if len(values) != self.n_channels or not numbers:
                raise ConfigError(
                    f"The image {name} is {shown(values)}; give one number for each of the "
                    f"{self.n_channels} channels."
                )
        if min(self.std) <= 0:
            raise ConfigError(f"The image std is {self.std}; each number must be above 0.")
        if self.resample not in set(Image.Resampling):
            raise ConfigError(f"The image resample is {shown(self.resample)}; it must be 0 to 5.")
        if self.fit not in get_args(Fit):
            raise ConfigError(
                f"The image fit is {self.fit!r}; it must be one of "
                f"{', '.join(map(repr, get_args(Fit)))}."
            )
        self._check_sizes("window", (0, 2))
        self._check_sizes("resized", (0, 1, 2))

    def read(self, source: ImageSource | list[ImageSource]) -> Inputs:
        """Read one image, or a list of images that resize to one size.

        Args:
            source: a path, the bytes of a file, a PIL image or a uint8 array, or a list of them.

        Raises:
            NotAnImage: no picture, one in another format, or a file that is cut off.
            TooLong: more pixels or bytes than the limit.
            InputError: no such file, no picture at all, or pictures of different shapes.
        """
        sources = source if isinstance(source, list) else [source]
        if not sources:
            raise InputError("The list of pictures is empty; give at least one picture.")
        if self.n_channels not in (1, 3):
            raise InputError(
                f"This model reads {self.n_channels} channels, but a picture has 1 or 3; "
                "give it a tensor."
            )
        samples = tuple(self._sample(each) for each in sources)
        self._require_one_size(samples)
        values = self._normalized(np.stack([_picture(sample) for sample in samples]))
        valid = torch.ones(len(samples), len(samples[0].tokens), dtype=torch.bool)
        return Inputs(values, valid, samples)

    def cut_up(self, sample: Sample) -> Inputs:
        """The picture of a sample that was resized and cropped before, just as it is.

        Raises:
            InputError: the sample holds no picture, or one of another number of patches.
        """
        grid, picture, side = sample.grid, sample.picture, self.patch_size
        patches = picture is not None and tuple(edge // side for edge in picture.shape[:2])
        if grid is None or picture is None or patches != (grid.n_rows, grid.n_cols):
            raise InputError("The sample holds no picture that makes its patches; read a picture.")
        values = self._normalized(picture[None])
        return Inputs(values, torch.ones(1, len(sample.tokens), dtype=torch.bool), (sample,))

    def _sample(self, source: ImageSource) -> Sample:
        notes: list[str] = []
        picture = self._fit(decode(source, notes, self.max_pixels, self.max_bytes), notes)
        if self.n_channels == 1:
            picture = _grey(picture, notes)
        pixels = np.array(picture)
        if (pixels == pixels[0, 0]).all():
            notes.append(FLAT)
        n_prefix, size = len(self.prefix), self.patch_size
        grid = Grid(pixels.shape[0] // size, pixels.shape[1] // size, n_prefix)
        return Sample(
            tokens=(*self.prefix, *grid.patches),
            special=(*[True] * n_prefix, *[False] * len(grid.patches)),
            grid=grid,
            picture=pixels,
            notes=tuple(notes),
        )

    def _fit(self, picture: Image.Image, notes: list[str]) -> Image.Image:
        if self.fit != "whole" and (self.fit == "crop" or self.window):
            return self._cut(picture, notes)
        old = picture.size
        if self.fit == "whole" and max(old) > MAX_ASPECT * min(old):
            notes.append(
                f"The picture is more than {MAX_ASPECT} times as long as it is wide "
                f"({_size(old)}), so it was squeezed to {MAX_ASPECT} : 1."
            )
        new = self._fitting_size(old)
        sentence = self._size_note(old, new)
        if sentence:
            notes.append(sentence)
        return picture if new == old else picture.resize(new, Image.Resampling(self.resample))

    def _cut(self, picture: Image.Image, notes: list[str]) -> Image.Image:
        """The window, as the model's own settings have it."""
        height, width = self.window or self.image_size
        old, new = picture.size, self._before_cutting(picture.size, (height, width))
        resized = picture.resize(new, Image.Resampling(self.resample))
        left, top = (new[0] - width) // 2, (new[1] - height) // 2
        read = self.image_size[1], self.image_size[0]
        if new == read == (width, height):
            if old != new:
                notes.append(f"The picture was resized from {_size(old)} to {_size(new)} pixels.")
            return resized
        notes.append(
            f"The picture of {_size(old)} pixels was resized to {_size(new)} and "
            f"center-cropped to {_size(read)}, as this model's settings say."
        )
        return resized.crop((left, top, left + read[0], top + read[1]))

    def _before_cutting(self, old: tuple[int, int], window: tuple[int, int]) -> tuple[int, int]:
        """Width and height to which a picture of this width and height is resized."""
        resized = window if self.fit == "squash" else self.resized or (max(window),)
        if len(resized) == 2:
            return resized[1], resized[0]
        short = resized[0]
        # One product and one division, as transformers rounds; a ratio first may lose a pixel.
        long = min(int(short * max(old) / min(old)), MAX_EDGE)
        return (long, short) if old[0] >= old[1] else (short, long)

    def _check_sizes(self, name: str, counts: tuple[int, ...]) -> None:
        given = getattr(self, name)
        whole = all(type(side) is int and 0 < side <= MAX_EDGE for side in given)
        if len(given) not in counts or not whole:
            raise ConfigError(
                f"The image {name} is {given}; give whole numbers up to {MAX_EDGE:,} for "
                "height and width."
            )

    def _fitting_size(self, size: tuple[int, int]) -> tuple[int, int]:
        if self.fit == "squash":
            return self.image_size[1], self.image_size[0]
        short = min(self.image_size)
        ratio = min(max(size) / min(size), MAX_ASPECT)
        long = int(short * ratio / self.patch_size + 0.5) * self.patch_size
        return (long, short) if size[0] >= size[1] else (short, long)

    def _size_note(self, old: tuple[int, int], new: tuple[int, int]) -> str:
        """How the size changed (width × height), as a note, or nothing."""
        height, width = self.image_size
        side = self.patch_size
        patches = f"{new[0] // side} × {new[1] // side} patches of {side}"
        trained = f"the model was trained at {_size((width, height))}"
        verb = "enlarged" if new[0] * new[1] > old[0] * old[1] else "resized"
        done = f"The picture was {verb} from {_size(old)} to {_size(new)} pixels ({patches})"
        if new == (width, height):
            return "" if new == old else f"{done}."
        if new == old:
            done = f"The picture of {_size(old)} pixels was cut into {patches}"
        return f"{done}; {trained}, so its positions were interpolated."

    def _require_one_size(self, samples: tuple[Sample, ...]) -> None:
        first = samples[0].grid
        for number, sample in enumerate(samples[1:], start=2):
            if sample.grid != first:
                raise InputError(
                    "The pictures of a batch must have one shape: picture 1 has "
                    f"{_patches(first)} patches, picture {number} has {_patches(sample.grid)}. "
                    "Crop them alike, or read them one at a time."
                )

    def _normalized(
        self, pictures: UInt8[np.ndarray, "batch height width 3"]
    ) -> Float[Tensor, "batch channel height width"]:
        pixels = torch.from_numpy(pictures[..., : self.n_channels]).permute(0, 3, 1, 2) / 255
        mean, std = (torch.tensor(each)[:, None, None] for each in (self.mean, self.std))
        # A copy: with one channel, contiguous() keeps strides that choose another convolution.
        return ((pixels - mean) / std).clone(memory_format=torch.contiguous_format)


def _grey(picture: Image.Image, notes: list[str]) -> Image.Image:
    """Three equal channels, by the weights of ITU-R 601."""
    red, green, blue = picture.split()
    if red.tobytes() == green.tobytes() == blue.tobytes():
        return picture
    notes.append(GRAY)
    return picture.convert("L").convert("RGB")


def _picture(sample: Sample) -> UInt8[np.ndarray, "height width 3"]:
    assert sample.picture is not None
    return sample.picture


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]:,} × {size[1]:,}"


def _patches(grid: Grid | None) -> str:
    assert grid is not None
    return f"{grid.n_cols} × {grid.n_rows}"
