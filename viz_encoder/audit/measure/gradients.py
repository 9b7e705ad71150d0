"""Gradients of outputs by tokens; of ids, by what stands for them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.audit.measure.changes import content_of
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.token_axis import by_token, has_tokens
from viz_encoder.audit.measure.watch import hooked

TOGETHER = 64  # up to so many tokens the gradients of all rows fit into memory at once
RowPlaces = Sequence[tuple[int, int]]  # (sample, query) of each; of a pooled output (sample, 0)


@dataclass(frozen=True, eq=False)
class Gradients:
    """|∂ output / ∂ input token|, the largest over dimensions, for each row (sample, query)."""

    rows: tuple[tuple[int, int], ...]
    values: Float[Tensor, "row batch key"]

    def relative(self) -> Float[Tensor, "row batch key"]:
        """Relative to the largest in its row; NaN stays NaN."""
        largest = self.values.nan_to_num(0.0).flatten(1).amax(dim=1).clamp_min(1e-300)
        return self.values / largest[:, None, None]

    def within(self, case: Case) -> Float[Tensor, "batch query key"]:
        """The relative ones within each sample; 0 in rows that were not differentiated."""
        relative = self.relative()
        square = relative.new_zeros(*case.valid.shape, case.valid.shape[1])
        for number, (sample, query) in enumerate(self.rows):
            square[sample, query] = relative[number, sample]
        return square


class NoGradient(Exception):
    """The output does not depend on the input in a way that torch can differentiate."""


def gradients_of(subject: Subject, case: Case, rows: RowPlaces, *, seed: int = 0) -> Gradients:
    """Each row is differentiated by itself: a random mixture of its output.

    The mixture is random because a norm holds sums of outputs constant.

    Raises:
        NoGradient: there is none.
    """
    n_tokens, content = case.valid.shape[1], content_of(case)
    if content is None:
        raise NoGradient("no tensor of the batch holds its tokens")
    if not has_tokens(content, n_tokens):
        raise NoGradient(f"an input {tuple(content.shape)} has no axis of {n_tokens} tokens")
    with leaf_of(subject, case) as (x, leaf):
        try:
            out = subject.run(case, x=x, grad=True)
        except ModelFault as fault:
            raise NoGradient(f"with gradients on, the model raised {fault}") from fault
        wanted = leaf.whole
        if wanted is None:
            raise NoGradient(NOT_EMBEDDED)
        if not out.requires_grad:
            raise NoGradient("the model runs without gradients")
        together = n_tokens <= TOGETHER
        found = _together(out, wanted, rows, seed, n_tokens) if together else None
        if found is None:
            found = _one_by_one(out, wanted, rows, seed, n_tokens)
    return Gradients(tuple(rows), found)


def _together(
    out: Tensor, leaf: Tensor, rows: RowPlaces, seed: int, n_tokens: int
) -> Tensor | None:
    """All rows in one batched backward pass; None if the model's code cannot be batched."""
    directions = torch.stack(list(_directions(out, rows, seed)))
    try:
        grads = torch.autograd.grad(
            out, leaf, directions, retain_graph=True, allow_unused=True, is_grads_batched=True
        )[0]
    except Exception:  # whatever it is: one by one it is told, or does not arise
        return None
    return None if grads is None else torch.stack([_largest(one, n_tokens) for one in grads])


def _one_by_one(out: Tensor, leaf: Tensor, rows: RowPlaces, seed: int, n_tokens: int) -> Tensor:
    found = []
    for direction in _directions(out, rows, seed):
        try:
            grad = torch.autograd.grad(out, leaf, direction, retain_graph=True, allow_unused=True)[
                0
            ]
        except Exception as fault:  # a kernel without a backward pass, mostly
            text = f"the backward pass raised {type(fault).__name__}: {fault}"
            raise NoGradient(text) from fault
        if grad is None:
            raise NoGradient("the output does not depend on the input")
        found.append(_largest(grad, n_tokens))
    return torch.stack(found)


