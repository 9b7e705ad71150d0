"""preprocessor_config.json: pixels as transformers' slow processors make them, by Pillow alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import viz_encoder as vz
from tests.checkpoints.faults import a_sentence, write_own
from viz_encoder.checkpoints.preprocessor import preprocessing
from viz_encoder.checkpoints.readers import image_reader
from viz_encoder.errors import CheckpointError
from viz_encoder.inputs import ImageReader

HALF = ([0.5] * 3, [0.5] * 3)
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CLIP = (
    [0.48145466, 0.4578275, 0.40821073],
    [0.26862954, 0.26130258, 0.27577711],
)
SIDES = ((50, 37), (37, 50), (32, 32), (20, 61), (300, 200))  # width, height
AXES: dict[str, Any] = {
    "embedding": "patch", "image_size": [32, 32], "patch_size": 8, "d_model": 8, "n_layers": 1,
    "n_heads": 2, "d_ff": 8,
}  # fmt: skip


def picture(size: tuple[int, int]) -> Image.Image:
    """Noise with a slope, so that a shift by one pixel shows."""
    width, height = size
    noise = np.random.default_rng(5).integers(0, 200, (height, width, 3))
    slope = np.linspace(0, 55, width)[None, :, None]
    return Image.fromarray((noise + slope).astype(np.uint8))


def short_side(image: Image.Image, edge: int, resample: int) -> Image.Image:
    """As torchvision and transformers resize: the long side is rounded down."""
    width, height = image.size
    if width <= height:
        return image.resize((edge, int(edge * height / width)), resample)
    return image.resize((int(edge * width / height), edge), resample)


def middle(image: Image.Image, edge: int) -> Image.Image:
    """The middle of a picture; black where the picture is smaller."""
    pixels = np.array(image)
    padded = np.zeros((edge, edge, 3), np.uint8)
    height, width = pixels.shape[:2]
    top, left = (height - edge) // 2, (width - edge) // 2
    for row in range(edge):
        for col in range(edge):
            if 0 <= row + top < height and 0 <= col + left < width:
                padded[row, col] = pixels[row + top, col + left]
    return Image.fromarray(padded)


def normalized(image: Image.Image, mean: list[float], std: list[float], factor: float = 1 / 255):
    pixels = np.array(image).astype(np.float64) * factor
    return ((pixels - np.array(mean)) / np.array(std)).transpose(2, 0, 1)


def squash(edge: int, resample: int) -> Callable[[Image.Image], Image.Image]:
    return lambda image: image.resize((edge, edge), resample)


def cut(edge: int, size: int, resample: int) -> Callable[[Image.Image], Image.Image]:
    return lambda image: middle(short_side(image, edge, resample), size)


def means(numbers: tuple[list[float], list[float]]) -> dict[str, Any]:
    return {"image_mean": numbers[0], "image_std": numbers[1]}


CASES = {
    "ViT": (
        {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32},
         "resample": 2, **means(HALF)},
        squash(32, 2), HALF,
    ),
    "ViT, old": (
        {"feature_extractor_type": "ViTFeatureExtractor", "size": 32, "resample": 3,
         **means(IMAGENET)},
        squash(32, 3), IMAGENET,
    ),
    "ViT, silent": ({"image_processor_type": "ViTImageProcessorFast", "size": 32},
                    squash(32, 2), HALF),
    "DINOv2": (
        {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 40},
         "crop_size": {"height": 32, "width": 32}, "do_center_crop": True, "resample": 3,
         **means(IMAGENET)},
        cut(40, 32, 3), IMAGENET,
    ),
    "DINOv2, odd margins": (
        {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 41},
         "crop_size": 32, "do_center_crop": True, **means(IMAGENET)},
        cut(41, 32, 3), IMAGENET,
    ),
    "CLIP, old": ({"feature_extractor_type": "CLIPFeatureExtractor", "size": 32, "crop_size": 32,
                   "do_center_crop": True, "resample": 3, **means(CLIP)}, cut(32, 32, 3), CLIP),
    "CLIP, silent": (
        {"image_processor_type": "CLIPImageProcessor", "size": 40, "crop_size": 32},
        cut(40, 32, 3), CLIP,
    ),
    "DeiT, old": (
        {"feature_extractor_type": "DeiTFeatureExtractor", "size": 40, "crop_size": 32,
         "do_center_crop": True, "resample": 3, **means(IMAGENET)},
        lambda image: middle(image.resize((40, 40), 3), 32), IMAGENET,
    ),
    "a crop larger than the picture": (
        {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 17},
         "crop_size": 32},
        cut(17, 32, 3), CLIP,
    ),
    "no whole number of patches": (
        {"image_processor_type": "SiglipImageProcessor", "size": {"height": 37, "width": 37}},
        lambda image: image.resize((37, 37), 3).crop((0, 0, 32, 32)), HALF,
    ),
    "a crop of no whole number of patches": (
        {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 41},
         "crop_size": 37},
        lambda image: cut(41, 37, 3)(image).crop((0, 0, 32, 32)), CLIP,
    ),
    "not normalized": (
        {"image_processor_type": "ViTImageProcessor", "size": 32, "do_normalize": False,
         **means(IMAGENET)},
        squash(32, 2), ([0.0] * 3, [1.0] * 3),
    ),
    "one number for all channels": (
        {"image_processor_type": "ViTImageProcessor", "size": 32, "resample": 0,
         "image_mean": 0.4, "image_std": 0.3, "crop_size": None, "do_center_crop": None},
        squash(32, 0), ([0.4] * 3, [0.3] * 3),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny picture model."""
    return write_own(tmp_path_factory.mktemp("pictures"), AXES)


