"""Opening: which head and which query a map opens on."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.arguments import bare
from viz_encoder.trace import Trace

MOST_ROWS = 256  # queries that are looked through
NEAR = 2  # words so near are often parts of one, as in didn't
LETTERS = 2  # in a word worth opening on


def choose_opening(
    trace: Trace, places: list[tuple[int, int]], query: int | None
) -> tuple[int, int, int]:
    """The layer, head and query of the strongest link among some heads.

    A link is between two different words that do not stand side by side, and counts by its weight
    above the mean that all queries give that key; where there are no such words, any two tokens
    are looked at. In a picture it is one of a prefix token ([CLS]) to a patch.

    Args:
        trace: the run.
        places: layer and head of each map that is shown.
        query: the one that is wanted; any if not given.
    """
    best, found = -torch.inf, (*places[0], query or 0)
    step = -(-trace.n_tokens // MOST_ROWS)
    rows = torch.arange(0, trace.n_tokens, step) if query is None else torch.tensor([query])
    for layer in dict.fromkeys(at for at, _ in places):
        heads = [head for at, head in places if at == layer]
        looked = trace.attention(layer, rows=slice(None, None, step)).cpu()[heads]
        weights = looked if query is None else _row(trace, layer, query)[heads]
        excess = weights - looked.mean(dim=1, keepdim=True)
        excess = excess.masked_fill(~_apart(trace, layer, rows), -torch.inf)
        if (top := float(excess.max())) > best:
            best, place = top, int(excess.argmax())
            row = place // excess.shape[2] % excess.shape[1]
            found = layer, heads[place // excess[0].numel()], int(rows[row])
    return found


def _row(trace: Trace, layer: int, query: int) -> Float[Tensor, "head 1 key"]:
    return trace.attention(layer, rows=slice(query, query + 1)).cpu()


def _apart(trace: Trace, layer: int, queries: Int[Tensor, " query"]) -> Bool[Tensor, "query key"]:
    """Pairs that are worth opening on; all where there are none."""
    ran, grid = trace.layers[layer], trace.grid
    keys = torch.arange(ran.k.shape[1])
    if grid is not None and not ran.cross:
        pairs = (queries < max(1, grid.n_prefix))[:, None] & (keys >= grid.n_prefix)
    elif ran.cross:
        pairs = torch.ones(len(queries), len(keys), dtype=torch.bool)
    else:
        words = torch.tensor([_is_word(trace, int(at)) for at in keys])
        numbers = {name: at for at, name in enumerate(dict.fromkeys(map(bare, trace.tokens)))}
        names = torch.tensor([numbers[bare(token)] for token in trace.tokens])
        pairs = words[queries, None] & words & (names[queries, None] != names)
        pairs &= (queries[:, None] - keys).abs() > NEAR
    return pairs if pairs.any() else torch.ones_like(pairs)


def _is_word(trace: Trace, at: int) -> bool:
    special = trace.sample.special[at] or not bool(trace.valid[at])
    letters = sum(map(str.isalpha, trace.tokens[at]))
    return not special and letters >= LETTERS
