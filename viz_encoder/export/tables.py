"""Tables: one map or one row as CSV for spreadsheets, or as npz for numpy, without any rounding."""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.compare import Comparison
from viz_encoder.analyses.overview import overview, row
from viz_encoder.arguments import read_index
from viz_encoder.result import csv_line, harmless, npz_file
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head, MapView
from viz_encoder.trace.token_selection import key_names, shown_tokens

BLOCK_ROWS = 64
WHOLE_MAP = -1
# Letters of a text that is cut: texts often differ in their last words.
FIRST_LETTERS, LAST_LETTERS = 25, 15


def csv_lines(trace: Trace, view: MapView, query: int | None = None) -> Iterator[str]:
    """The lines of a CSV, a few rows of the map held at a time.

    A map has a line a query, and a column "key 5: token" for each key. One row (`query` given) has
    a line a key. Each line names the model, and the map with what was done to it. Weights are
    shares of the query's total, written so that reading them gives the same bits; a masked pair is
    an empty cell. A token that a spreadsheet would take for a formula begins with an apostrophe.
    The numbers of merged sub-words stand in one cell, a space apart.

    Args:
        trace: the run.
        view: the map, and what it hides, renormalizes and merges.
        query: the number of one token, for its row alone.

    Raises:
        SelectionError: no such layer, head or query.
    """
    if query is None:
        yield from map_lines(trace, view, map_said(view), _blocks(trace, view))
        return
    keys, names = kept_keys(trace, view), key_names(trace, view.layer)
    of = [harmless(trace.origin.model), map_said(view)]
    weights = map_row(trace, view, query)
    yield csv_line(["key", "key_token", "model", "map", "weight"])
    for key, cell in zip(keys, cells(weights), strict=True):
        yield csv_line([_numbers(key), harmless(word_name(names, key)), *of, cell])


def map_lines(
    trace: Trace, view: MapView, said: str, blocks: Iterable[Float[np.ndarray, "query key"]]
) -> Iterator[str]:
    """The lines of a whole map, whose rows come in blocks; `said` is what it is of."""
    keys, names = kept_keys(trace, view), key_names(trace, view.layer)
    of = [harmless(trace.origin.model), harmless(said)]
    header = (f"key {_numbers(key)}: {word_name(names, key)}" for key in keys)
    yield csv_line(["query", "query_token", "model", "map", *header])
    queries = iter(view.kept(trace))
    for block in blocks:
        for weights in block:
            at = next(queries)
            name = harmless(word_name(trace.tokens, at))
            yield csv_line([_numbers(at), name, *of, *cells(weights)])


