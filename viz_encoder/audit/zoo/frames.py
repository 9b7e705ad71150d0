"""Sections C, D and H, further: frames of a video, chunks with a memory, and edges of a graph."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.zoo.models import D_MODEL, N_HEADS, Heads
from viz_encoder.audit.zoo.specimen import Valid, earlier_tokens, plant, real_tokens

FRAME, CHUNK, N_FOUND = 2, 3, 2
ACROSS = {
    "across": lambda: nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True),
    "found": lambda: nn.Embedding(64, D_MODEL),
}
WHOLE = AuditScope(lengths=[8, 12])  # whole frames


def first_frame(valid: Valid) -> Allowed:
    """All may attend to the first frame alone."""
    return real_tokens(valid) & (torch.arange(valid.shape[1]) < FRAME)


@plant(
    "C22-rows",
    wrong="one.repeat(n_frames, 1, 1, 1)",
    right="one.repeat_interleave(n_frames, dim=0)",
    flagged_by="batch_independence",
    intent=first_frame,
    inputs=AuditInputs(valid=torch.ones(3, 8) > 0),
    scope=WHOLE,
)
def keys_of_another_clip(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Every frame sees the first one of its clip."""
    n_frames = q.shape[2] // FRAME
    frames = q.unflatten(2, (n_frames, FRAME)).transpose(1, 2).flatten(0, 1)
    first = [one[:, :, :FRAME] for one in (k, v)]
    keys, values = (one.repeat(n_frames, 1, 1, 1) for one in first)
    mixed = F.scaled_dot_product_attention(frames, keys, values)
    return mixed.unflatten(0, (-1, n_frames)).transpose(1, 2).flatten(2, 3)


def first_and_former(valid: Valid) -> Allowed:
    """Each frame may attend to the first one and to the one before it."""
    frame = torch.arange(valid.shape[1]) // FRAME
    former = (frame[:, None] - 1).clamp(min=0)
    return real_tokens(valid) & ((frame == 0) | (frame == former))


@plant(
    "D34-frames",
    wrong="former = frame[:, None]",
    right="former = (frame[:, None] - 1).clamp(min=0)",
    intent=first_and_former,
    scope=WHOLE,
)
def own_frame(valid: Valid) -> Tensor:
    """Frames of two tokens."""
    frame = torch.arange(valid.shape[1]) // FRAME
    former = frame[:, None]
    return real_tokens(valid) & ((frame == 0) | (frame == former))


def edges(n_nodes: int) -> Tensor:
    """Drawn pairs (source, target), each in one of its two directions."""
    drawing = torch.Generator().manual_seed(n_nodes)
    chosen = torch.rand(n_nodes, n_nodes, generator=drawing)
    order = torch.randperm(n_nodes, generator=drawing)
    joined = ((chosen < 2 / n_nodes) | torch.eye(n_nodes).roll(2, 1).bool()).triu(1)
    return order[joined.nonzero().T]


def adjacency(n_nodes: int) -> Tensor:
    """Which node (row) each edge lets see which (column), and each itself."""
    (sources, targets), keep = edges(n_nodes), torch.eye(n_nodes, dtype=torch.bool)
    keep[targets, sources] = True
    return keep


def neighbors_both_ways(valid: Valid) -> Allowed:
    """Each may attend to itself and to nodes that an edge joins it with."""
    keep = adjacency(valid.shape[1])
    return real_tokens(valid) & (keep | keep.mT)


@plant(
    "D35-edges",
    wrong="return real_tokens(valid) & keep",
    right="return real_tokens(valid) & (keep | keep.mT)",
    intent=neighbors_both_ways,
)
def edges_once(valid: Valid) -> Tensor:
    """A graph of as many nodes as there are tokens."""
    keep = adjacency(valid.shape[1])
    return real_tokens(valid) & keep


@plant(
    "D36-self-loops",
    wrong="keep = graph & ~torch.eye(len(graph)).bool()",
    right="keep = graph | torch.eye(len(graph)).bool()",
    intent=neighbors_both_ways,
)
def no_self_loops(valid: Valid) -> Tensor:
    """The same graph; padding sees itself in any case."""
    graph = neighbors_both_ways(torch.ones_like(valid))[0]
    keep = graph & ~torch.eye(len(graph)).bool()
    return real_tokens(valid) & keep


def found_for_chunks(valid: Valid) -> Allowed:
    """What was found for a chunk may be seen from the chunk's last token on, up to the next."""
    n_tokens = valid.shape[1]
    last = (torch.arange(n_tokens) - CHUNK + 1).div(CHUNK, rounding_mode="floor")
    chunk = torch.arange(-(-n_tokens // CHUNK) * N_FOUND) // N_FOUND
    return (last[:, None] == chunk).expand(len(valid), -1, -1)


@plant(
    "H17-chunks",
    wrong="queries = x",
    right="queries = x[:, CHUNK - 1 :]",
    flagged_by="cross_attention",
    intent=earlier_tokens,
    passed=earlier_tokens,
    parts=ACROSS,
    scope=AuditScope(cross=found_for_chunks),
)
def seen_too_early(self: Any, x: Tensor, keep: Tensor) -> Tensor:
    """Chunks of three tokens, with two found for each."""
    x = self.inner(x, keep)
    n_samples, n_tokens, _ = x.shape
    n_chunks = -(-n_tokens // CHUNK)
    queries = x
    late = n_tokens - queries.shape[1]
    whole = F.pad(queries, (0, 0, 0, n_chunks * CHUNK - queries.shape[1]))
    found = self.found.weight[: n_chunks * N_FOUND].expand(n_samples, -1, -1)
    memory = found.reshape(-1, N_FOUND, D_MODEL)
    mixed = self.across(whole.reshape(-1, CHUNK, D_MODEL), memory, memory)[0]
    out = F.pad(mixed.reshape(n_samples, -1, D_MODEL), (0, 0, late, 0))
    return x + out[:, :n_tokens]
