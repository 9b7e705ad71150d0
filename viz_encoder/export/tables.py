"""Tables: one map or one row as CSV for spreadsheets, or as npz for numpy, without any rounding."""

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import Head, overview, row
from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace

BLOCK_ROWS = 64
FORMULA = tuple("=+-@\t\r＝＋－＠")  # a spreadsheet would run a cell that begins so
WHOLE_MAP = -1


def csv_lines(
    trace: Trace, layer: int, head: Head, *, query: int | None = None, special: bool = True
) -> Iterator[str]:
    """The lines of a CSV, a few rows of the map held at a time.

    A map has a line a query, and a column "key 5: token" for each key. One row (`query` given) has
    a line a key. Weights are shares of the query's total, written so that reading them gives the
    same bits; a masked pair is an empty cell. A token that a spreadsheet would take for a formula
    begins with an apostrophe.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        query: the number of one token, for its row alone.
        special: whether special tokens are kept; the others' weights are not renormalized.

    Raises:
        SelectionError: no such layer, head or query.
    """
    keys, names = kept_keys(trace, layer, special), key_tokens(trace, layer)
    if query is not None:
        weights = _row(trace, layer, head, query)[keys]
        yield _line(["key", "key_token", "weight"])
        for key, cell in zip(keys, _cells(weights), strict=True):
            yield _line([str(key), harmless(names[key]), cell])
        return
    yield _line(["query", "query_token", *(f"key {key}: {names[key]}" for key in keys)])
    queries = iter(kept_queries(trace, special))
    for block in _blocks(trace, layer, head, special):
        for weights in block:
            at = next(queries)
            yield _line([str(at), harmless(trace.tokens[at]), *_cells(weights)])


def arrays(
    trace: Trace, layer: int, head: Head, *, query: int | None = None, special: bool = True
) -> dict[str, np.ndarray]:
    """The same by name, as npz keeps it; arguments and faults are those of `csv_lines`.

    Returns:
        weights: float32 "query key", or "key" for one row; 0 where masked, so that rows sum to 1.
        masked: bool, of the same shape; True = this pair may not attend.
        queries, keys: the numbers of the tokens; tokens, key_tokens: their names.
        layer, head, query (-1 for a whole map), model, note: what it is of, and what was hidden.
    """
    keys, names = kept_keys(trace, layer, special), key_tokens(trace, layer)
    if query is None:
        queries = kept_queries(trace, special)
        weights = np.concatenate(list(_blocks(trace, layer, head, special)))
    else:
        queries, weights = [query], _row(trace, layer, head, query)[keys]
    return {
        "weights": np.nan_to_num(weights).astype(np.float32),
        "masked": np.isnan(weights),
        "queries": np.array(queries),
        "keys": np.array(keys),
        "tokens": np.array([trace.tokens[at] for at in queries], dtype=np.str_),
        "key_tokens": np.array([names[at] for at in keys], dtype=np.str_),
        "layer": np.array(layer),
        "head": np.array(head),
        "query": np.array(WHOLE_MAP if query is None else query),
        "model": np.array(trace.origin.model),
        "note": np.array(hidden_note(trace, special)),
    }


def npz_bytes(
    trace: Trace, layer: int, head: Head, *, query: int | None = None, special: bool = True
) -> bytes:
    """`arrays` as a compressed npz file, which numpy opens without pickle."""
    file = io.BytesIO()
    named = arrays(trace, layer, head, query=query, special=special)
    np.savez_compressed(file, allow_pickle=False, **named)
    return file.getvalue()


def hidden_note(trace: Trace, special: bool) -> str:
    """Which special tokens were left out, as a sentence; nothing if none was."""
    hidden = [at for at, is_special in enumerate(trace.sample.special) if is_special]
    if special or not hidden:
        return ""
    names = ", ".join(f"{at} {trace.tokens[at]}" for at in hidden)
    return f"Special tokens are hidden ({names}); the other weights are not renormalized."


def kept_queries(trace: Trace, special: bool) -> list[int]:
    """The numbers of the tokens that are shown."""
    return [at for at in range(trace.n_tokens) if special or not trace.sample.special[at]]


def kept_keys(trace: Trace, layer: int, special: bool) -> list[int]:
    """The keys that are shown: all of another sequence, else the tokens that are shown."""
    trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
    ran = trace.layers[layer]
    return list(range(ran.k.shape[1])) if ran.cross else kept_queries(trace, special)


def key_tokens(trace: Trace, layer: int) -> Sequence[str]:
    """The names of a layer's keys; numbers where another sequence's were not given."""
    ran = trace.layers[layer]
    named = trace.key_tokens if ran.cross else trace.tokens
    return named or [str(at) for at in range(ran.k.shape[1])]


def check_query(trace: Trace, query: int) -> int:
    """The query, if there is one of that number."""
    if not 0 <= query < trace.n_tokens:
        raise SelectionError(f"There is no query {query}; choose 0 to {trace.n_tokens - 1}.")
    return query


def harmless(token: str) -> str:
    """The token, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{token}" if token.startswith(FORMULA) else token


def _row(trace: Trace, layer: int, head: Head, query: int) -> Float[np.ndarray, " key"]:
    return row(trace, layer, head, check_query(trace, query))


def _blocks(
    trace: Trace, layer: int, head: Head, special: bool
) -> Iterator[Float[np.ndarray, "query key"]]:
    """The exact cells of a map, some rows at a time."""
    kept = kept_queries(trace, special)
    size = max(BLOCK_ROWS, trace.layers[layer].k.shape[1])  # so large that nothing is pooled
    for start in range(0, max(1, len(kept)), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        tile = overview(trace, layer, head, rows=part, keys=slice(None), size=size, tokens=kept)
        yield tile.values


def _cells(weights: Float[np.ndarray, " key"]) -> list[str]:
    """The shortest digits that give the same number back; nothing for a masked pair."""
    return ["" if text == "nan" else text for text in weights.astype(np.str_).tolist()]


def _line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