def arrays(
    trace: Trace,
    layer: int,
    head: Head,
    *,
    query: int | None = None,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> dict[str, np.ndarray]:
    """Arrays by name for npz; raises like `csv_lines`.

    Args:
        trace: the run.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        query: the number of one token, for its row alone.
        hide_special: whether special tokens such as [CLS] are left out.
        renormalize: whether rows are divided by their sum over the kept keys.
        words: whether sub-words are merged into words, see `viz_encoder.analyses.overview`.

    Returns:
        weights: float32 "query key", or "key" for one row; 0 where masked, so that rows sum to 1
            (to less where an attention sink takes the rest).
        masked: bool, of the same shape; True = this pair may not attend.
        queries, keys: the numbers of the tokens, of a merged word that of its first sub-word;
            tokens, key_tokens: their names; query_sizes, key_sizes: how many tokens each holds.
        layer, head, query (-1 for a whole map), model, note: what it is of, and what was hidden,
            renormalized or merged.
    """
    view = MapView(layer, head, hide_special=hide_special, renormalize=renormalize, words=words)
    return view_arrays(trace, view, query)


def view_arrays(trace: Trace, view: MapView, query: int | None = None) -> dict[str, np.ndarray]:
    """`arrays` of a view."""
    if query is None:
        queries, weights = view.kept(trace), np.concatenate(list(_blocks(trace, view)))
    else:
        queries, weights = [word_of(trace, query, view.words)], map_row(trace, view, query)
    held = {
        "weights": np.nan_to_num(weights).astype(np.float32),
        "masked": np.isnan(weights),
        "query": np.array(WHOLE_MAP if query is None else query),
    }
    return held | sides_of(trace, view, queries)


def sides_of(
    trace: Trace, view: MapView, queries: Sequence[tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """What stands along both sides of a map, and what it is of, as `arrays` names them."""
    keys, names = kept_keys(trace, view), key_names(trace, view.layer)
    return {
        "queries": np.array([entry[0] for entry in queries]),
        "keys": np.array([entry[0] for entry in keys]),
        "query_sizes": np.array([len(entry) for entry in queries]),
        "key_sizes": np.array([len(entry) for entry in keys]),
        "tokens": np.array([word_name(trace.tokens, entry) for entry in queries], dtype=np.str_),
        "key_tokens": np.array([word_name(names, entry) for entry in keys], dtype=np.str_),
        "layer": np.array(view.layer),
        "head": np.array(view.head),
        "model": np.array(trace.origin.model),
        "note": np.array(view_note(trace, view)),
    }


def npz_bytes(trace: Trace, view: MapView, query: int | None = None) -> bytes:
    """`arrays` as a compressed npz file, which numpy opens without pickle."""
    return npz_file(view_arrays(trace, view, query))


def map_said(view: MapView) -> str:
    """Describe the map and its processing in a few words."""
    heads = view.head if isinstance(view.head, tuple) else (view.head,)
    if isinstance(view.head, tuple):
        which = f"mean of heads {', '.join(map(str, heads))}"
    else:
        which = f"{view.head} over heads" if isinstance(view.head, str) else f"head {view.head}"
    done = {
        "special tokens hidden": view.hide_special,
        "rows renormalized": view.renormalize,
        "sub-words merged": view.words,
    }
    return "; ".join([f"layer {view.layer}, {which}", *(text for text, so in done.items() if so)])


def view_note(trace: Trace, view: MapView) -> str:
    """Sentences about hidden, renormalized or merged tokens; "" if none."""
    said, hidden = [], [at for at, is_special in enumerate(trace.sample.special) if is_special]
    if hidden and view.hide_special:
        names = ", ".join(f"{at} {trace.tokens[at]}" for at in hidden)
        rest = "" if view.renormalize else "; the other weights are not renormalized"
        said.append(f"Special tokens are hidden ({names}){rest}.")
    if view.renormalize:
        said.append("Rows are renormalized: each is divided by its sum over the keys kept.")
    if view.words:
        said.append("Sub-words are merged: the mean over a word's queries, the sum over its keys.")
    return " ".join(said)


def kept_keys(trace: Trace, view: MapView) -> list[tuple[int, ...]]:
    """The keys that are shown: all of another sequence, else the tokens that are shown."""
    trace.attention(view.layer, rows=slice(0, 0))  # says so if there is no such layer
    ran = trace.layers[view.layer]
    if ran.cross:
        return [(at,) for at in range(ran.k.shape[1])]
    return view.kept(trace)


def word_of(trace: Trace, query: int, words: bool) -> tuple[int, ...]:
    """The tokens of one query: those of its word, where words are merged."""
    read_index("query", query, trace.n_tokens)
    return next(entry for entry in shown_tokens(trace, words=words) if query in entry)


def word_name(names: Sequence[str], tokens: Sequence[int]) -> str:
    """Sub-words as one word, without the marks of its continuations."""
    first, *more = (names[at] for at in tokens)
    return first + "".join(re.sub(r"^##", "", name) for name in more)


def map_row(trace: Trace, view: MapView, query: int) -> Float[np.ndarray, " key"]:
    """The weights of one query's row over the keys that are shown; NaN where masked."""
    merged, kept = word_of(trace, query, view.words), view.kept(trace)
    found = row(trace, view.layer, view.head, merged, tokens=kept, renormalize=view.renormalize)
    return found.weights


def _blocks(trace: Trace, view: MapView) -> Iterator[Float[np.ndarray, "query key"]]:
    kept = view.kept(trace)
    size = max(BLOCK_ROWS, trace.layers[view.layer].k.shape[1])  # so large that nothing is pooled
    for start in range(0, max(1, len(kept)), BLOCK_ROWS):
        yield overview(
            trace,
            view.layer,
            view.head,
            rows=slice(start, start + BLOCK_ROWS),
            keys=slice(None),
            size=size,
            tokens=kept,
            renormalize=view.renormalize,
        ).values


def _numbers(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens))


def cells(values: np.ndarray) -> list[str]:
    """The shortest digits that give the same number back; nothing for NaN, as of a masked pair."""
    return ["" if text == "nan" else text for text in values.astype(np.str_).tolist()]


def reference_name(found: Comparison) -> str:
    """The reference by its text, cut in the middle, and by its model where that is another."""
    reference = found.reference
    model = reference.origin.model
    if reference.grid is not None:
        return f"{model}, a picture of {reference.grid.n_rows} × {reference.grid.n_cols} patches"
    name = quoted(_cut(_text(reference)))
    return name if model == found.trace.origin.model else f"{model}, {name}"


def _text(trace: Trace) -> str:
    if trace.sample.texts:
        return trace.sample.texts[0]
    named = zip(trace.tokens, trace.sample.special, strict=True)
    return " ".join(token for token, special in named if not special)


def _cut(text: str) -> str:
    whole = len(text) <= FIRST_LETTERS + LAST_LETTERS
    return text if whole else f"{text[:FIRST_LETTERS]}…{text[-LAST_LETTERS:]}"
