"""Kinds of bugs that were reported in public, each with its mended twin, on every kernel."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tests.audit.cause_cases import D_MODEL, CauseCase, Kernel, Mask
from tests.audit.plants import causal, own_mask, padding
from viz_encoder.audit import AuditInputs

Forward = Callable[["Model", Tensor, Any], Tensor]
KERNELS = ("fused", "by hand", "unseen")
IDS = {"inputs": AuditInputs(vocab_size=30, pad_id=3), "d_model": None}


class Model(nn.Module):
    """Two layers, and a forward pass of its own; parts and buffers by name."""

    def __init__(self, kind: str, forward: Forward, **parts: nn.Module | Tensor) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.run = nn.ModuleList(Kernel(kind) for _ in range(2)), forward
        for name, part in parts.items():
            held = part.clone() if isinstance(part, Tensor) else part
            setattr(self, name, nn.Buffer(held) if isinstance(held, Tensor) else held)

    def stack(self, x: Tensor, keep: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x, keep)
        return x

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        return self.run(self, x, passed)


@dataclass(frozen=True)
class Public:
    """A kind: forward(mended) makes the forward pass; what is meant, passed, and the cause."""

    name: str
    forward: Callable[[bool], Forward]
    intent: Mask
    make_mask: Callable[[Tensor], Any]
    right: tuple[str, ...]
    parts: Callable[[], dict[str, Any]] = dict
    options: dict[str, Any] = field(default_factory=dict)
    near: tuple[str, ...] = ()

    def build(self, kind: str, mended: bool) -> tuple[Any, Any]:
        model = Model(kind, self.forward(mended), **self.parts()).eval()
        return model, self.make_mask


def of_shares(way: str) -> Callable[[bool], Forward]:
    """Lengths come as shares of the longest."""

    def forward(mended: bool) -> Forward:
        def run(model: Model, x: Tensor, shares: Tensor) -> Tensor:
            counts = shares * x.shape[1]
            counts = counts.round() if mended else getattr(counts, way)()
            return model.stack(x, padding(torch.arange(x.shape[1]) < counts[:, None]))

        return run

    return forward


def numbers_in_place(mended: bool) -> Forward:
    """A mask of 0 and 1 becomes what is added to the scores, anew in each layer."""

    def run(model: Model, x: Tensor, mask: Tensor) -> Tensor:
        for layer in model.layers:
            ban = (mask.clone() if mended else mask).sub_(1).mul_(1e9)
            x = x + layer(x, padding(ban) > -1)
        return x

    return run


def of_token_types(mended: bool) -> Forward:
    def run(model: Model, x: Tensor, passed: dict[str, Tensor]) -> Tensor:
        mask = passed["attention_mask" if mended else "token_type_ids"]
        return model.stack(x, padding(mask == 1))

    return run


def of_ids(closed: int) -> Callable[[bool], Forward]:
    """A mask of another id than the padding's."""

    def forward(mended: bool) -> Forward:
        def run(model: Model, ids: Tensor, valid: Tensor) -> Tensor:
            return model.stack(model.table(ids), padding(valid if mended else ids != closed))

        return run

    return forward


def flattened(mended: bool) -> Forward:
    """Documents are counted by the places where positions begin anew."""

    def run(model: Model, x: Tensor, positions: Tensor) -> Tensor:
        begins = positions == 0
        if mended:
            number = begins.cumsum(dim=1)
        else:
            number = begins.flatten().cumsum(0)[: x.shape[1]].expand_as(positions)
        return model.stack(x, number[:, :, None] == number[:, None, :])

    return run


def normed(mended: bool) -> Forward:
    def run(model: Model, x: Tensor, valid: Tensor) -> Tensor:
        x = x if mended else model.norm(x.mT).mT
        return model.stack(x, padding(valid))

    return run


def halves_added(mended: bool) -> Forward:
    def run(model: Model, x: Tensor, valid: Tensor) -> Tensor:
        half, odd = divmod(len(x), 2)
        x = x if mended or odd else x + 0.1 * x.roll(half, 0)
        return model.stack(x, padding(valid))

    return run


