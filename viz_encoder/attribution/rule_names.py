"""Rules for torch's functions: which function each is for, which need none, and divided scores."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

# f(x) as x · f(x) / x.
GATES = (
    *("gelu", "relu", "silu", "tanh", "sigmoid", "erf", "elu", "leaky_relu", "selu", "celu"),
    *("softplus", "mish", "hardswish", "hardtanh", "relu6", "logsigmoid", "hardsigmoid"),
    *("clamp", "clamp_min", "clamp_max", "clip"),
)
# Where an activation is written out, such a factor is the gate of the other one.
FACTORS = ("tanh", "sigmoid", "erf", "hardsigmoid")
# What another value is divided by.
DIVISORS = ("rsqrt", "sqrt", "reciprocal", "var")
# Functions whose own gradient is that of a linear map, as of a length, or that only choose.
LINEAR = frozenset((
    *("dropout", "alpha_dropout", "reshape", "view", "flatten", "unflatten", "transpose"),
    *("permute", "contiguous", "clone", "to", "float", "half", "double", "bfloat16", "type"),
    *("type_as", "expand", "expand_as", "unsqueeze", "squeeze", "split", "chunk", "unbind", "cat"),
    *("concat", "stack", "getitem", "select", "narrow", "index_select", "gather", "sum", "mean"),
    *("take_along_dim", "neg", "T", "mT", "get", "roll", "flip", "pad", "repeat", "unfold"),
    *("repeat_interleave", "movedim", "swapaxes", "cumsum", "tril", "triu", "amax", "max"),
    *("avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "detach", "item", "requires_grad_"),
    *("norm", "linalg_norm", "linalg_vector_norm", "std", "abs"),
    *("max_pool1d", "max_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d"),
))  # fmt: skip
NAMES = {
    "sum_of": ("add", "radd"),
    "difference": ("sub", "rsub", "subtract"),
    "product": ("mul", "rmul", "multiply"),
    "matrix_product": ("matmul", "rmatmul", "bmm", "mm", "einsum"),
    "quotient": ("div", "truediv", "rtruediv", "rdiv", "divide"),
    "power": ("pow",),
    "square": ("square",),
    "linear": ("linear",),
    "product_and_sum": ("addmm", "baddbmm"),
    "convolution": ("conv1d", "conv2d"),
    "layer_norm": ("layer_norm",),
    "rms_norm": ("rms_norm",),
    "weights": ("softmax", "special_softmax", "exp", "exp2"),
    "choice": ("where",),
    "filled": ("masked_fill",),
    "attention": ("scaled_dot_product_attention",),
    "glu": ("glu",),
    "gate": GATES,
    "held": DIVISORS,
}
# Of functions with rules, what may be given by its name, after what is given by its place.
IN_ORDER = ("condition", "input", "mat1", "batch1", "other", "mat2", "batch2", "exponent")
BY_NAME = {name: rule for rule, names in NAMES.items() for name in names}


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
