"""Scores: what compares queries with keys, and the weights that an activation gives."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from viz_encoder.attribution.rule_names import BY_NAME, LINEAR

MapNumbers = frozenset[int]
COMPARED = MapNumbers()  # a product of two tensors that come from the leaf
KEEPING = ("sum_of", "difference", "product", "quotient", "power", "square", "choice", "filled")


class Scores:
    """Attention weights without a softmax: an activation, such as sigmoid or ReLU, of the scores.

    They come from the leaf, so they are known by what they were made of.
    """

    def __init__(self) -> None:
        self._made_of: Any = WeakIdKeyDictionary()

    def made(self, name: str, args: Any, found: Any, number: int) -> bool:
        """Keep what a function made of scores or of weights.

        Returns:
            Whether these are new weights; they bear the number.
        """
        given = [self._made_of.get(x) for x in _computed(args)]
        made_of = _after(name, given)
        new = made_of == COMPARED and BY_NAME.get(name) == "gate"
        for each in _computed(found):
            self._made_of[each] = MapNumbers([number]) if new else made_of
        return new

    def weights(self, x: Any) -> MapNumbers:
        """The numbers of the weights that a tensor was made of; none if it is something else."""
        return (isinstance(x, Tensor) and self._made_of.get(x)) or COMPARED


def _after(name: str, given: list[MapNumbers | None]) -> MapNumbers | None:
    """What a function gives of tensors that come from the leaf; None: neither scores nor weights.

    A product of two is scores, unless one is of weights: then it is what they mixed. Of weights
    and a constant it is weights, as where heads are mixed.
    """
    rule = BY_NAME.get(name, "keeps" if name in LINEAR else "")
    known = [each for each in given if each is not None]
    if rule == "matrix_product":
        if len(given) > 1:
            return None if any(known) else COMPARED
        return MapNumbers().union(*known) or None
    if len(known) < len(given) or rule not in ("keeps", "gate", *KEEPING):
        return None
    return MapNumbers().union(*known)


def _computed(x: Any) -> Iterator[Tensor]:
    """The tensors in it that come from the leaf."""
    if isinstance(x, Tensor):
        if x.requires_grad:
            yield x
    elif isinstance(x, list | tuple):
        for each in x:
            yield from _computed(each)
