"""Who the tokens of a recorded run are: names, ids that a tokenizer names, or patches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from viz_encoder.errors import TraceError
from viz_encoder.inputs import Grid, Sample
from viz_encoder.inputs.decode import decode
from viz_encoder.shown import counted

BRACKETS = ("[]", "<>")
MASKS = ("[MASK]", "<mask>")  # a person writes these
MOST_PREFIX = 9  # tokens before the patches: [CLS], [DIST], registers
NO_IDS = (
    "The model was not called with ids of {n} tokens, so the tokenizer has nothing to name; give "
    "the names: tokens=[…]."
)
NO_GRID = (
    "How the {n} tokens lie on the picture cannot be told from what the model was called with; "
    "give the number of rows and columns of its patches: grid=(rows, columns)."
)


@dataclass(frozen=True)
class GivenTokens:
    """What a person says of the tokens; at most one of names and tokenizer."""

    tokens: Sequence[str] | None = None
    tokenizer: Any = None  # of transformers or tokenizers
    grid: Grid | tuple[int, int] | None = None
    image: object = None

    def sample(self, given: Sequence[Tensor], n_tokens: int, row: int, n_real: int) -> Sample:
        """The tokens of one row of what the model was called with.

        Those after `n_real` no query attends to: a model may have added them, and no name is
        needed.

        Raises:
            TraceError: names, tokenizer or grid do not fit the tokens that ran.
        """
        grid = self._grid(given, n_tokens)
        notes: list[str] = []
        picture = None if self.image is None else np.array(decode(self.image, notes))
        names, special = self._names(given, (n_real, n_tokens), row, grid)
        added = n_tokens - len(names)
        names, special = (*names, *["[PAD]"] * added), (*special, *[True] * added)
        return Sample(names, special, grid=grid, picture=picture, notes=tuple(notes))

    def _names(
        self, given: Sequence[Tensor], count: tuple[int, int], row: int, grid: Grid | None
    ) -> tuple[tuple[str, ...], tuple[bool, ...]]:
        if self.tokenizer is not None:
            return _tokenized(self.tokenizer, self.tokens, given, count, row)
        least, n_tokens = count
        if self.tokens is None and self.image is not None and grid is not None:
            several = tuple(f"[{at}]" for at in range(grid.n_prefix))
            prefix = ("[CLS]",) if grid.n_prefix == 1 else several
            return (*prefix, *grid.patches), tuple(at < grid.n_prefix for at in range(n_tokens))
        few = self.tokens is not None and least <= len(self.tokens) < n_tokens
        names = names_of(self.tokens, len(self.tokens or ()) if few else n_tokens, "tokens")
        return names, tuple(map(is_special, names))

    def _grid(self, given: Sequence[Tensor], n_tokens: int) -> Grid | None:
        if self.grid is not None:
            return _fitting(self.grid, n_tokens)
        if self.image is None:
            return None
        found = next(_cut(given, n_tokens), None)
        if found is None:
            raise TraceError(NO_GRID.format(n=n_tokens))
        return found


def names_of(given: Sequence[str] | None, count: int, what: str) -> tuple[str, ...]:
    """The names given, or numbers.

    Raises:
        TraceError: there are more or fewer names than tokens.
    """
    if given is None:
        return tuple(str(number) for number in range(count))
    if len(given) != count:
        names = counted(len(given), "name")
        raise TraceError(f"{what} has {names}, but the run has {counted(count, 'token')}.")
    return tuple(given)


def is_special(name: str) -> bool:
    """Whether a name is written as those of special tokens are: [CLS], <s>; not [MASK]."""
    return len(name) > 2 and name[0] + name[-1] in BRACKETS and name not in MASKS


def _tokenized(
    tokenizer: Any,
    tokens: Sequence[str] | None,
    given: Sequence[Tensor],
    count: tuple[int, int],
    row: int,
) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    if tokens is not None:
        raise TraceError("Give tokens= or tokenizer=, not both: each names the tokens.")
    ids = max((x for x in given if _is_ids(x, count)), key=lambda x: x.shape[1], default=None)
    if ids is None:
        raise TraceError(NO_IDS.format(n=count[1]))
    numbers = ids[row if ids.shape[0] > 1 else 0].tolist()
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        names = tuple(map(str, tokenizer.convert_ids_to_tokens(numbers)))
        marks = set(getattr(tokenizer, "all_special_ids", ()))
    elif hasattr(tokenizer, "id_to_token"):
        names = tuple(tokenizer.id_to_token(number) or str(number) for number in numbers)
        marks = set()
    else:
        raise TraceError(
            f"tokenizer is {type(tokenizer).__name__}; give one of transformers or tokenizers, or "
            "the names: tokens=[…]."
        )
    return names, tuple(
        is_special(name) or (number in marks and name not in MASKS)
        for number, name in zip(numbers, names, strict=True)
    )


def _is_ids(x: Tensor, count: tuple[int, int]) -> bool:
    """Whole numbers, one a token; masks and types are 0 and 1 alone, and ids go above."""
    whole = not x.is_floating_point() and not x.is_complex() and x.dtype.itemsize > 1
    return whole and x.ndim == 2 and count[0] <= x.shape[1] <= count[1] and bool((x > 1).any())


def _fitting(grid: Grid | tuple[int, int], n_tokens: int) -> Grid:
    """The grid with the tokens before it, checked against the tokens that ran."""
    rows, columns = (grid.n_rows, grid.n_cols) if isinstance(grid, Grid) else grid
    before = n_tokens - rows * columns
    told = grid.n_prefix if isinstance(grid, Grid) else before
    if min(rows, columns) < 1 or before != told or not 0 <= before <= MOST_PREFIX:
        raise TraceError(
            f"A grid of {rows} × {columns} patches does not fit {n_tokens} tokens, of which at "
            f"most {MOST_PREFIX} stand before the patches; give grid=(rows, columns)."
        )
    return Grid(rows, columns, before)


def _cut(given: Sequence[Tensor], n_tokens: int) -> Iterator[Grid]:
    """Square patches of the pixels that the model was called with: as many as there are tokens."""
    for pixels in given:
        if pixels.ndim != 4 or not pixels.is_floating_point():
            continue
        height, width = pixels.shape[2:]
        for side in range(1, min(height, width) + 1):
            before = n_tokens - (height // side) * (width // side)
            if height % side == width % side == 0 and 0 <= before <= MOST_PREFIX:
                yield Grid(height // side, width // side, before)
