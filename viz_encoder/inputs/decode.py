"""decode: a file, bytes, an array or a PIL image → an upright 8-bit RGB picture, caps first."""

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from viz_encoder.errors import InputError, NotAnImage, TooLong
from viz_encoder.whole_file import shortened

# The decoders we let a stranger's bytes reach: PDF, EPS, FITS and GD have had bombs and loops.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
ALLOWED = "Pictures are read as PNG, JPEG, WebP, GIF or BMP"
MAX_PIXELS = 25_000_000
MAX_BYTES = 50 * 2**20
MAX_SCANS = 100  # in a progressive JPEG, which has about ten; each is a pass over all pixels
JPEG, SCAN = b"\xff\xd8\xff", b"\xff\xda"  # scan data never holds its own marker
ORIENTATION = 0x0112  # the EXIF tag; 1 = upright
WHITE = (255, 255, 255, 255)


def decode(
    source: object, notes: list[str], max_pixels: int = MAX_PIXELS, max_bytes: int = MAX_BYTES
) -> Image.Image:
    """The picture in RGB, upright and without transparency; every change is added to notes.

    Raises:
        NotAnImage: no picture, one in another format, or a file that is cut off.
        TooLong: over max_pixels by its header, before anything is decoded, or over max_bytes.
        InputError: no such file.
    """
    if isinstance(source, Image.Image):
        image = source
    elif isinstance(source, np.ndarray):
        image = _from_array(source)
    elif isinstance(source, str | Path | bytes):
        content = source if isinstance(source, bytes) else _read(Path(source), max_bytes)
        _require_small(content, max_bytes)
        image = _open(content, max_pixels)
    else:
        raise InputError(
            f"The picture is {type(source).__name__}; give a path, bytes, a PIL image or an array."
        )
    _require_size(image, max_pixels)
    _load(image, notes, from_file=image is not source)
    return _flat(_eight_bit(_upright(image, notes), notes), notes)


def _from_array(values: np.ndarray) -> Image.Image:
    shaped = values.ndim == 2 or (values.ndim == 3 and values.shape[2] in (3, 4))
    if values.dtype != np.uint8 or not shaped:
        raise InputError(
            f"The array is {values.dtype} of shape {values.shape}; give uint8 values as "
            "(height, width), (height, width, 3) or (height, width, 4)."
        )
    if not values.size:
        raise NotAnImage(f"The array has shape {values.shape}: a picture without pixels.")
    return Image.fromarray(values)


def _read(path: Path, max_bytes: int) -> bytes:
    name = shortened(path)
    try:
        path = path.expanduser()
        if path.exists() and not path.is_file():  # a folder, or a pipe that would block for ever
            raise NotAnImage(f"{name!r} is not a file. {ALLOWED}; give the path of one.")
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except (OSError, ValueError, RuntimeError) as fault:  # a name too long, NUL, no home folder
        raise InputError(f"There is no file {name!r} to read; check its path.") from fault


def _require_small(content: bytes, max_bytes: int) -> None:
    if not content:
        raise NotAnImage(f"The picture file is empty. {ALLOWED}; save it again.")
    if len(content) > max_bytes:
        raise TooLong(
            f"The picture file is over {max_bytes / 2**20:,.0f} MB, which is the limit; "
            "save it smaller."
        )
    if content.startswith(JPEG) and content.count(SCAN) > MAX_SCANS:
        raise TooLong(
            f"The JPEG file has {content.count(SCAN):,} scans; the limit is {MAX_SCANS}. "
            "Save it again as an ordinary JPEG."
        )


