"""How many rows of one head's map are held at a time."""

from collections.abc import Iterator

import torch

BLOCK_BYTES = 2**20  # small enough for the CPU's cache
BLOCK_BYTES_GPU = 2**26


def rows_at_once(n_keys: int, device: torch.device) -> int:
    """Rows of so many float32 weights that fit into a block, at least one."""
    budget = BLOCK_BYTES if device.type == "cpu" else BLOCK_BYTES_GPU
    return max(1, budget // (4 * n_keys))


def row_blocks(n_rows: int, n_keys: int, device: torch.device) -> Iterator[slice]:
    """All rows in order, a block at a time."""
    step = rows_at_once(n_keys, device)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))
