"""States: what was measured of hidden states, as CSV for spreadsheets or npz for numpy."""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from viz_encoder.analyses.logit_lens import WHOLE, LogitLens
from viz_encoder.analyses.nearest_tokens import NearestTokens
from viz_encoder.analyses.projection import Projection
from viz_encoder.analyses.residual_change import HiddenChange, ResidualChange
from viz_encoder.analyses.token_similarity import OverSmoothing, TokenSimilarity
from viz_encoder.errors import SelectionError
from viz_encoder.result import csv_line, harmless, npz_file
from viz_encoder.trace import Trace

StateResult = (
    TokenSimilarity
    | OverSmoothing
    | HiddenChange
    | ResidualChange
    | Projection
    | NearestTokens
    | LogitLens
)
TableRow = list[str]
TOKEN = ["token", "token_name"]


def state_lines(trace: Trace, result: StateResult) -> Iterator[str]:
    """The lines of a CSV: a header, then a line a token, layer or rank.

    Numbers are written so that reading them gives the same bits; what is not defined is an empty
    cell. A name that a spreadsheet would take for a formula begins with an apostrophe. Layers are
    "blocks": how many were passed, 0 = embeddings; or "block": the number of one, from 0.

    Raises:
        SelectionError: the result is from another run.
    """
    _check(trace, result)
    yield from map(csv_line, _rows(trace, result))


def state_arrays(trace: Trace, result: StateResult) -> dict[str, np.ndarray]:
    """Every field of a result by its name, its tokens' names, and the model, as npz keeps them.

    Raises:
        SelectionError: the result is from another run.
    """
    _check(trace, result)
    found = {field.name: np.asarray(getattr(result, field.name)) for field in fields(result)}
    names = [_name(trace, at) for at in _numbers(result).tolist()]
    found["token_names"] = np.array(names, dtype=np.str_)
    found["model"] = np.array(trace.origin.model)
    return found


def state_npz(trace: Trace, result: StateResult) -> bytes:
    """`state_arrays` as a compressed npz file, which numpy opens without pickle."""
    return npz_file(state_arrays(trace, result))


def _rows(trace: Trace, result: StateResult) -> Iterator[TableRow]:
    match result:
        case TokenSimilarity():
            yield from _similarity(trace, result)
        case OverSmoothing():
            yield ["blocks", "cosine", "apart", "centered"]
            columns = result.cosine, result.apart, result.centered
            for layer, cells in enumerate(zip(*columns, strict=True)):
                yield [str(layer), *map(_cell, cells)]
        case HiddenChange():
            yield from _by_layer(trace, result.tokens, "blocks", _changes(result))
        case ResidualChange():
            yield from _by_layer(trace, result.tokens, "block", _parts(result))
        case Projection():
            yield from _projection(trace, result)
        case NearestTokens():
            yield ["rank", "blocks", *TOKEN, "cosine"]
            found = zip(result.states, result.neighbors, result.cosines, strict=True)
            for rank, (layer, at, cosine) in enumerate(found):
                yield [str(rank), str(layer), *_token(trace, at), _cell(cosine)]
        case LogitLens():
            yield from _lens(trace, result)


def _similarity(trace: Trace, result: TokenSimilarity) -> Iterator[TableRow]:
    """A line a block of tokens; blocks of more than one are named by their first and last."""
    blocks = [
        result.tokens[a:b].tolist()
        for a, b in zip(result.edges[:-1], result.edges[1:], strict=True)
    ]
    single = all(len(block) == 1 for block in blocks)
    names = [
        f"token {block[0]}: {trace.tokens[block[0]]}"
        if single
        else f"tokens {block[0]}–{block[-1]}"
        for block in blocks
    ]
    yield [*(TOKEN if single else ["tokens"]), *names]
    for block, name, cosines in zip(blocks, names, result.cosines, strict=True):
        yield [*(_token(trace, block[0]) if single else [name]), *map(_cell, cosines)]


def _by_layer(
    trace: Trace, tokens: np.ndarray, layer: str, columns: dict[str, np.ndarray]
) -> Iterator[TableRow]:
    yield [layer, *TOKEN, *columns]
    for number in range(len(next(iter(columns.values())))):
        for place, at in enumerate(tokens):
            cells = [_cell(values[number, place]) for values in columns.values()]
            yield [str(number), *_token(trace, at), *cells]


def _changes(result: HiddenChange) -> dict[str, np.ndarray]:
    """Changes of states, listed with the states after each block."""
    none = np.full((1, len(result.tokens)), np.nan)  # no block comes before the embeddings
    cosines, changes = (np.concatenate([none, each]) for each in (result.cosines, result.changes))
    return {"norm": result.norms, "cosine": cosines, "change": changes}


def _parts(result: ResidualChange) -> dict[str, np.ndarray]:
    names = "attention", "feed_forward", "attention_shares", "feed_forward_shares"
    return {name: getattr(result, name) for name in names}


def _projection(trace: Trace, result: Projection) -> Iterator[TableRow]:
    first, second = map(_cell, result.shares)
    axes = f"component_1 ({first} of variance)", f"component_2 ({second} of variance)"
    yield ["blocks", *TOKEN, *axes]
    for layer, points in zip(result.states, result.points, strict=True):
        for at, point in zip(result.tokens, points, strict=True):
            yield [str(layer), *_token(trace, at), *map(_cell, point)]


def _lens(trace: Trace, result: LogitLens) -> Iterator[TableRow]:
    yield ["blocks", *TOKEN, "rank", "label", result.unit, f"{result.unit} of the answer"]
    for layer, finals in enumerate(result.finals):
        for place, at in enumerate(result.tokens):
            ranked = zip(result.labels[layer, place], result.shares[layer, place], strict=True)
            for rank, (label, share) in enumerate(ranked):
                name, final = _token(trace, at), _cell(finals[place])
                yield [str(layer), *name, str(rank), harmless(str(label)), _cell(share), final]


def _numbers(result: StateResult) -> np.ndarray:
    return result.neighbors if isinstance(result, NearestTokens) else result.tokens


def _check(trace: Trace, result: StateResult) -> None:
    largest = int(_numbers(result).max(initial=WHOLE))
    if largest >= trace.n_tokens:
        raise SelectionError(
            f"This result names token {largest}, but the run has {trace.n_tokens} tokens; "
            "give the run that was measured."
        )


def _name(trace: Trace, at: int) -> str:
    return "whole input" if at == WHOLE else trace.tokens[at]


def _token(trace: Trace, at: int) -> TableRow:
    """Its number and its name; the whole input has no number."""
    return ["" if at == WHOLE else str(at), harmless(_name(trace, at))]


def _cell(value: float) -> str:
    """The shortest digits that give the same number back; nothing where it is not defined."""
    return "" if np.isnan(value) else str(np.asarray(value).astype(np.str_))
