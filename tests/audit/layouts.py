"""Attention in the layouts that people fold it into; each does what plain attention does."""

import torch
import torch.nn.functional as F
from torch import nn

N_HEADS, D_MODEL, WINDOW = 2, 8, 4


def sdpa(q, k, v, keep):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def by_hand(q, k, v, keep):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~keep, torch.finfo(q.dtype).min)
    return scores.softmax(dim=-1) @ v


class Layers(nn.Module):
    """Two layers with a residual, whose heads attend by `layout`; `spoil` changes the mask."""

    def __init__(self, layout, spoil=None, n_layers=2):
        super().__init__()
        torch.manual_seed(0)
        self.qkv = nn.ModuleList(nn.Linear(D_MODEL, 3 * D_MODEL) for _ in range(n_layers))
        self.out = nn.ModuleList(nn.Linear(D_MODEL, D_MODEL) for _ in range(n_layers))
        self.layout, self.spoil = layout, spoil

    def forward(self, x, keep):
        keep = keep if self.spoil is None else self.spoil(keep)
        for qkv, out in zip(self.qkv, self.out, strict=True):
            parts = (
                one.unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for one in qkv(x).chunk(3, -1)
            )
            x = x + out(self.layout(*parts, keep[:, None]).transpose(1, 2).flatten(2))
        return x


class OfBatch(nn.Module):
    """The same, called with a batch whose mask is made of its valid tokens."""

    def __init__(self, inner, intent):
        super().__init__()
        self.inner, self.intent = inner, intent

    def forward(self, x, valid):
        return self.inner(x, self.intent(valid))


def batch(lengths, n_tokens):
    valid = torch.arange(n_tokens) < torch.tensor(lengths)[:, None]
    x = torch.randn(*valid.shape, D_MODEL, generator=torch.Generator().manual_seed(0))
    return {"x": x, "valid": valid}


def heads_in_batch(attend):
    def layout(q, k, v, keep):
        q, k, v = (part.flatten(0, 1)[:, None] for part in (q, k, v))
        keep = keep.expand(-1, N_HEADS, -1, -1).flatten(0, 1)[:, None]
        return attend(q, k, v, keep)[:, 0].unflatten(0, (-1, N_HEADS))

    return layout


def heads_first(attend):
    def layout(q, k, v, keep):
        q, k, v = (part.transpose(0, 1).flatten(0, 1)[:, None] for part in (q, k, v))
        keep = keep.expand(-1, N_HEADS, -1, -1).transpose(0, 1).flatten(0, 1)[:, None]
        return attend(q, k, v, keep)[:, 0].unflatten(0, (N_HEADS, -1)).transpose(0, 1)

    return layout


def five_axes(attend):
    """Batch, key head, group of its queries, query, key."""

    def layout(q, k, v, keep):
        return attend(q[:, :, None], k[:, :, None], v[:, :, None], keep[:, :, None])[:, :, 0]

    return layout


def in_whole_windows(layout):
    """The layout on tokens that are filled up, with what no one looks at, to whole windows."""

    def filled(q, k, v, keep):
        more = -q.shape[2] % WINDOW
        q, k, v = (F.pad(part, (0, 0, 0, more)) for part in (q, k, v))
        keep = F.pad(keep, (0, more, 0, more), value=False)
        return layout(q, k, v, keep)[:, :, : q.shape[2] - more]

    return filled


def windows(attend):
    """Each window is a row of the batch."""

    @in_whole_windows
    def layout(q, k, v, keep):
        count = q.shape[2] // WINDOW
        q, k, v = (
            part.unflatten(2, (count, WINDOW)).transpose(1, 2).flatten(0, 1) for part in (q, k, v)
        )
        starts = range(0, count * WINDOW, WINDOW)
        own = [keep[:, 0, start : start + WINDOW, start : start + WINDOW] for start in starts]
        mixed = attend(q, k, v, torch.stack(own, dim=1).flatten(0, 1)[:, None])
        return mixed.unflatten(0, (-1, count)).transpose(1, 2).flatten(2, 3)

    return layout


def neighboring_chunks(attend):
    """The queries of a chunk, and the keys of it and of those beside it."""

    @in_whole_windows
    def layout(q, k, v, keep):
        starts = range(0, q.shape[2], WINDOW)
        k, v = (F.pad(part, (0, 0, WINDOW, WINDOW)) for part in (k, v))
        keep = F.pad(keep, (WINDOW, WINDOW), value=False)
        queries = torch.stack([q[:, :, s : s + WINDOW] for s in starts], 1).flatten(0, 1)
        keys, values = (
            torch.stack([part[:, :, s : s + 3 * WINDOW] for s in starts], 1).flatten(0, 1)
            for part in (k, v)
        )
        pairs = [keep[:, :, s : s + WINDOW, s : s + 3 * WINDOW] for s in starts]
        mixed = attend(queries, keys, values, torch.stack(pairs, 1).flatten(0, 1))
        return mixed.unflatten(0, (-1, len(starts))).transpose(1, 2).flatten(2, 3)

    return layout


def in_one_row(attend):
    """All samples packed behind one another."""

    def layout(q, k, v, keep):
        n_samples, _, n_tokens, _ = q.shape
        q, k, v = (part.transpose(0, 1).flatten(1, 2)[None] for part in (q, k, v))
        pairs = torch.block_diag(*keep[:, 0].float()).bool()[None, None]
        return attend(q, k, v, pairs)[0].unflatten(1, (n_samples, n_tokens)).transpose(0, 1)

    return layout


def reordered(order):
    """Tokens in another order inside, and put back."""

    def made(attend):
        def layout(q, k, v, keep):
            to = order(q.shape[2])
            mixed = attend(q[:, :, to], k[:, :, to], v[:, :, to], keep[..., to, :][..., to])
            return mixed[:, :, to.argsort()]

        return layout

    return made


def mixed_up(n_tokens):
    return torch.randperm(n_tokens, generator=torch.Generator().manual_seed(1))


class Sorted(nn.Module):
    """Tokens sorted by what they hold, samples by their length, through all layers; put back."""

    def __init__(self, inner, by):
        super().__init__()
        self.inner, self.by = inner, by

    def forward(self, x, keep):
        if self.by == "length":
            order = keep.sum(dim=(1, 2)).argsort()
            return self.inner(x[order], keep[order])[order.argsort()]
        order = x[..., 0].argsort(dim=1)
        rows = torch.arange(len(x))[:, None]
        keep = keep[rows[..., None], order[:, :, None], order[:, None, :]]
        return self.inner(x[rows, order], keep)[rows, order.argsort(dim=1)]


LAYOUTS = {
    "heads in the batch": heads_in_batch,
    "heads before the batch": heads_first,
    "five axes": five_axes,
    "one row": in_one_row,
    "flipped": reordered(lambda n: torch.arange(n).flip(0)),
    "rolled": reordered(lambda n: torch.arange(n).roll(3)),
    "mixed up": reordered(mixed_up),
    "windows": windows,
    "chunks": neighboring_chunks,
}
