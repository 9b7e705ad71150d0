"""Attention pooling: learn a query from a small labeled set, and hold it against mean and cls."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from viz_encoder.arguments import Seed, at_least, at_most, public
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, TooLong, TraceError
from viz_encoder.inputs.items import Item, read_set
from viz_encoder.model.pooling import cls, mean
from viz_encoder.result import ArrayResult, Columns, long_columns
from viz_encoder.trace.batches import TellItems, batches
from viz_encoder.trace.states import choose_states

STEPS, RATE, DECAY, FOLDS = 150, 0.003, 0.01, 5
MAX_STEPS = 100_000
MAX_NUMBERS = 40_000_000  # hidden states held while training: items · longest item · d_model
COMPARED = ("attention", "mean", "cls")


@dataclass(frozen=True, eq=False, repr=False)
class AttentionPooling(ArrayResult, main="queries"):
    """A query for each seed, and what it is worth; the queries are those trained on all items."""

    state: int
    labels: tuple[str, ...]  # the groups, sorted
    n_items: int
    n_folds: int
    seeds: tuple[int, ...]
    queries: Float[np.ndarray, "seed d_model"]
    losses: Float[np.ndarray, "seed step"]  # cross-entropy (nats) before each step, all items
    accuracy: dict[str, Float[np.ndarray, " seed"]]  # on held-out items, by the same classifier
    chance: float  # accuracy of always naming the largest group

    @property
    def query(self) -> Float[np.ndarray, " d_model"]:
        """The query of the first seed, as `vz.pool` takes it."""
        return self.queries[0]

    def columns(self) -> Columns:
        """One line per seed and pooling: its accuracy on items held out."""
        return long_columns(
            {"pooling": COMPARED, "seed": self.seeds},
            {"accuracy": np.stack([self.accuracy[name] for name in COMPARED])},
        )


@public
def attention_pooling(
    encoder: LoadedEncoder,
    items: Sequence[Item] | None = None,
    *,
    state: int = -1,
    seeds: Sequence[Seed] = (0, 1, 2),
    steps: Annotated[int, at_least(1), at_most(MAX_STEPS)] = STEPS,
    progress: TellItems | None = None,
) -> AttentionPooling:
    """Train a query and a linear classifier over the pooled vector, the encoder unchanged.

    Weights are softmax(hidden · query / √d_model) over the valid tokens, as one head with a
    learned query has it (Yang et al., 2016; Ilse et al., 2018, arXiv:1802.04712). Both are
    trained together by AdamW on all items at once. Accuracy is that of items held out of the
    training (5 folds, fewer where a group is smaller), beside mean and cls with the same
    classifier, folds and steps.

    Args:
        encoder: the model; its hidden states are read through its final norm, if it has one.
        items: labeled items; 40 sentences of 4 topics if not given.
        state: 0 = embeddings, -1 = the output.
        seeds: for the starting values and the folds; the same seed gives the same numbers.
        steps: how many AdamW takes.
        progress: called with the number of steps done and of all, first with 0 while the items
            are read; if it returns False, the training stops with a TraceError.

    Raises:
        InputError: fewer than 2 labels, or a label with 1 item.
        TooLong: more hidden states than are held.
        SelectionError: no such state.
    """
    given = tuple(items) if items is not None else read_set(asset("examples/sets/topics.csv"))
    names, targets = _targets(given)
    if not seeds:
        raise InputError("seeds is empty; give at least one.")
    at = choose_states([state], encoder.config.n_layers)
    told = _Told(progress, len(seeds) * len(COMPARED) * steps)
    hidden, valid = _states(encoder, given, at, told)
    scale = hidden[valid].square().mean().sqrt().clamp_min(1e-12)
    inputs = _inputs(hidden / scale, valid)  # so that one learning rate fits every model
    fits: dict[str, list[_Fit]] = {name: [] for name in COMPARED}
    for seed in seeds:
        for name in COMPARED:
            folds = _folds(targets, seed)
            fits[name].append(_train(*inputs[name], targets, folds, seed, steps, told))
    return AttentionPooling(
        state=at[0],
        labels=names,
        n_items=len(given),
        n_folds=len(_folds(targets, seeds[0])) - 1,
        seeds=tuple(seeds),
        queries=torch.stack([fit.query / scale for fit in fits["attention"]]).numpy(),
        losses=torch.stack([fit.losses for fit in fits["attention"]]).numpy(),
        accuracy={name: np.array([fit.accuracy for fit in fits[name]]) for name in COMPARED},
        chance=max(Counter(item.label for item in given).values()) / len(given),
    )


def _inputs(
    states: Float[Tensor, "item token d_model"], valid: Bool[Tensor, "item token"]
) -> dict[str, tuple[Tensor, Tensor]]:
    """A fixed vector is a sequence of one token, on which no query makes a difference."""
    return {
        "attention": (states, valid),
        "mean": (mean(states, valid)[:, None], valid[:, :1] | True),
        "cls": (cls(states, valid)[:, None], valid[:, :1] | True),
    }


def _targets(items: Sequence[Item]) -> tuple[tuple[str, ...], Int[Tensor, " item"]]:
    counts = Counter(item.label for item in items)
    if len(counts) < 2:
        raise InputError(f"Training needs items with at least 2 labels; these have {len(counts)}.")
    rare = [label for label, count in counts.items() if count < 2]
    if rare:
        raise InputError(
            f"The label {rare[0]!r} appears once; each needs 2 items, so that one can be held out."
        )
    names = tuple(sorted(counts))
    return names, torch.tensor([names.index(item.label) for item in items])


def _states(
    encoder: LoadedEncoder, items: Sequence[Item], layers: tuple[int, ...], told: "_Told"
) -> tuple[Float[Tensor, "item token d_model"], Bool[Tensor, "item token"]]:
    """Hidden states of all items, padded to the longest, which comes first."""
    hidden = valid = torch.empty(0)
    for batch in batches(encoder, [item.source for item in items], layers):
        if not len(hidden):
            n_tokens, d_model = batch.states.after[0].shape[1:]
            if len(items) * n_tokens * d_model > MAX_NUMBERS:
                raise TooLong(
                    f"{len(items):,} items of up to {n_tokens:,} tokens are too many to train on; "
                    "give fewer or shorter ones."
                )
            hidden = torch.zeros(len(items), n_tokens, d_model)
            valid = torch.zeros(len(items), n_tokens, dtype=torch.bool)
        real, numbers = batch.states.valid.cpu(), torch.tensor(batch.numbers)
        states = torch.where(real[..., None], batch.states.after[0].cpu().float(), 0)
        hidden[numbers, : real.shape[1]] = states.clone()
        valid[numbers, : real.shape[1]] = real
        told.more(0)
    return hidden, valid


def _folds(targets: Int[Tensor, " item"], seed: int) -> Bool[Tensor, "fold item"]:
    """True = held out; the last fold holds out nothing. Each label is spread over all folds."""
    counts = targets.bincount()
    n_folds = min(FOLDS, int(counts.min()))
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(targets), generator=generator)
    order = order[targets[order].argsort(stable=True)]
    held_out = torch.zeros(n_folds + 1, len(targets), dtype=torch.bool)
    held_out[torch.arange(len(targets)) % n_folds, order] = True
    return held_out


@contextmanager
def _one_thread() -> Iterator[None]:
    """Products this small gain nothing from more threads, and wait for them on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class _Fit:
    query: Float[Tensor, " d_model"]
    losses: Float[Tensor, " step"]
    accuracy: float


