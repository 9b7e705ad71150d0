"""Trees of tokens, choices that share a question, graphs: bugs with the cause of each, mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from tests.audit.cause_cases import CauseCase, Mask, of_masks
from tests.audit.plants import padding

Pairs = Callable[[int], Tensor]


def line(n_tokens: int) -> Tensor:
    return torch.ones(n_tokens, n_tokens, dtype=torch.bool).tril()


def two_each(n_tokens: int) -> list[int]:
    """The parent of each token: every token has two children."""
    return [-1, *((token - 1) // 2 for token in range(1, n_tokens))]


def after_prompt(n_tokens: int) -> list[int]:
    """Three tokens in a row, and then every token has two children."""
    return [-1, 0, 1, *(2 + (token - 3) // 2 for token in range(3, n_tokens))]


def ancestors(parents: Callable[[int], list[int]]) -> Pairs:
    def pairs(n_tokens: int) -> Tensor:
        keep = torch.eye(n_tokens, dtype=torch.bool)
        for token, parent in enumerate(parents(n_tokens)):
            if parent >= 0:
                keep[token] |= keep[parent]
        return keep

    return pairs


def with_siblings(parents: Callable[[int], list[int]]) -> Pairs:
    def pairs(n_tokens: int) -> Tensor:
        of = torch.tensor(parents(n_tokens))
        return ancestors(parents)(n_tokens) | (line(n_tokens) & (of[:, None] == of))

    return pairs


def parent_alone(n_tokens: int) -> Tensor:
    keep = torch.eye(n_tokens, dtype=torch.bool)
    for token, parent in enumerate(two_each(n_tokens)):
        keep[token, max(parent, 0)] = True
    return keep


def levels(n_tokens: int) -> Tensor:
    depth = ancestors(two_each)(n_tokens).sum(dim=1)
    return (depth[None, :] < depth[:, None]) | torch.eye(n_tokens, dtype=torch.bool)


def choices(seen: str = "own", shared: int = 2) -> Pairs:
    """A question of two tokens, and behind it choices of two; each sees its own, or others too."""

    def pairs(n_tokens: int) -> Tensor:
        place = torch.arange(n_tokens)
        number = torch.where(place < shared, -1, (place - shared) // 2)
        sees = {"own": number[:, None] == number, "earlier": number[:, None] >= number}
        question = number < 0
        both = ~question[:, None] & ~question & sees.get(seen, torch.ones(1, 1, dtype=torch.bool))
        return question[None] | both

    return pairs


def itself(n_tokens: int) -> Tensor:
    return torch.eye(n_tokens, dtype=torch.bool)


def directed(n_tokens: int) -> Tensor:
    """Each node sees itself and some others."""
    drawn = torch.rand(n_tokens, n_tokens, generator=torch.Generator().manual_seed(n_tokens))
    return (drawn < 2 / n_tokens) | itself(n_tokens).roll(2, 0) | itself(n_tokens)


def undirected(n_tokens: int) -> Tensor:
    return directed(n_tokens) | directed(n_tokens).mT


def squared(n_tokens: int) -> Tensor:
    return (undirected(n_tokens).float() @ undirected(n_tokens).float()) > 0


def halved(n_tokens: int) -> Tensor:
    """Each edge in one direction, drawn."""
    first = torch.randperm(n_tokens, generator=torch.Generator().manual_seed(1))
    later = first[:, None] > first
    return (undirected(n_tokens) & later) | itself(n_tokens)


def with_front(n_tokens: int) -> Tensor:
    """A node in front of the others, linked to the first of them."""
    keep = itself(n_tokens)
    keep[1:, 1:] = undirected(n_tokens - 1)
    keep[0, 1] = keep[1, 0] = True
    return keep


Branch = tuple[str, Pairs, Pairs, tuple[str, ...]]  # its name, what is meant, wrong, the cause
BUGS: tuple[Branch, ...] = (
    ("siblings in a tree", ancestors(two_each), with_siblings(two_each), ("tree",)),
    ("the levels of a tree", ancestors(two_each), levels, ("tree",)),
    ("a tree's parents alone", ancestors(two_each), parent_alone, ("tree_parent",)),
    ("a prompt's tree as a text", ancestors(after_prompt), line, ("tree",)),
    (
        "siblings behind a prompt",
        ancestors(after_prompt),
        with_siblings(after_prompt),
        ("tree",),
    ),
    ("choices that see earlier ones", choices(), choices("earlier"), ("choices",)),
    ("choices in one row", choices(shared=0), choices("all", 0), ("documents",)),
    ("choices that see those before", choices(shared=0), choices("earlier", 0), ("documents",)),
    ("edges in a drawn direction", undirected, halved, ("edges_one_way",)),
    ("edges both ways", directed, undirected, ("edges_both_ways",)),
    ("source and target exchanged", directed, lambda n: directed(n).mT, ("transposed",)),
    ("two hops", undirected, squared, ("hops",)),
    (
        "a node put in front of its graph",
        with_front,
        lambda n: with_front(n).roll((-1, -1), dims=(0, 1)),
        ("pattern_moved",),
    ),
)


def _mask(pairs: Pairs) -> Mask:
    return lambda valid: padding(valid) & pairs(valid.shape[1])


def cases(mended: bool = False) -> list[CauseCase]:
    """Each bug on each kernel, wrong or mended."""
    return of_masks(
        (name, _mask(meant), _mask(meant if mended else wrong), right, ())
        for name, meant, wrong, right in BUGS
    )