def _open(content: bytes, max_pixels: int) -> Image.Image:
    try:
        return Image.open(io.BytesIO(content), formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as fault:
        raise TooLong(
            f"The picture has far more than {max_pixels / 1e6:,.0f} million pixels, which is the "
            "limit; make it smaller."
        ) from fault
    except Exception as fault:  # decoders raise whatever a stranger's bytes provoke
        raise NotAnImage(_what_it_is(content)) from fault


def _require_size(image: Image.Image, max_pixels: int) -> None:
    width, height = image.size
    if not width * height:
        raise NotAnImage(f"The picture is {width} × {height}: it has no pixels.")
    if width * height > max_pixels:
        raise TooLong(
            f"The picture has {width:,} × {height:,} pixels; the limit is "
            f"{max_pixels / 1e6:,.0f} million. Make it smaller."
        )


def _load(image: Image.Image, notes: list[str], from_file: bool) -> None:
    try:
        animated = from_file and getattr(image, "is_animated", False)
        image.load()
    except Exception as fault:  # as in _open
        raise NotAnImage(_CUT_OFF) from fault
    if animated:
        notes.append("The file holds several frames; only the first was read.")


def _upright(image: Image.Image, notes: list[str]) -> Image.Image:
    try:
        turned = image.getexif().get(ORIENTATION, 1) in range(2, 9)
        upright = ImageOps.exif_transpose(image) if turned else image
    except Exception:  # EXIF is its own little file format; a broken one spoils no pixel
        notes.append("The picture's EXIF data is damaged, so it may be lying on its side.")
        return image
    if turned:
        notes.append("The picture was turned upright, as its EXIF orientation says.")
    return upright


def _eight_bit(image: Image.Image, notes: list[str]) -> Image.Image:
    """Modes with more than 8 bits scaled; Pillow's own convert() would clip them at 255."""
    if image.mode not in ("I", "F") and not image.mode.startswith("I;16"):
        return image
    values = np.asarray(image).astype(np.float32)
    if not np.isfinite(values).all():
        raise NotAnImage("The picture holds NaN or infinite values; save it without them.")
    low, high = _range(image.mode, float(values.min()), float(values.max()))
    if (low, high) != (0, 255):
        notes.append(f"The picture's values were scaled from {low:,g} … {high:,g} to 0 … 255.")
    scaled = (values - low) / max(high - low, 1e-6) * 255
    return Image.fromarray((scaled + 0.5).clip(0, 255).astype(np.uint8))


def _range(mode: str, low: float, high: float) -> tuple[float, float]:
    """Values of black and white: the mode's own range, otherwise the image's."""
    ceilings = {"I": (255.0, 65_535.0), "F": (1.0, 255.0, 65_535.0)}.get(mode, (65_535.0,))
    fitting = [ceiling for ceiling in ceilings if low >= 0 and high <= ceiling]
    return (0.0, fitting[0]) if fitting else (low, high)


def _flat(image: Image.Image, notes: list[str]) -> Image.Image:
    """In RGB, transparent parts on white."""
    if image.mode == "La":  # Pillow has no direct way from premultiplied gray
        image = image.convert("LA")
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    if layer.getchannel("A").getextrema() == (255, 255):
        return layer.convert("RGB")
    notes.append("Transparent parts of the picture were filled with white.")
    return Image.alpha_composite(Image.new("RGBA", layer.size, WHITE), layer).convert("RGB")


_CUT_OFF = "The picture file is cut off or damaged; download it or save it again."


def _what_it_is(content: bytes) -> str:
    """Why these bytes are no picture for us, by what they begin with."""
    head = content[:512].lstrip().lower()
    if _begins_like_a_picture(content):
        return _CUT_OFF
    if content[4:8] == b"ftyp":
        kind = "a HEIC or AVIF picture, such as phones save"
    elif b"<svg" in head:
        kind = "an SVG drawing, which has no pixels"
    elif head.startswith(b"%pdf"):
        kind = "a PDF document"
    elif content[:4] in (b"II*\0", b"MM\0*"):
        kind = "a TIFF picture"
    else:
        kind = "not a picture that we know"
    return f"The file is {kind}. {ALLOWED}; convert it to one of them."


def _begins_like_a_picture(content: bytes) -> bool:
    if content[:4] == b"RIFF":
        return b"WEBP".startswith(content[8:12])
    if content[:2] == b"BM":
        return content[6:10].strip(b"\0") == b""  # reserved, so always zero
    return content.startswith((b"\x89PNG", JPEG, b"GIF8"))
