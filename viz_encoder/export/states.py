"""States: what was measured of hidden states, as CSV for spreadsheets or npz for numpy."""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from viz_encoder.analyses.nearest_tokens import NearestTokens
from viz_encoder.analyses.predictions import WHOLE, LogitLens
from viz_encoder.analyses.projection import Projection
from viz_encoder.analyses.residual_change import HiddenChange, ResidualChange
from viz_encoder.analyses.token_similarity import OverSmoothing, TokenSimilarity
from viz_encoder.errors import SelectionError
from viz_encoder.export.tables import cells
from viz_encoder.result import Columns, csv_line, csv_text, harmless, npz_file
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
TOKEN = ["token", "token_name"]


def state_lines(trace: Trace, result: StateResult) -> Iterator[str]:
    """The result's table as CSV, each token's name beside its number; of cosines, the matrix.

    Numbers are written so that reading them gives the same bits; what is not defined is an empty
    cell. A name that a spreadsheet would take for a formula begins with an apostrophe.

    Raises:
        SelectionError: the result is from another run.
    """
    _check(trace, result)
    if isinstance(result, TokenSimilarity):
        yield from map(csv_line, _similarity(trace, result))
        return
    columns = result.columns()
    if isinstance(result, Projection):
        last = dict(zip(list(columns)[-2:], cells(result.shares), strict=True))
        said = {name: f"{name} ({share} of variance)" for name, share in last.items()}
        columns = {said.get(name, name): values for name, values in columns.items()}
    yield csv_text(_named(trace, columns))


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


def _named(trace: Trace, columns: Columns) -> Columns:
    """The columns with names of tokens; the whole input has no number."""
    found: Columns = {}
    for column, values in columns.items():
        if column == "token":
            found[column] = [None if at == WHOLE else at for at in values]
            found["token_name"] = [_name(trace, at) for at in values]
        else:
            found[column] = values
    return found


def _similarity(trace: Trace, result: TokenSimilarity) -> Iterator[list[str]]:
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
        token = [str(block[0]), harmless(trace.tokens[block[0]])]
        yield [*(token if single else [name]), *cells(cosines)]


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
