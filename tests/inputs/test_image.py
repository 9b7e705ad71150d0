"""ImageReader: what it makes of good, odd, damaged and hostile pictures."""

import io
import itertools
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, PngImagePlugin

from tests.refusals import refused
from viz_encoder.errors import ConfigError, InputError, NotAnImage, TooLong
from viz_encoder.inputs.decode import decode
from viz_encoder.inputs.image import ImageReader

GRAY = ImageReader((40, 40), 4, n_channels=1, prefix=("[CLS]",), mean=(0.5,), std=(0.5,))
COLOR = ImageReader((40, 40), 4)
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def file(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(width: int = 40, height: int = 40, mode: str = "RGB") -> Image.Image:
    values = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values).convert(mode)


def pixels(source: object, reader: ImageReader = COLOR) -> np.ndarray:
    picture = reader.read(source).samples[0].picture
    assert picture is not None
    return picture


def notes(source: object, reader: ImageReader = COLOR) -> str:
    return "\n".join(reader.read(source).samples[0].notes)


def header_only_png(width: int, height: int) -> bytes:
    """A PNG that announces a size and holds no pixel: decoding it could only fail."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


# What the encoder gets


def test_tokens_are_the_prefix_then_the_patches_row_by_row():
    inputs = GRAY.read(noise(52, 40, "L"))
    sample = inputs.samples[0]
    assert (sample.grid.n_rows, sample.grid.n_cols, sample.grid.n_prefix) == (10, 13, 1)
    assert sample.tokens[:3] == ("[CLS]", "r0c0", "r0c1")
    assert sample.tokens[1 + 13] == "r1c0"
    assert sample.tokens[-1] == "r9c12"
    assert sample.special == (True, *[False] * 130)
    assert inputs.valid.shape == (1, 131) and bool(inputs.valid.all()) and not inputs.padded


def test_values_are_the_shown_picture_normalized():
    for reader in (GRAY, COLOR):
        inputs = reader.read(noise(80, 60))
        shown = torch.from_numpy(inputs.samples[0].picture).permute(2, 0, 1)[: reader.n_channels]
        assert inputs.values.shape == (1, reader.n_channels, 40, 52)
        assert torch.allclose(inputs.values[0], (shown / 255 - 0.5) / 0.5)
    reader = ImageReader((8, 8), 4, mean=(0.0, 0.5, 1.0), std=(1.0, 0.5, 2.0))
    values = reader.read(Image.new("RGB", (8, 8), (255, 0, 0))).values
    assert values[0, :, 0, 0].tolist() == [1.0, -1.0, -0.5]  # of each channel its own


def test_a_picture_of_the_trained_size_is_not_touched():
    picture = noise()
    assert np.array_equal(pixels(picture), np.asarray(picture))
    assert notes(picture) == ""


SIZES = {
    (640, 480): (52, 40),
    (480, 640): (40, 52),
    (40, 40): (40, 40),
    (400, 400): (40, 40),
    (41, 40): (40, 40),
    (43, 40): (44, 40),
    (8, 8): (40, 40),
    (160, 40): (160, 40),
}


def test_the_picture_keeps_its_shape_and_fits_the_grid():
    for old, new in SIZES.items():
        assert pixels(noise(*old)).shape == (new[1], new[0], 3), old
    for width, height in itertools.product((1, 7, 39, 100, 333), repeat=2):
        inputs = COLOR.read(noise(width, height))
        grid = inputs.samples[0].grid
        assert inputs.values.shape[-2:] == (4 * grid.n_rows, 4 * grid.n_cols)
        assert min(grid.n_rows, grid.n_cols) == 10
        assert max(grid.n_rows, grid.n_cols) <= 40
        assert bool(torch.isfinite(inputs.values).all())


def test_an_oblong_model_takes_its_short_side():
    reader = ImageReader((32, 64), 8)
    assert pixels(noise(200, 100), reader).shape == (32, 64, 3)
    assert notes(noise(64, 32), reader) == ""
    assert pixels(noise(100, 200), reader).shape == (64, 32, 3)


# What it tells


def test_a_grey_model_shows_the_grey_it_reads():
    picture = pixels(Image.new("RGB", (40, 40), RED), GRAY)
    assert (picture == 76).all()  # 0.299 · 255, ITU-R 601


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            noise(640, 480),
            r"^The picture was resized from 640 × 480 to 52 × 40 pixels \(13 × 10 patches of 4\); "
            r"the model was trained at 40 × 40, so its positions were interpolated\.$",
        ),
        (noise(80, 80), r"was resized from 80 × 80 to 40 × 40 .* \(10 × 10 patches of 4\)\.$"),
        (noise(1, 1), r"^The picture was enlarged from 1 × 1 to 40 × 40 pixels"),
        (noise(52, 40), r"^The picture of 52 × 40 pixels was cut into 13 × 10 patches .*interpol"),
        (noise(10_000, 1), r"more than 4 times as long .* \(10,000 × 1\), so it was squeezed to 4"),
        (Image.new("RGB", (40, 40), WHITE), r"Every pixel of the picture has the same color"),
    ],
)
def test_what_was_done_is_told(source, sentence):
    assert re.search(sentence, notes(source), re.MULTILINE)


def test_color_is_told_only_when_it_was_lost():
    assert "converted to gray: this model reads one channel" in notes(noise(), GRAY)
    for source, reader in (
        (noise(mode="L"), GRAY),
        (noise(mode="L").convert("RGB"), GRAY),
        (noise(mode="L"), COLOR),
        (noise(mode="RGBA"), COLOR),  # its alpha channel is opaque
    ):
        assert notes(source, reader) == ""


# Modes


def test_sixteen_bits_are_scaled_not_clipped():
    values = np.full((40, 40), 40_000, np.uint16)
    values[:, 20:] = 65_535
    picture = pixels(file(Image.fromarray(values)))
    assert (picture[0, 0] == 156).all() and (picture[0, 39] == 255).all()
    assert "scaled from 0 … 65,535 to 0 … 255" in notes(file(Image.fromarray(values)))


def test_wide_modes_keep_their_range():
    for values, first, last in (
        (np.array([[0, 200]], np.int32), 0, 200),
        (np.array([[0, 40_000]], np.int32), 0, 156),
        (np.array([[-100, 100_000]], np.int32), 0, 255),
        (np.array([[0, 0.5]], np.float32), 0, 128),
        (np.array([[0, 200]], np.float32), 0, 200),
        (np.array([[-1, 1]], np.float32), 0, 255),
    ):
        picture = decode(Image.fromarray(values), [])
        assert (picture.getpixel((0, 0))[0], picture.getpixel((1, 0))[0]) == (first, last)


def palette(**options: object) -> bytes:
    image = Image.new("P", (40, 40), 1)
    image.putpalette([*RED, *GREEN])
    return file(image, **options)


def test_transparent_parts_become_white_and_are_told():
    assert pixels(palette())[0, 0].tolist() == list(GREEN)
    for image, color in (
        (palette(transparency=1), WHITE),
        (Image.new("RGBA", (40, 40), (255, 0, 0, 0)), WHITE),
        (Image.new("RGBA", (40, 40), (255, 0, 0, 51)), (255, 204, 204)),
        (Image.new("LA", (40, 40), (0, 0)), WHITE),
        (Image.new("LA", (40, 40), (0, 0)).convert("La"), WHITE),
    ):
        assert pixels(image)[0, 0].tolist() == list(color)
        assert "Transparent parts of the picture were filled with white." in notes(image)


def test_cmyk_keeps_its_colors():
    image = Image.new("CMYK", (40, 40), (255, 0, 0, 0))
    content = file(image, "JPEG", quality=95)
    assert b"Adobe" in content  # so it is stored inverted
    for source in (image, content):
        assert np.abs(pixels(source)[0, 0].astype(int) - (0, 255, 255)).max() <= 3


def test_every_mode_of_a_pil_image_and_every_array_is_read():
    for mode in ("1", "L", "P", "RGB", "RGBA", "LA", "HSV", "YCbCr", "I", "F"):
        image = noise(mode="L" if mode == "LA" else "RGB").convert(mode)
        assert pixels(image).shape == (40, 40, 3), mode
    for shape in ((40, 40), (40, 40, 3), (40, 40, 4)):
        assert (pixels(np.full(shape, 255, np.uint8)) == 255).all()


# Sources


KINDS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")


def test_formats_from_bytes_and_paths(tmp_path: Path):
    path = tmp_path / "Größe 😀.picture"  # the name says nothing; the bytes do
    for kind in KINDS:
        content = file(Image.new("RGB", (40, 40), BLUE), kind)
        path.write_bytes(content)
        for source in (content, path, str(path)):
            assert np.abs(pixels(source)[0, 0].astype(int) - BLUE).max() <= 2


@pytest.mark.parametrize("orientation, corner", [(1, RED), (3, BLUE), (6, GREEN), (8, WHITE)])
def test_exif_orientation_is_followed(orientation: int, corner: tuple[int, ...]):
    image = Image.new("RGB", (40, 40))
    for box, color in zip(
        [(0, 0), (20, 0), (20, 20), (0, 20)], [RED, WHITE, BLUE, GREEN], strict=True
    ):
        image.paste(color, (*box, box[0] + 20, box[1] + 20))
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = file(image, "PNG", exif=exif)
    assert pixels(content)[0, 0].tolist() == list(corner)
    assert ("turned upright" in notes(content)) == (orientation != 1)
    oblong = pixels(file(noise(60, 40), "JPEG", exif=exif)).shape
    assert oblong == ((60, 40, 3) if orientation > 4 else (40, 60, 3))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # Pillow's own, besides our note
def test_damaged_exif_does_not_spoil_the_picture():
    content = file(noise(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xffgarbage")
    assert pixels(content).shape == (40, 40, 3)


def test_of_an_animation_the_first_frame_is_read_and_told():
    frames = [Image.new("RGB", (40, 40), color) for color in (RED, GREEN, BLUE)]
    for kind in ("GIF", "WEBP", "PNG"):
        more = {"save_all": True, "append_images": frames[1:], "duration": 100}
        content = file(frames[0], kind, **more)
        assert np.abs(pixels(content)[0, 0].astype(int) - RED).max() <= 2
        assert "several frames; only the first was read" in notes(content)


def test_a_pil_image_is_left_as_it_was():
    image = noise(60, 50, "RGBA")
    before = image.tobytes()
    COLOR.read(image)
    assert image.size == (60, 50) and image.mode == "RGBA" and image.tobytes() == before


# Batches


def test_a_batch_of_one_shape():
    inputs = GRAY.read([noise(60, 40), noise(120, 80), file(noise(600, 400))])
    assert inputs.values.shape == (3, 1, 40, 60)
    assert len(inputs.samples) == 3 and inputs.valid.shape == (3, 151)


# Refusals: one plain sentence each


def with_a_long_text() -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("a", "x" * 8_000_000, zip=True)
    return file(noise(), "PNG", pnginfo=info)


KNOWN = r"not a picture that we know.*convert it"
MISSING = r"^There is no file '.{1,210}' to read; check"


@pytest.mark.parametrize(
    ("source", "fault", "sentence"),
    [
        (b"", NotAnImage, r"^The picture file is empty\. Pictures are read as PNG, JPEG, Web"),
        (b"hello, I am a text called a.png", NotAnImage, r"not a picture .* know\. Pictures are"),
        (b"BMW drives; RIFF raffs", NotAnImage, r"not a picture that we know"),
        (b'<?xml version="1.0"?><svg></svg>', NotAnImage, r"an SVG drawing.*PNG, JPEG"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", NotAnImage, r"HEIC or AVIF.*convert it"),
        (b"%PDF-1.7 ...", NotAnImage, r"a PDF document.*convert it"),
        (file(noise(), "TIFF"), NotAnImage, r"a TIFF picture.*convert it"),
        (file(noise(), "ICO"), NotAnImage, KNOWN),
        (b"%!PS-Adobe-3.0 EPSF-3.0", NotAnImage, KNOWN),
        (b"SIMPLE  =                    T", NotAnImage, KNOWN),
        (with_a_long_text(), NotAnImage, "damaged"),
        (header_only_png(5000, 5000), NotAnImage, "cut off"),  # no pixels, but not too many either
        (header_only_png(5001, 5001), TooLong, "The picture has .* million.*(limit|smaller)"),
        (header_only_png(30_000, 30_000), TooLong, "The picture has .* million.*(limit|smaller)"),
        ("nothing.png", InputError, MISSING),
        ("a" * 5000, InputError, MISSING),
        ("a\0b", InputError, MISSING),
        ("~nobody-here/a.png", InputError, MISSING),
        (np.zeros((4, 4)), InputError, r"The array is \w+ of shape \(4.*give uint8 values"),
        (np.zeros((4, 4, 2), np.uint8), InputError, r"The array is \w+ of shape \(4.*give uint8"),
        (np.zeros(4, np.uint8), InputError, r"The array is \w+ of shape \(4.*give uint8 values"),
        (np.zeros((0, 4), np.uint8), NotAnImage, "pixels"),
        (Image.new("RGB", (0, 5)), NotAnImage, "pixels"),
        (Image.fromarray(np.array([[np.nan, 1]], np.float32)), NotAnImage, "NaN or infinite"),
        ([noise(), noise(), noise(52, 40)], InputError, r"picture 1 has 10 × 10 .* 3 has 13 × 10"),
        ([], InputError, "list of pictures is empty"),
        (5, InputError, "The picture is int; give a path"),
        ("/", NotAnImage, "is not a file"),
        ("/dev/zero", NotAnImage, "is not a file"),
    ],
)
def test_what_cannot_be_read_is_called_what_it_is(source, fault, sentence):
    refused(fault, sentence, COLOR.read, source)


@pytest.mark.parametrize(
    ("settings", "fault", "sentence"),
    [
        ({"max_pixels": 1599}, TooLong, r"40 × 40 pixels; the limit is"),
        ({"n_channels": 2, "mean": (0, 0), "std": (1, 1)}, InputError, "2 channels.*a tensor"),
        ({"mean": (0.5,)}, ConfigError, r"image mean is \(0\.5,\); give one number for each"),
        ({"std": (1, 1, float("nan"))}, ConfigError, r"image std is .*nan"),
        ({"std": (1, 0, 1)}, ConfigError, r"each number must be above 0"),
    ],
)
def test_what_a_reader_does_not_take(settings, fault, sentence):
    refused(fault, sentence, lambda: ImageReader((40, 40), 4, **settings).read(noise()))


def test_files_that_are_cut_off_or_damaged():
    """Cut off, a file is refused; with flipped bytes it is a picture or a plain sentence."""
    rng = np.random.default_rng(1)
    for kind in KINDS:
        content = file(noise(60, 40), kind)
        for share in (0.003, 0.01, 0.1, 0.5, 0.9):
            part = content[: max(12, int(share * len(content)))]
            refused(NotAnImage, "^The picture file is cut off or damaged; dow", COLOR.read, part)
        content = file(noise(30, 20), kind)
        for _ in range(150):
            broken = bytearray(content)
            for place in rng.integers(0, len(content), 4):
                broken[place] = rng.integers(256)
            try:
                COLOR.read(bytes(broken))
            except (NotAnImage, TooLong) as fault:
                assert str(fault).endswith(".")


def test_too_many_bytes_are_refused(tmp_path: Path):
    content = file(noise(), "BMP")
    (tmp_path / "big.bmp").write_bytes(content)
    reader = ImageReader((40, 40), 4, max_bytes=1000)
    for source in (content, tmp_path / "big.bmp"):
        refused(TooLong, "The picture file is over", reader.read, source)


def test_a_jpeg_of_very_many_scans_is_refused():
    content = file(noise(mode="L"), "JPEG", progressive=True)
    scan = content[content.rfind(b"\xff\xc4") : -2]  # the last one, with its Huffman table
    assert pixels(content[:-2] + 20 * scan + b"\xff\xd9").shape == (40, 40, 3)
    endless = content[:-2] + 100 * scan + b"\xff\xd9"
    refused(TooLong, r"^The JPEG file has \d+ scans; the limit is 100\.", COLOR.read, endless)


def test_a_picture_that_was_cut_up_is_read_as_it_is():
    fit = ImageReader((8, 8), 4, fit="crop", resized=(12,))
    read = fit.read(noise())
    again = fit.cut_up(read.samples[0])
    assert torch.equal(again.values, read.values) and again.samples == read.samples
    for sample in (replace(read.samples[0], picture=None), replace(read.samples[0], grid=None)):
        refused(InputError, "holds no picture that makes its patches", fit.cut_up, sample)
    other = ImageReader((8, 8), 2)
    refused(InputError, "holds no picture that makes its patches", other.cut_up, read.samples[0])
