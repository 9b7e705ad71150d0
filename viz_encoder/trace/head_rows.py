"""How many rows of maps are held at a time."""

from collections.abc import Iterator

import torch

BLOCK_BYTES = 2**20  # of one head: small enough for the CPU's cache
BLOCK_BYTES_GPU = 2**26
Within = torch.device | int  # the cache of a device, or so many bytes


def rows_at_once(n_columns: int, within: Within) -> int:
    """Rows of so many float32 that fit into a block, at least one."""
    if isinstance(within, torch.device):
        within = BLOCK_BYTES if within.type == "cpu" else BLOCK_BYTES_GPU
    return max(1, within // (4 * n_columns))


def row_blocks(n_rows: int, n_columns: int, within: Within, first: int = 0) -> Iterator[slice]:
    """All rows from `first` on, in order, a block at a time."""
    return blocks_of(n_rows, rows_at_once(n_columns, within), first)


def blocks_of(n: int, step: int, first: int = 0) -> Iterator[slice]:
    """The numbers from `first` to n, in order, at most so many at a time."""
    return (slice(start, min(start + step, n)) for start in range(first, n, step))
