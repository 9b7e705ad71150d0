"""Section D, further: shifted windows of a picture (Swin), masked where the roll joined borders."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import Attend, Heads, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, plant, windows_of

SIZE, SHIFT = 4, 2  # tokens on a side of a window, and how far it is shifted
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


def _attend(q: Heads, k: Heads, v: Heads, height: int, keep: Keep, lay: Lay, undo: Lay) -> Heads:
    """Attention in the windows of a picture that is laid out and put back."""
    high, wide = lay(q[:1, :1].unflatten(2, (height, -1))).shape[2:4]
    q, k, v = (_windows(lay(x.unflatten(2, (height, -1)))) for x in (q, k, v))
    masks = keep.repeat(len(q) // len(keep), 1, 1)[:, None]
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=masks)
    return undo(_picture(mixed, high, wide)).flatten(2, 3)


def _of_picture(seed: int, attend: Attend, height: int, width: int, shift: int) -> MaskedModel:
    """A picture has no padding, and always as many tokens."""
    whole = AuditInputs(valid=torch.ones(3, height * width, dtype=torch.bool))
    model, intent = written_out(seed, attend), windows_of(height, width, SIZE, shift)
    scope = AuditScope(lengths=[height * width])
    return MaskedModel(model, intent, lambda valid: None, inputs=whole, scope=scope)


@plant(
    "D11-window-axes",
    "Shifted windows whose regions are cut along the wrong axes",
    symptom="Square pictures are right; in others, patches at opposite borders see each other.",
    story="Height and width change places on their way to the mask, or an axis is missing and only "
    "columns are cut: zsyOAOA/ResShift#81.",
    wrong="img = _regions(width, height)",
    right="img = _regions(height, width)",
    flagged_by="maps",
)
def regions_turned(seed: int, fixed: bool) -> MaskedModel:
    """Windows of four by four in a picture of eight by four patches."""
    height, width = 8, 4

    def attend(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
        img = _regions(width, height)
        if fixed:
            img = _regions(height, width)
        lay, undo = (lambda x, by=by: x.roll(by, AXES) for by in (BACK, ON))
        return _attend(q, k, v, height, _keep(img), lay, undo)

    return _of_picture(seed, attend, height, width, SHIFT)


@plant(
    "D12-window-padding",
    "Shifted windows that are padded after the roll",
    symptom="Pictures of whole windows are right; in others, the first row sees the last.",
    story="Padding belongs at the picture's end before it is rolled. After the roll, what was "
    "wrapped around stands in front of it, where the mask does not expect it: "
    "huggingface/pytorch-image-models#2438.",
    wrong="return F.pad(x.roll(BACK, AXES), below)",
    right="return F.pad(x, below).roll(BACK, AXES)",
    flagged_by="maps",
)
def padded_after_the_roll(seed: int, fixed: bool) -> MaskedModel:
    """Seven rows of four patches, and windows of four by four."""
    height, width, below = 7, 4, (0, 0, 0, 0, 0, 1)

    def lay(x: Picture) -> Picture:
        if fixed:
            return F.pad(x, below).roll(BACK, AXES)
        return F.pad(x.roll(BACK, AXES), below)

    def undo(x: Picture) -> Picture:
        return x.roll(ON, AXES)[:, :, :height] if fixed else x[:, :, :height].roll(ON, AXES)

    def attend(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
        real = lay(torch.ones_like(q[:1, :1, :, :1]).unflatten(2, (height, -1)))[0, 0, :, :, 0]
        img = _regions(height + 1, width).masked_fill(real == 0, -1.0)  # padding is apart
        return _attend(q, k, v, height, _keep(img), lay, undo)

    return _of_picture(seed, attend, height, width, SHIFT)


@plant(
    "D13-window-mask",
    "Windows that are not shifted, with the mask of shifted ones",
    symptom="Patches at the right and lower border lose neighbors of their own window.",
    story="One mask is made for the size that runs and given to every layer, shifted or not: "
    "JingyunLiang/SwinIR#153.",
    wrong="img = _regions(height, width)",
    right="img = torch.zeros(height, width)",
    flagged_by="maps",
)
def mask_of_shifted_ones(seed: int, fixed: bool) -> MaskedModel:
    """Windows of four by four in a picture of eight by four patches."""
    height, width = 8, 4

    def attend(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
        img = _regions(height, width)
        if fixed:
            img = torch.zeros(height, width)
        return _attend(q, k, v, height, _keep(img), lambda x: x, lambda x: x)

    return _of_picture(seed, attend, height, width, 0)


@plant(
    "D26-window-regions",
    "Shifted windows without a mask",
    symptom="Patches at opposite borders of a picture see each other.",
    story="The roll brings opposite borders into one window. Faster kernels take no mask, and are "
    "used without: asked about in zzd1992/FlashWindowAttention#1.",
    wrong="img = torch.zeros(height, width)",
    right="img = _regions(height, width)",
    flagged_by="maps",
)
def regions_missing(seed: int, fixed: bool) -> MaskedModel:
    """Windows of four by four in a picture of eight by four patches."""
    height, width = 8, 4

    def attend(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
        img = torch.zeros(height, width)
        if fixed:
            img = _regions(height, width)
        lay, undo = (lambda x, by=by: x.roll(by, AXES) for by in (BACK, ON))
        return _attend(q, k, v, height, _keep(img), lay, undo)

    return _of_picture(seed, attend, height, width, SHIFT)


@plant(
    "D27-window-shift",
    "Windows that are never shifted",
    symptom="A picture falls into tiles that know nothing of each other.",
    story="Every second layer is to be shifted. A shift that is rounded to 0, or set to 0 where "
    "one window covers an axis, is not noticed: shapes are the same.",
    wrong="by = (0, 0)",
    right="by = BACK",
    flagged_by="maps",
)
def never_shifted(seed: int, fixed: bool) -> MaskedModel:
    """Windows of four by four in a picture of eight by eight patches."""
    height, width = 8, 8

    def attend(q: Heads, k: Heads, v: Heads, passed: None) -> Heads:
        by = (0, 0)
        if fixed:
            by = BACK
        img = _regions(height, width) if any(by) else torch.zeros(height, width)
        lay, undo = (lambda x, to=to: x.roll(to, AXES) for to in (by, [-n for n in by]))
        return _attend(q, k, v, height, _keep(img), lay, undo)

    return _of_picture(seed, attend, height, width, SHIFT)