@_one_thread()
def _train(
    states: Float[Tensor, "item token d_model"],
    valid: Bool[Tensor, "item token"],
    targets: Int[Tensor, " item"],
    held_out: Bool[Tensor, "fold item"],
    seed: int,
    steps: int,
    told: "_Told",
) -> _Fit:
    n_folds, d_model, n_labels = len(held_out), states.shape[-1], int(targets.max()) + 1
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(d_model, generator=generator).expand(n_folds, -1).clone()
    weight = torch.randn(n_labels, d_model, generator=generator) / math.sqrt(d_model)
    parameters = [query, weight.expand(n_folds, -1, -1).clone(), torch.zeros(n_folds, n_labels)]
    for parameter in parameters:
        parameter.requires_grad_()
    optimizer = torch.optim.AdamW(parameters, lr=RATE, weight_decay=DECAY)
    losses = []
    for _ in range(steps):
        loss = _losses(_logits(states, valid, *parameters), targets, held_out)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        losses.append(loss[-1].detach())
        told.more(1)
    with torch.no_grad():
        right = _logits(states, valid, *parameters).argmax(dim=-1) == targets
    return _Fit(query[-1].detach(), torch.stack(losses), float(right[held_out].float().mean()))


def _logits(
    states: Tensor, valid: Tensor, query: Tensor, weight: Tensor, bias: Tensor
) -> Float[Tensor, "fold item label"]:
    scores = torch.einsum("itd,fd->fit", states, query) / math.sqrt(states.shape[-1])
    shares = scores.masked_fill(~valid, -torch.inf).softmax(dim=-1)
    pooled = torch.einsum("fit,itd->fid", shares, states)
    return torch.einsum("fid,fld->fil", pooled, weight) + bias[:, None]


def _losses(
    logits: Float[Tensor, "fold item label"],
    targets: Int[Tensor, " item"],
    held_out: Bool[Tensor, "fold item"],
) -> Float[Tensor, " fold"]:
    each = F.cross_entropy(logits.mT, targets.expand(len(logits), -1), reduction="none")
    return each.masked_fill(held_out, 0).sum(dim=1) / (~held_out).sum(dim=1)


@dataclass
class _Told:
    """Steps done, of all trainings together; whoever is told of them may stop the work."""

    progress: TellItems | None
    total: int
    done: int = 0

    def more(self, steps: int) -> None:
        self.done += steps
        if self.progress is None or self.progress(self.done, self.total) is not False:
            return
        if self.done < self.total:
            raise TraceError(
                f"Stopped after {self.done:,} of {self.total:,} steps; nothing was kept."
            )