def _largest(grad: Tensor, n_tokens: int) -> Float[Tensor, "batch key"]:
    return by_token(grad, n_tokens).abs().amax(dim=-1).double()


def _directions(out: Tensor, rows: RowPlaces, seed: int) -> Iterator[Tensor]:
    """For each row the direction in which its output is differentiated; every other row is 0."""
    generator = torch.Generator().manual_seed(seed + 1)
    mixture = torch.randn(out.shape[-1], generator=generator).to(out)
    for row in rows:
        direction = torch.zeros_like(out)
        values = direction[row[: out.ndim - 1]]
        values[...] = mixture if values.numel() == len(mixture) else 1.0
        yield direction


def real_rows(case: Case, most: int = 0) -> list[tuple[int, int]]:
    """(sample, query) of the real tokens; at most so many, spread evenly, if most is given."""
    rows = [(int(b), int(i)) for b, i in case.valid.nonzero()]
    if not most or len(rows) <= most:
        return rows
    picks = torch.linspace(0, len(rows) - 1, most).round().int().tolist()
    return [rows[pick] for pick in dict.fromkeys(picks)]


NOT_EMBEDDED = (
    "no nn.Embedding was called with these ids, as a batch, sample by sample or in one row; embed "
    "them yourself, model(table(ids), passed), or give the module that holds it, module="
)


@dataclass(eq=False)
class Leaf:
    """The tensor to differentiate by, and of which tokens the model has made use."""

    case: Case
    values: Float[Tensor, "batch token ..."] | None = None
    used: Bool[Tensor, "batch token"] | None = None
    table: nn.Module | None = None

    @property
    def whole(self) -> Tensor | None:
        """The leaf, or None if a real token was unused."""
        if self.used is None:
            return self.values
        return self.values if bool(self.used[self.case.valid].all()) else None

    def catch(
        self, table: nn.Module, args: tuple[Tensor, ...], kwargs: object, out: Tensor
    ) -> Tensor | None:
        """Return rows of the leaf for these ids; None for other ids."""
        places = self._places(args[0]) if args and self.table in (None, table) else None
        if places is None:
            return None
        if self.values is None or self.used is None:
            with torch.no_grad():
                self.values = table.forward(self.case.x).detach()
            self.values.requires_grad_(True)
            self.table, self.used = table, torch.zeros_like(places)
        self.used = self.used | places
        found = self.values if bool(places.all()) else self.values[places]
        return found.view_as(out)

    def _places(self, ids: Tensor) -> Bool[Tensor, "batch token"] | None:
        """The tokens whose ids these are; None if they may be others as well."""
        found: list[Tensor] = []
        for places in self._ways():
            same = torch.equal(ids.flatten(), self.case.x[places].flatten())
            if same and not any(places.equal(one) for one in found):
                found.append(places)
        return found[0] if len(found) == 1 else None

    def _ways(self) -> Iterator[Bool[Tensor, "batch token"]]:
        """All tokens or the real ones, of all samples or of one."""
        valid = self.case.valid
        yield from (torch.ones_like(valid), valid)
        for row in torch.eye(len(valid), dtype=torch.bool, device=valid.device):
            yield from (row[:, None].expand_as(valid), row[:, None] & valid)


@contextmanager
def leaf_of(subject: Subject, case: Case) -> Iterator[tuple[Tensor, Leaf]]:
    """Input for the model, and the tensor to differentiate by: x itself, or embedded ids."""
    content = content_of(case)
    given = case.x if content is None else content
    if given.is_floating_point():
        x = given.clone().requires_grad_(True)
        yield x, Leaf(case, x)
        return
    leaf = Leaf(replace(case, x=given))
    tables = [one for one in subject.whole.modules() if isinstance(one, nn.Embedding)]
    with hooked(tables, leaf.catch):
        yield given, leaf