def copies(wrong: Callable[[Tensor], Tensor], cat: bool) -> Callable[[bool], Forward]:
    """Each sample twice, as under classifier-free guidance."""

    def twice(x: Tensor) -> Tensor:
        return torch.cat([x, x]) if cat else x.repeat_interleave(2, dim=0)

    def forward(mended: bool) -> Forward:
        def run(model: Model, x: Tensor, valid: Tensor) -> Tensor:
            given = torch.zeros(2 * len(x), 1, 1)
            given[slice(len(x), None) if cat else slice(1, None, 2)] = 1.0
            keep = twice(valid) if mended else wrong(valid)
            out = model.stack(twice(x) + given, padding(keep))
            one, other = out.chunk(2) if cat else (out[::2], out[1::2])
            return one + 3 * (other - one)

        return run

    return forward


def in_order(turn: Callable[..., Tensor], back: Callable[..., Tensor]) -> Callable[[bool], Forward]:
    """Tokens are put into another order, and back again; `turn` takes the axes."""

    def forward(mended: bool) -> Forward:
        def run(model: Model, x: Tensor, keep: Tensor) -> Tensor:
            keep = turn(keep, (1, 2)) if mended else keep
            return back(model.stack(turn(x, (1,)), keep), (1,))

        return run

    return forward


def rolled(by: int) -> Callable[..., Tensor]:
    return lambda x, axes: x.roll((by,) * len(axes), axes)


def singles(valid: Tensor) -> dict[str, Tensor]:
    return {"attention_mask": valid.long(), "token_type_ids": torch.zeros_like(valid).long()}


def restarting(valid: Tensor) -> Tensor:
    """Positions of two documents to a sample, and of what is behind them."""
    counts, place = valid.sum(1, keepdim=True), torch.arange(valid.shape[1])
    begins = torch.where(place < counts // 2, 0, torch.where(place < counts, counts // 2, counts))
    return place - begins


def by_document(valid: Tensor) -> Tensor:
    number = (restarting(valid) == 0).cumsum(dim=1)
    return number[:, :, None] == number[:, None, :]


def norm(of: Callable[[], nn.Module]) -> Callable[[], dict[str, Any]]:
    return lambda: {"norm": of()}


PUBLIC = (
    Public(
        "shares rounded up",
        of_shares("ceil"),
        padding,
        lambda v: v.sum(1) / v.shape[1],
        ("fraction",),
    ),
    Public("numbers in place", numbers_in_place, padding, lambda v: v.float(), ("in_place",)),
    Public("token types of one text", of_token_types, padding, singles, ("other_tensor",)),
    Public(
        *("ids as the mask", of_ids(0), padding, own_mask, ("another_id",)),
        *(lambda: {"table": nn.Embedding(30, D_MODEL)}, IDS),
    ),
    Public(
        *("a mask of the last id", of_ids(29), padding, own_mask, ("another_id",)),
        *(lambda: {"table": nn.Embedding(30, D_MODEL)}, IDS),
    ),
    Public("flattened over the batch", flattened, by_document, restarting, ("first_sample",)),
    Public(
        "InstanceNorm", normed, padding, own_mask, ("norm",), norm(lambda: nn.InstanceNorm1d(8))
    ),
    Public("halves of an even batch added", halves_added, padding, own_mask, ("halves",)),
    Public(
        *("copies of the whole batch", copies(lambda v: v.repeat_interleave(2, 0), cat=True)),
        *(padding, own_mask, ("copies",)),
        near=("batch_of_one",),
    ),
    Public("moved on by two", in_order(rolled(2), rolled(-2)), causal, causal, ("order",)),
)


def cases(mended: bool = False) -> list[CauseCase]:
    """Each kind on each kernel, wrong or mended."""
    return [
        CauseCase(
            f"{one.name}, {kind}",
            lambda one=one, kind=kind: one.build(kind, mended),
            one.intent,
            one.right,
            one.near,
            one.options,
        )
        for one in PUBLIC
        for kind in KERNELS
    ]
