"""Rule names: which functions of torch each rule of `Rules` is for, and which need none."""

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
