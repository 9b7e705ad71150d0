"""Section D, further: shifted windows of a picture (Swin), masked where the roll joined borders."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import Heads
from viz_encoder.audit.zoo.specimen import plant, windows_of

SIZE, SHIFT = 4, 2  # tokens on a side of a window, and how far it is shifted
HEIGHT, WIDTH, BELOW = 8, 4, (0, 0, 0, 0, 0, 1)
BACK, ON, AXES = (-SHIFT, -SHIFT), (SHIFT, SHIFT), (2, 3)
Picture = Float[Tensor, "batch head height width d_head"]
Regions = Float[Tensor, "height width"]
Keep = Bool[Tensor, "window query key"]
Lay = Callable[[Picture], Picture]


def _windows(x: Picture) -> Float[Tensor, "batch_and_window head place d_head"]:
    """Window after window, each row by row."""
    cut = x.unfold(2, SIZE, SIZE).unfold(3, SIZE, SIZE)
    return cut.permute(0, 2, 3, 1, 5, 6, 4).flatten(0, 2).flatten(2, 3)


def _picture(x: Tensor, height: int, width: int) -> Picture:
    """The windows side by side again."""
    cut = x.unflatten(2, (SIZE, SIZE)).unflatten(0, (-1, height // SIZE, width // SIZE))
    return cut.permute(0, 3, 1, 4, 2, 5, 6).flatten(4, 5).flatten(2, 3)


def _regions(height: int, width: int) -> Regions:
    """A number for each part that the roll has left together."""
    img, count = torch.zeros(height, width), 0
    cuts = (slice(0, -SIZE), slice(-SIZE, -SHIFT), slice(-SHIFT, None))
    for rows in cuts:
        for columns in cuts:
            img[rows, columns] = count
            count += 1
    return img


def _keep(img: Regions) -> Keep:
    number = _windows(img[None, None, :, :, None])[:, 0, :, 0]
    return number[:, :, None] == number[:, None, :]


def _back(x: Picture) -> Picture:
    return x.roll(BACK, AXES)


def _on(x: Picture) -> Picture:
    return x.roll(ON, AXES)


def _attend(
    heads: tuple[Heads, Heads, Heads], keep: Keep, lay: Lay, undo: Lay, height: int = HEIGHT
) -> Heads:
    """Attention in the windows of a picture that is laid out and put back."""
    q, k, v = heads
    high, wide = lay(q[:1, :1].unflatten(2, (height, -1))).shape[2:4]
    q, k, v = (_windows(lay(x.unflatten(2, (height, -1)))) for x in (q, k, v))
    masks = keep.repeat(len(q) // len(keep), 1, 1)[:, None]
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=masks)
    return undo(_picture(mixed, high, wide)).flatten(2, 3)


def _of_picture(height: int, width: int, shift: int = SHIFT) -> dict[str, Any]:
    """A picture has no padding, and always as many tokens."""
    return {
        "intent": windows_of(height, width, SIZE, shift),
        "passed": lambda valid: None,
        "inputs": AuditInputs(valid=torch.ones(3, height * width, dtype=torch.bool)),
        "scope": AuditScope(lengths=[height * width]),
    }


@plant(
    "D11-window-axes",
    wrong="img = _regions(WIDTH, HEIGHT)",
    right="img = _regions(HEIGHT, WIDTH)",
    **_of_picture(HEIGHT, WIDTH),
)
def regions_turned(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
    """Windows of four by four in a picture of eight by four patches."""
    img = _regions(WIDTH, HEIGHT)
    return _attend((q, k, v), _keep(img), _back, _on)


@plant(
    "D12-window-padding",
    wrong="F.pad(x.roll(BACK, AXES), BELOW)",
    right="F.pad(x, BELOW).roll(BACK, AXES)",
    **_of_picture(7, WIDTH),
)
def padded_after_the_roll(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
    """Seven rows of four patches, and windows of four by four."""

    def lay(x: Picture) -> Picture:
        return F.pad(x.roll(BACK, AXES), BELOW)

    def undo(x: Picture) -> Picture:
        order = place.flatten().argsort()[-n_tokens:]  # padding first
        return x.flatten(2, 3)[:, :, order].unflatten(2, (7, WIDTH))

    n_tokens = q.shape[2]
    place = lay(1 + torch.arange(n_tokens).view(1, 1, 7, WIDTH, 1))[0, 0, :, :, 0]
    img = _regions(8, WIDTH).masked_fill(place == 0, -1.0)  # padding is apart
    return _attend((q, k, v), _keep(img), lay, undo, 7)


@plant(
    "D13-window-mask",
    wrong="img = _regions(HEIGHT, WIDTH)",
    right="img = torch.zeros(HEIGHT, WIDTH)",
    **_of_picture(HEIGHT, WIDTH, 0),
)
def mask_of_shifted_ones(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
    """Windows of four by four in a picture of eight by four patches."""
    img = _regions(HEIGHT, WIDTH)
    return _attend((q, k, v), _keep(img), lambda x: x, lambda x: x)


@plant(
    "D26-window-regions",
    wrong="img = torch.zeros(HEIGHT, WIDTH)",
    right="img = _regions(HEIGHT, WIDTH)",
    **_of_picture(HEIGHT, WIDTH),
)
def regions_missing(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
    """Windows of four by four in a picture of eight by four patches."""
    img = torch.zeros(HEIGHT, WIDTH)
    return _attend((q, k, v), _keep(img), _back, _on)


@plant(
    "D27-window-shift",
    wrong="by = (0, 0)",
    right="by = BACK",
    **_of_picture(8, 8),
)
def never_shifted(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
    """Windows of four by four in a picture of eight by eight patches."""
    by = (0, 0)
    img = _regions(8, 8) if any(by) else torch.zeros(8, 8)
    lay, undo = (lambda x, to=to: x.roll(to, AXES) for to in (by, [-n for n in by]))
    return _attend((q, k, v), _keep(img), lay, undo)