def reader(folder: Path, written: dict[str, Any]) -> ImageReader:
    """The reader of the model with this preprocessor_config.json."""
    (folder / "preprocessor_config.json").write_text(json.dumps(written))
    read = vz.load(folder, device="cpu").reader
    assert isinstance(read, ImageReader)
    return read


def apart(got: torch.Tensor, want: np.ndarray) -> float:
    assert tuple(got.shape) == want.shape
    return float(np.abs(got.double().numpy() - want).max())


@pytest.mark.parametrize("name", CASES)
def test_pixels_are_those_of_the_slow_processors(folder, name):
    written, prepare, (mean, std) = CASES[name]
    read = reader(folder, written)
    for size in SIDES:
        want = normalized(prepare(picture(size)), mean, std)
        assert apart(read.read(picture(size)).values[0], want) <= 1e-6, size


def test_an_unknown_processor_makes_pictures_as_large_as_the_model_reads(folder):
    for written in ({}, {"do_center_crop": True}):
        read = reader(folder, {"image_processor_type": "OtherImageProcessor", **written})
        assert tuple(read.read(picture((50, 37))).values.shape[2:]) == (32, 32)


def test_another_scale_of_the_pixels(folder):
    for said, factor in (
        *(({"rescale_factor": 1.0}, 1.0), ({"rescale_factor": 1 / 127.5}, 1 / 127.5)),
        ({"do_rescale": False}, 1.0),
    ):
        written = {"image_processor_type": "ViTImageProcessor", "size": 32, **said}
        want = normalized(picture((50, 37)).resize((32, 32), 2), *HALF, factor)
        got = reader(folder, written).read(picture((50, 37))).values[0]
        assert apart(got, want) <= 1e-6 * np.abs(want).max(), said


def test_a_short_side_without_a_crop_keeps_the_shape_and_a_note_says_what_was_cut(folder):
    written = {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 24},
               "do_center_crop": False}  # fmt: skip
    assert tuple(reader(folder, written).read(picture((300, 200))).values.shape[2:]) == (24, 40)
    read = reader(folder, CASES["DINOv2"][0])
    (note,) = read.read(picture((300, 200))).samples[0].notes
    assert note == (
        "The picture of 300 × 200 pixels was resized to 60 × 40 and center-cropped to 32 × "
        "32, as this model's settings say."
    )


def test_a_model_of_one_channel_needs_no_means():
    config = vz.EncoderConfig.from_axes({**AXES, "n_channels": 1})
    said = preprocessing({"size": 32}, config)
    assert said["mean"] == (0.5,) and said["std"] == (0.5,)


def test_settings_that_cannot_be(folder):
    for wrong in (
        *({"size": {"longest_edge": 32}}, {"size": "32"}, {"size": 0}, {"size": 10**9}),
        *({"size": True}, {"size": 4}, {"crop_size": [32], "do_center_crop": True}),
        {"image_processor_type": "ViTImageProcessor", "do_center_crop": True},
        *({"rescale_factor": 0}, {"rescale_factor": "1/255"}, {"image_mean": "half"}),
        *({"image_mean": [0.5]}, {"image_std": [0, 0, 0]}, {"image_std": [None] * 3}),
        *({"resample": 9}, {"resample": "cubic"}, {"resample": [3]}),
    ):
        with pytest.raises(CheckpointError) as fault:
            reader(folder, {"size": 32, **wrong})
        assert a_sentence(fault.value), wrong


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
KEYS = (
    *("size", "crop_size", "resample", "image_mean", "image_std", "rescale_factor", "do_resize"),
    *("do_center_crop", "do_normalize", "do_rescale", "image_processor_type"),
)


@given(st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1))
@settings(max_examples=100, deadline=None)
def test_any_json_is_a_sentence_or_a_reader(written):
    config = vz.EncoderConfig.from_axes(AXES)
    try:
        image_reader(config, preprocessing(written, config))
    except CheckpointError as fault:
        assert a_sentence(fault)
