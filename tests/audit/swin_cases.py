"""Shifted windows as Swin has them, right and wrong, written out as its authors do."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.audit.cause_cases import D_MODEL, KERNELS, N_HEADS, CauseCase, Mask, attend
from viz_encoder.audit import AuditInputs, AuditScope


class WindowAttention(nn.Module):
    """One layer over a picture of `size` tokens; `late` pads after the roll."""

    def __init__(self, kind: str, size: tuple[int, int], window: int, shift: int) -> None:
        super().__init__()
        self.kind, self.size, self.window, self.shift = kind, size, window, shift
        self.late, self.mask = False, None
        self.qkv, self.out = nn.Linear(D_MODEL, 3 * D_MODEL), nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        (height, width), window = self.size, self.window
        x = x.unflatten(1, self.size)
        down, right = -height % window, -width % window
        x = x if self.late else F.pad(x, (0, 0, 0, right, 0, down))
        x = x.roll((-self.shift, -self.shift), (1, 2)) if self.shift else x
        x = F.pad(x, (0, 0, 0, right, 0, down)) if self.late else x
        cut = x.unflatten(1, (-1, window)).unflatten(3, (-1, window)).permute(0, 1, 3, 2, 4, 5)
        mixed = self.attend(cut.reshape(-1, window**2, D_MODEL), len(x)).view(cut.shape)
        x = mixed.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)
        x = x[:, :height, :width] if self.late else x
        x = x.roll((self.shift, self.shift), (1, 2)) if self.shift else x
        return x[:, :height, :width].flatten(1, 2)

    def attend(self, x: Tensor, n_samples: int) -> Tensor:
        q, k, v = (t.unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        keep = None if self.mask is None else self.mask.repeat(n_samples, 1, 1)
        return self.out(attend(self.kind, q, k, v, keep).transpose(1, 2).flatten(2))


class Swin(nn.Module):
    """A plain layer and a shifted one."""

    def __init__(self, kind: str, size: tuple[int, int], window: int, shift: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.plain = WindowAttention(kind, size, window, 0)
        self.shifted = WindowAttention(kind, size, window, shift)
        self.shifted.mask = regions(size, window, shift)
        if any(n % window for n in size):
            self.plain.mask = regions(size, window, 0)

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        x = x + self.plain(x)
        return x + self.shifted(x)


def cuts(window: int, shift: int) -> tuple[slice, ...]:
    if not shift:
        return (slice(None),)
    return slice(0, -window), slice(-window, -shift), slice(-shift, None)


def regions(size: tuple[int, int], window: int, shift: int, along: str = "hw") -> Tensor:
    """Which places of each window may see each other; padding is apart from all."""
    whole = [n + -n % window for n in size]
    img, count = torch.zeros(whole), 0
    for rows in cuts(window, shift):
        for columns in cuts(window, shift):
            if "h" not in along:
                rows = slice(None)  # as in ResShift, where an axis of 1 was cut instead
            if "w" not in along:
                columns = slice(None)
            img[rows, columns] = count
            count += 1
    rolled = torch.arange(whole[0]).roll(-shift), torch.arange(whole[1]).roll(-shift)
    img[rolled[0] >= size[0]] = -1
    img[:, rolled[1] >= size[1]] = -1
    cut = img.unflatten(0, (-1, window)).unflatten(2, (-1, window)).transpose(1, 2)
    number = cut.reshape(-1, window**2)
    return number[:, :, None] == number[:, None, :]


def allowed(size: tuple[int, int], window: int, shift: int) -> Tensor:
    """Token by token: both are in one window of the rolled picture, and neither was wrapped in."""
    height, width = (n + -n % window for n in size)
    pairs = torch.zeros(size[0] * size[1], size[0] * size[1], dtype=torch.bool)
    for query in range(len(pairs)):
        for key in range(len(pairs)):
            same = True
            for one, other, whole in (
                (query // size[1], key // size[1], height),
                (query % size[1], key % size[1], width),
            ):
                a, b = (one - shift) % whole, (other - shift) % whole
                same &= a // window == b // window and (one < shift) == (other < shift)
            pairs[query, key] = same
    return pairs


def swapped(model: Swin) -> None:
    size = model.shifted.size[::-1]
    model.shifted.mask = regions(size, model.shifted.window, model.shifted.shift)


def one_axis(model: Swin) -> None:
    layer = model.shifted
    layer.mask = regions(layer.size, layer.window, layer.shift, along="w")


def unmasked(model: Swin) -> None:
    model.shifted.mask = None


def late(model: Swin) -> None:
    layer = model.shifted
    layer.late = True
    img = torch.zeros([n + -n % layer.window for n in layer.size])
    for count, (rows, columns) in enumerate(
        (a, b) for a in cuts(layer.window, layer.shift) for b in cuts(layer.window, layer.shift)
    ):
        img[rows, columns] = count
    img[layer.size[0] :] = -1
    img[:, layer.size[1] :] = -1
    cut = img.unflatten(0, (-1, layer.window)).unflatten(2, (-1, layer.window)).transpose(1, 2)
    number = cut.reshape(-1, layer.window**2)
    layer.mask = number[:, :, None] == number[:, None, :]


def unshifted_masked(model: Swin) -> None:
    model.plain.mask = model.shifted.mask


WRONG = {
    "height for width": (swapped, (6, 4), 2, 1, ("windows_axes",)),
    "along one axis": (one_axis, (4, 6), 2, 1, ("windows_axes",)),
    "not masked": (unmasked, (4, 4), 2, 1, ("windows_unmasked",)),
    "padded late": (late, (7, 4), 4, 2, ("windows_late",)),
    "masked without a shift": (unshifted_masked, (4, 6), 2, 1, ("windows_shift_mask",)),
}


def allowed_in(pairs: Tensor) -> Mask:
    return lambda valid: pairs.expand(len(valid), -1, -1)


def cases(mended: bool = False) -> list[CauseCase]:
    """Each mistake on each kernel, wrong or as it should be."""
    found = []
    for name, (spoil, size, window, shift, right) in WRONG.items():
        n_tokens = size[0] * size[1]
        for kind in KERNELS:

            def build(spoil=spoil, size=size, window=window, shift=shift, kind=kind):
                model = Swin(kind, size, window, shift)
                if not mended:
                    spoil(model)
                return model.eval(), lambda valid: None

            options = {"inputs": AuditInputs(valid=torch.ones(3, n_tokens, dtype=torch.bool))}
            options["scope"] = AuditScope(lengths=[n_tokens])
            meant = [allowed_in(allowed(size, window, by)) for by in (0, shift)]
            found.append(CauseCase(f"windows {name}, {kind}", build, meant, right, options=options))
    return found
