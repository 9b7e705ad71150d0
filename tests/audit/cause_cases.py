"""Bugs with the cause that is right for each, on every kernel; written without the audit's code."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.audit.plants import banded, causal, near, padding
from tests.audit.transformers_models import TEXT, embedded, made
from tests.audit.transformers_models import ones as ones_of

D_MODEL, N_HEADS = 8, 2
Mask = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class CauseCase:
    """A bug: what is meant, what is done, and which causes are right, or near."""

    name: str
    build: Callable[[], tuple[Any, Any]]  # () -> (model, make_mask)
    intent: Any
    right: tuple[str, ...]
    near: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


class Kernel(nn.Module):
    """Attention over bool masks, True = may attend, by one of three kernels."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.qkv, self.out = nn.Linear(D_MODEL, 3 * D_MODEL), nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(attend(self.kind, q, k, v, keep).transpose(1, 2).flatten(2))


def attend(kind: str, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None) -> Tensor:
    """Mix the values by one of three kernels; True = may attend, numbers are added."""
    keep = keep[:, None] if keep is not None and keep.ndim == 3 else keep
    if kind == "fused":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if keep is not None and keep.dtype == torch.bool:
        scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    elif keep is not None:
        scores = scores + keep
    if kind == "by hand":
        return scores.softmax(dim=-1) @ v
    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return weights / weights.sum(dim=-1, keepdim=True) @ v


class Layers(nn.Module):
    """Two layers with a residual; `alter` may change the mask of each layer."""

    def __init__(self, kind: str, alter: Callable[[int, Tensor], Tensor] | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Kernel(kind) for _ in range(2))
        self.alter = alter

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = x + layer(x, self.alter(number, keep) if self.alter else keep)
        return x


def ones(valid: Tensor) -> Tensor:
    return torch.ones_like(padding(valid))


def place(valid: Tensor) -> Tensor:
    at = torch.arange(valid.shape[1])
    return at[:, None] - at[None, :]


def packed(valid: Tensor) -> Tensor:
    number = torch.arange(valid.shape[1]) // 4
    return causal(valid) & (number[:, None] == number[None, :])


def of_documents(more: int, least: int | None = None) -> Mask:
    def mask(valid: Tensor) -> Tensor:
        number = (torch.arange(valid.shape[1]) + more).clamp_min(least or -9) // 4
        return causal(valid) & (number[:, None] == number[None, :])

    return mask


