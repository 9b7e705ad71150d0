"""preprocessor_config.json: how a model's pictures were prepared, in ImageReader's words."""

import math
import re
from collections.abc import Mapping
from reprlib import repr as shown
from typing import Any

from viz_encoder.checkpoints.family import Json
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError
from viz_encoder.inputs.image import MAX_EDGE

PLACE = "preprocessor_config.json"
HALF = {"image_mean": (0.5, 0.5, 0.5), "image_std": (0.5, 0.5, 0.5)}
IMAGENET = {"image_mean": (0.485, 0.456, 0.406), "image_std": (0.229, 0.224, 0.225)}
OF_CLIP = {
    "image_mean": (0.48145466, 0.4578275, 0.40821073),
    "image_std": (0.26862954, 0.26130258, 0.27577711),
}
CROPPED = {"do_center_crop": True, "crop_size": 224, "resample": 3}
# Each transformers processor's defaults; ViT's for unknown ones.
USUAL: dict[str, dict[str, Any]] = {
    "ViT": {**HALF, "size": 224, "resample": 2},
    "DeiT": {**HALF, **CROPPED, "size": {"height": 256, "width": 256}},
    "CLIP": {**OF_CLIP, **CROPPED, "size": {"shortest_edge": 224}},
    "Bit": {**OF_CLIP, **CROPPED, "size": {"shortest_edge": 224}},
    "Siglip": {**HALF, "size": 224, "resample": 3},
    "DINOv3ViT": {**IMAGENET, "size": 224, "resample": 2},
}
BY_SHORT_SIDE = ("CLIP", "Bit")  # for which one number as the size is that of the short side
TYPE = re.compile(r"(\w+?)(FeatureExtractor|ImageProcessor)(Fast|Pil)?")


def preprocessing(written: Json, config: EncoderConfig) -> dict[str, Any]:
    """ImageReader's settings, as transformers' slow processors understand the file."""
    kind = _kind(written)
    height, width = config.image_size
    trained = {"height": height, "width": width}
    said = USUAL.get(kind, {**USUAL["ViT"], "size": trained, "crop_size": trained})
    if config.n_channels != 3:
        said = said | dict.fromkeys(HALF, 0.5)
    said = said | {key: value for key, value in written.items() if value is not None}
    settings: dict[str, Any] = _normalization(said, config.n_channels)
    settings["resample"] = said["resample"]
    resized = _resized(said, kind) if said.get("do_resize", True) else ()
    if said.get("do_center_crop"):
        window = _pair(said.get("crop_size"), "crop_size")
        return {**settings, **_read(window, config), "fit": "crop", "resized": resized}
    if len(resized) == 2:
        return {**settings, **_read(resized, config), "fit": "squash"}
    if resized:
        edge = _read(resized * 2, config)["image_size"]
        return {**settings, "image_size": edge, "fit": "whole"}
    return settings


def _kind(written: Json) -> str:
    """CLIP of CLIPImageProcessor, CLIPImageProcessorFast or the older CLIPFeatureExtractor."""
    named = written.get("image_processor_type") or written.get("feature_extractor_type")
    match = TYPE.fullmatch(named) if isinstance(named, str) else None
    return match[1] if match else ""


def _normalization(said: Json, n_channels: int) -> dict[str, Any]:
    """Mean and std of pixels from 0 to 1; another scale of the pixels is taken into both."""
    factor = said.get("rescale_factor", 1 / 255) if said.get("do_rescale", True) else 1.0
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= 1:
        raise CheckpointError(f"{PLACE} has a rescale_factor of {shown(factor)}; 1/255 is usual.")
    mean, std = (0.0,) * n_channels, (1.0,) * n_channels
    if said.get("do_normalize", True):
        mean = _channels(said["image_mean"], "image_mean", n_channels)
        std = _channels(said["image_std"], "image_std", n_channels)
    if math.isclose(factor * 255, 1, rel_tol=1e-6):
        return {"mean": mean, "std": std}
    return {name: tuple(x / (255 * factor) for x in numbers)
            for name, numbers in (("mean", mean), ("std", std))}  # fmt: skip


def _channels(numbers: object, name: str, n_channels: int) -> tuple[float, ...]:
    if isinstance(numbers, int | float) and not isinstance(numbers, bool):
        return (numbers,) * n_channels
    listed = tuple(numbers) if isinstance(numbers, list | tuple) else ()
    if not listed or any(isinstance(x, bool) or not isinstance(x, int | float) for x in listed):
        raise CheckpointError(f"{PLACE} has an {name} of {shown(numbers)}; give numbers.")
    return listed


def _resized(said: Json, kind: str) -> tuple[int, ...]:
    """(short side,) or (height, width) of the picture before it is cut."""
    size = said["size"]
    if isinstance(size, Mapping) and "shortest_edge" in size:
        return (_whole(size["shortest_edge"], "size"),)
    unknown = kind not in USUAL and said.get("do_center_crop")
    if not isinstance(size, Mapping) and (kind in BY_SHORT_SIDE or unknown):
        return (_whole(size, "size"),)
    return _pair(size, "size")


def _pair(size: object, name: str) -> tuple[int, int]:
    if isinstance(size, Mapping):
        return _whole(size.get("height"), name), _whole(size.get("width"), name)
    return (_whole(size, name),) * 2


def _whole(number: object, name: str) -> int:
    if type(number) is not int or not 0 < number <= MAX_EDGE:
        raise CheckpointError(
            f"{PLACE} has a {name} with a side of {shown(number)}; give whole numbers up to "
            f"{MAX_EDGE:,}."
        )
    return number


def _read(window: tuple[int, ...], config: EncoderConfig) -> dict[str, Any]:
    """The whole patches of a window, and the window itself."""
    patch = config.patch_size
    if min(window) < patch:
        raise CheckpointError(f"{PLACE} makes pictures of {window} pixels; a patch has {patch}.")
    sides = tuple(side // patch * patch for side in window)
    return {"image_size": sides} if sides == window else {"image_size": sides, "window": window}