def by_lengths(late: int) -> Mask:
    """Two documents to a sample, and its padding; a window of three inside of each."""

    def mask(valid: Tensor) -> Tensor:
        counts, at = valid.sum(1, keepdim=True), torch.arange(valid.shape[1])
        number = (at >= counts // 2 + late).long() + (at >= counts + late)
        return (number[:, :, None] == number[:, None, :]) & (place(valid).abs() <= 2)

    return lambda valid: mask(valid) if late else mask(valid) & padding(valid)


def with_globals(valid: Tensor) -> Tensor:
    allowed = place(valid).abs().le(1).expand(padding(valid).shape).clone()
    allowed[:, 0, :] = allowed[:, :, 0] = True
    return allowed & padding(valid)


def longer(more: int) -> Mask:
    def mask(valid: Tensor) -> Tensor:
        keep = torch.arange(valid.shape[1]) < (valid.sum(1) + more).clamp_min(1)[:, None]
        return padding(keep)

    return mask


def moved(valid: Tensor) -> Tensor:
    return padding(F.pad(valid, (1, 0), value=True)[:, :-1])


def _pair(valid: Tensor, query: int, key: int) -> Tensor:
    pairs = torch.zeros_like(padding(valid))
    pairs[:, query, key] = True
    return pairs


def _noise(valid: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(valid.shape[1])
    return torch.rand(valid.shape[1], valid.shape[1], generator=generator)


def _exchanged(valid: Tensor) -> Tensor:
    order = torch.arange(len(valid))
    if len(valid) > 2:
        order[[0, 2]] = order[[2, 0]]
    return valid[order]


def halves(valid: Tensor) -> Tensor:
    """Two documents to a sample, each half of its real tokens, on whichever side they stand."""
    first, counts = valid.long().argmax(1, keepdim=True), valid.sum(1, keepdim=True)
    number = torch.arange(valid.shape[1]) >= first + counts // 2
    return padding(valid) & (number[:, :, None] == number[:, None, :])


def halves_of_all(valid: Tensor) -> Tensor:
    return padding(valid) & halves(torch.ones_like(valid))


def rounded(multiple: int) -> Mask:
    def mask(valid: Tensor) -> Tensor:
        counts = -(-valid.sum(1) // multiple) * multiple
        return padding(torch.arange(valid.shape[1]) < counts[:, None])

    return mask


def added(constant: float, of: Mask) -> Mask:
    return lambda valid: torch.zeros(of(valid).shape).masked_fill(~of(valid), constant)


def registers(valid: Tensor) -> Tensor:
    """Two tokens in front of the text, whose True was put at the end."""
    return padding(F.pad(valid[:, 2:], (0, 2), value=True))


def prefixed(longest: bool) -> Mask:
    """Causal, but for half of each sample's tokens, which all see; or of the longest one's."""

    def mask(valid: Tensor) -> Tensor:
        half = valid.sum(1, keepdim=True) // 2
        half = half.amax().expand_as(half) if longest else half
        return causal(valid) | padding(valid & (torch.arange(valid.shape[1]) < half))

    return mask


def reopened(valid: Tensor) -> Tensor:
    """The prefix, and padding with the token type of it, opened to all."""
    half = valid.sum(1, keepdim=True) // 2
    return prefixed(False)(valid) | ((torch.arange(valid.shape[1]) < half) | ~valid)[:, None]


def seeing_prefix(queries: bool) -> Mask:
    """Causal, but for half of each sample's tokens, which see each other; or all of the sample."""

    def mask(valid: Tensor) -> Tensor:
        prefix = torch.arange(valid.shape[1]) < valid.sum(1, keepdim=True) // 2
        keys = valid if queries else prefix & valid
        return causal(valid) | (prefix[:, :, None] & keys[:, None, :])

    return mask


def with_picture(beyond: bool, reach: int = 2) -> Mask:
    """A causal window, and a picture of four tokens that see each other, in the window or not."""

    def mask(valid: Tensor) -> Tensor:
        at = torch.arange(valid.shape[1])
        picture = (at > 0) & (at < 5)
        whole, near = picture[:, None] & picture, place(valid).abs() <= reach
        looked = (place(valid) >= 0) & near | whole & (near | beyond)
        return padding(valid) & looked

    return mask


def longer_prefix(more: int) -> Mask:
    """Causal, but for half of each sample's tokens, which see each other, and so many more."""

    def mask(valid: Tensor) -> Tensor:
        prefix = torch.arange(valid.shape[1]) < valid.sum(1, keepdim=True) // 2 + 1 + more
        return causal(valid) | (prefix & valid)[:, None] & prefix[:, :, None]

    return mask


def in_halves(padded_as: int) -> Mask:
    """Two documents to a sample; padding is of no document, or of this one."""

    def mask(valid: Tensor) -> Tensor:
        place, counts = valid.cumsum(1) - 1, valid.sum(1, keepdim=True)
        number = (place >= counts // 2).long().masked_fill(~valid, padded_as)
        return number[:, :, None] == number[:, None, :]

    return lambda valid: mask(valid) & padding(valid) if padded_as < 0 else mask(valid)


def beside(valid: Tensor) -> Tensor:
    """Causal weights, of which the first column belongs to what was put before the keys."""
    return F.pad(causal(valid), (1, 0), value=True)[..., :-1]


def on_a_grid(flat: bool) -> Mask:
    """Neighbors in rows of four, or at their distances in the sequence."""

    def mask(valid: Tensor) -> Tensor:
        at = torch.arange(valid.shape[1])
        rows, columns = (one[:, None] - one for one in (at // 4, at % 4))
        distances = torch.tensor([0, 1, 3, 4, 5])
        near = torch.isin(place(valid).abs(), distances)
        return padding(valid) & (near if flat else (rows.abs() <= 1) & (columns.abs() <= 1))

    return mask


def either(valid: Tensor) -> Tensor:
    return near(torch.ones_like(valid)) | padding(valid)


def strict(valid: Tensor) -> Tensor:
    return padding(valid).tril(-1)


def in_frames(valid: Tensor) -> Tensor:
    frame = torch.arange(valid.shape[1]) // 3
    return padding(valid) & (frame[:, None] == frame)


def over_frames(causally: bool) -> Mask:
    """The same place in each frame of three, or in those before."""

    def mask(valid: Tensor) -> Tensor:
        place = torch.arange(valid.shape[1]) % 3
        return (causal if causally else padding)(valid) & (place[:, None] == place)

    return mask


def in_parts(valid: Tensor) -> Tensor:
    """Causal, by four queries at a time, each time counted from the first key."""
    at = torch.arange(valid.shape[1])
    return padding(valid) & (at[None, :] <= at[:, None] % 4)


def thirds(back: int) -> Mask:
    """Chunks of three tokens: its own, and so many before it."""

    def mask(valid: Tensor) -> Tensor:
        chunk = torch.arange(valid.shape[1]) // 3
        behind = chunk[:, None] - chunk
        return padding(valid) & (behind >= 0) & (behind <= back)

    return mask


def in_tiles(open_elsewhere: bool) -> Mask:
    """Blocks of three keys with a causal mask each, as if each stood on the diagonal."""

    def mask(valid: Tensor) -> Tensor:
        place = torch.arange(valid.shape[1])
        within = place % 3 <= (place % 3)[:, None]
        apart = place // 3 != (place // 3)[:, None]
        return padding(valid) & (within | (apart & open_elsewhere))

    return mask


def first_row(valid: Tensor) -> Tensor:
    """The token that was put in front sees padding."""
    return padding(valid) | (torch.arange(valid.shape[1]) == 0)[:, None]


def put_in(valid: Tensor) -> Tensor:
    """Three tokens behind the first are put in, and 0 into the mask for them."""
    place = torch.arange(valid.shape[1])
    return causal(valid) & ~((place > 0) & (place < 4)) | torch.eye(len(place), dtype=torch.bool)


def times(rate: int) -> Mask:
    """Lengths as they were before only every `rate`-th frame was kept."""
    return lambda v: padding(torch.arange(v.shape[1]) < rate * v.sum(1, keepdim=True))


def grouped(late: int) -> Mask:
    """Steps of three tokens and one that reads them, and is seen by none (octo#75)."""

    def intent(v: Tensor) -> Tensor:
        at = (torch.arange(v.shape[1]) - late).clamp(min=0)
        step, reads = at // 4, at % 4 == 3
        own = reads[:, None] & (step[:, None] == step)
        return padding(v) & (step[:, None] >= step) & (~reads | own)

    return intent


Row = tuple[str, Any, Mask, tuple[str, ...], tuple[str, ...]]


def _row(name: str, intent: Any, mask: Mask, right: str, near: str = "") -> Row:
    return name, intent, mask, tuple(right.split()), tuple(near.split())


# By name: what is meant, what is passed, the causes that are right, and those that are near.
MASKS: tuple[Row, ...] = tuple(
    _row(*one)
    for one in (
        ("inverted", causal, lambda v: ~causal(v), "inverted"),
        ("padding transposed", padding, lambda v: padding(v).mT, "transposed"),
        ("no padding mask", padding, ones, "closes_nothing", "ignored"),
        ("no mask at all", causal, ones, "closes_nothing", "ignored"),
        ("causal forgotten", causal, padding, "pattern_ignored"),
        ("sees the next", causal, lambda v: padding(v) & (place(v) >= -1), "sees_next", "window"),
        ("causal by mistake", padding, causal, "causal_added"),
        ("lengths one too short", padding, longer(-1), "lengths", "shifted"),
        ("padding mask moved", padding, moved, "shifted lengths"),
        ("documents a token late", packed, of_documents(-1, 0), "document_edges"),
        ("documents a token early", packed, of_documents(1), "document_edges"),
        ("padding a token late", by_lengths(0), by_lengths(1), "document_edges"),
        ("groups a token late", grouped(0), grouped(1), "document_edges"),
        (
            "globals no longer causal",
            lambda v: with_globals(v) & causal(v),
            with_globals,
            "causal_lost",
        ),
        ("samples 0 and 2 exchanged", padding, lambda v: padding(_exchanged(v)), "other_sample"),
        ("documents of all places", halves, halves_of_all, "pattern_places"),
        ("lengths rounded up to 2", padding, rounded(2), "rounded"),
        ("a mask turned around", packed, lambda v: packed(v).flip(1, 2), "order"),
        ("a window turned around", near, lambda v: near(v).flip(1, 2), "side"),
        ("a mask moved on by 2", causal, lambda v: causal(v).roll((2, 2), (1, 2)), "order"),
        ("registers masked at the end", padding, registers, "shifted", "order"),
        ("all chunks before", thirds(1), thirds(99), "chunks"),
        ("a window lost", banded(3), causal, "window_lost"),
        ("a window that gives way to a causal mask", near, causal, "window_lost"),
        ("a causal mask for each block", causal, in_tiles(False), "tiles"),
        ("a causal mask on the diagonal alone", causal, in_tiles(True), "tiles"),
        ("a first row without a mask", padding, first_row, "one_row"),
        ("tokens put in and closed", causal, put_in, "closed_keys"),
        ("a mask from before downsampling", padding, times(2), "not_thinned"),
        ("causal from the wrong corner", causal, in_parts, "corner"),
        ("a prefix opened with padding", prefixed(False), reopened, "prefix_opened"),
        ("a prefix that sees the text", seeing_prefix(False), seeing_prefix(True), "prefix_rows"),
        ("a prefix one token too long", longer_prefix(0), longer_prefix(1), "prefix_length"),
        ("a prefix one token too short", longer_prefix(1), longer_prefix(0), "prefix_length"),
        ("padding in the first document", in_halves(-1), in_halves(0), "padding_numbered"),
        ("padding in the last document", in_halves(-1), in_halves(1), "padding_numbered"),
        ("weights beside their keys", causal, beside, "keys_beside"),
        ("a grid by distance", on_a_grid(False), on_a_grid(True), "by_distance"),
        ("strictly causal, and sees itself", strict, causal, "sees_self"),
        ("open where either mask is", near, either, "either_opens"),
        ("nothing is open", causal, lambda v: causal(v) & False, "all_closed", "ignored"),
        ("space for time", over_frames(False), in_frames, "folded"),
        ("space for causal time", over_frames(True), in_frames, "folded"),
        ("time for space", in_frames, over_frames(False), "folded"),
        ("a picture beyond the window", with_picture(False), with_picture(True), "group_window"),
        ("a picture cut by the window", with_picture(True), with_picture(False), "group_cut"),
        ("constant of -10", padding, added(-10.0, padding), "constant"),
        ("constant of -4", causal, added(-4.0, causal), "constant"),
        ("0 and 1 added", causal, lambda v: causal(v).float(), "zero_one_added"),
        ("lengths two too long", padding, longer(2), "lengths shifted"),
    )
)
# What nobody foresaw, with its causes: a mask that is passed wrong, whatever is wrong with it.
STRANGE: tuple[Row, ...] = tuple(
    _row(*one, "as_passed")
    for one in (
        ("every second key", padding, lambda v: padding(v) & (place(v) % 2 == 0)),
        ("one pair too many", causal, lambda v: causal(v) | _pair(v, 2, 4)),
        ("one pair too few", padding, lambda v: padding(v) & ~_pair(v, 2, 1)),
        ("two bugs at once", causal, lambda v: (near(v) & (place(v) >= -1)).roll(1, 0)),
        ("rows turned", causal, lambda v: causal(v).roll(2, 1)),
        ("random pairs", causal, lambda v: causal(v) | (_noise(v) > 0.6)),
        (
            "half of the window at 7 tokens, all of it at 13",
            near,
            lambda v: near(v) & (place(v).abs() <= v.shape[1] // 4),
        ),
    )
)
KERNELS = ("fused", "by hand", "unseen")


def _on(kind: str, mask: Mask, alter: Any = None) -> Callable[[], tuple[Any, Any]]:
    return lambda: (Layers(kind, alter).eval(), mask)


def _open_layer(number: int, keep: Tensor) -> Tensor:
    return keep | keep.new_tensor(number == 1)


def _open_head(number: int, keep: Tensor) -> Tensor:
    heads = keep[:, None].repeat(1, N_HEADS, 1, 1)
    heads[:, 1] = True
    return heads


def of_masks(rows: Iterable[Row]) -> list[CauseCase]:
    """Each on each kernel."""
    return [
        CauseCase(f"{name}, {kind}", _on(kind, mask), intent, right, close)
        for name, intent, mask, right, close in rows
        for kind in KERNELS
    ]


def _inside(name: str, alter: Callable[[int, Tensor], Tensor]) -> list[CauseCase]:
    """A right mask that is made wrong inside the model, in a way that nobody foresaw."""
    return [
        CauseCase(f"{name}, inside, {kind}", _on(kind, causal, alter), causal, ())
        for kind in KERNELS
    ]


def _of_parts() -> list[CauseCase]:

    def repeated_of_four() -> tuple[Any, Any]:
        torch.manual_seed(0)
        layers = nn.ModuleList(nn.MultiheadAttention(8, 4, batch_first=True) for _ in range(2))

        def run(x: Tensor, ignore: Tensor) -> Tensor:
            for layer in layers:
                x = x + layer(x, x, x, attn_mask=ignore, need_weights=False)[0]
            return x

        return run, lambda valid: (~causal(valid)).repeat(4, 1, 1)

    def bert(attn: str) -> Callable[[], tuple[Any, Any]]:
        return lambda: (made(0, "Bert", TEXT, embedded, attn), lambda valid: ones_of(valid) * 0 + 1)

    wide = {"d_model": 16}
    return [
        CauseCase("repeat of four heads, causal", repeated_of_four, causal, ("repeat",)),
        CauseCase("BERT, all 1, sdpa", bert("sdpa"), padding, ("closes_nothing",), (), wide),
        CauseCase("BERT, all 1, eager", bert("eager"), padding, ("closes_nothing",), (), wide),
        CauseCase("one layer open", _on("fused", causal, _open_layer), causal, ("ignored",)),
        CauseCase(
            "one layer open, unseen", _on("unseen", causal, _open_layer), causal, ("ignored",)
        ),
        CauseCase("one head open", _on("by hand", causal, _open_head), causal, ("ignored",)),
    ]


UNKNOWN = (
    *_inside("one pair too many", lambda number, keep: keep | _pair(keep[:, 0], 2, 4)),
    *_inside("random pairs", lambda number, keep: keep | (_noise(keep[:, 0]) > 0.6)),
    *_inside("rows turned", lambda number, keep: keep.roll(2, 1)),
)
CASES: dict[str, CauseCase] = {
    one.name: one for one in (*of_masks(MASKS), *_of_parts(), *of_masks(STRANGE), *UNKNOWN)
}
