"""The axes that have names for values; a wrong name is answered with the right ones."""

from enum import StrEnum
from reprlib import repr as shown  # cut short: the value may be a stranger's, of any length
from typing import NoReturn

from viz_encoder.errors import ConfigError


class Choice(StrEnum):
    """An axis with named values."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        allowed = ", ".join(repr(member.value) for member in cls)
        raise ConfigError(f"{cls.__name__} is {shown(value)}; it must be one of {allowed}.")


class Embedding(Choice):
    """Input type: token ids, image patches, or ready-made vectors."""

    TOKEN = "token"
    PATCH = "patch"
    VECTOR = "vector"


class Positions(Choice):
    """Position encoding."""

    LEARNED = "learned"
    SINUSOIDAL = "sinusoidal"
    NONE = "none"


class Norm(Choice):
    """LayerNorm (Ba et al., 2016) or RMSNorm (Zhang & Sennrich, 2019), which subtracts no mean."""

    LAYER = "layer"
    RMS = "rms"


class NormPlacement(Choice):
    """Normalization before each sub-layer (pre) or after its residual sum (post)."""

    PRE = "pre"
    POST = "post"


class Activation(Choice):
    """The nonlinearity of the feed-forward network, or of a prediction head."""

    RELU = "relu"
    GELU = "gelu"  # by the error function
    GELU_TANH = "gelu_tanh"  # its approximation; 7e-4 apart
    QUICK_GELU = "quick_gelu"  # x · sigmoid(1.702 x), as CLIP has it
    SILU = "silu"
    TANH = "tanh"


class Task(Choice):
    """What a prediction head predicts."""

    MASKED = "masked"  # which token stands at each place
    CLASSIFY = "classify"  # one label for the whole input
    TOKENS = "tokens"  # one label for each token
    REPLACED = "replaced"  # how likely each token was replaced (ELECTRA)
    POOL = "pool"  # one vector for the whole input


class HeadPool(Choice):
    """Hidden states that a prediction head reads."""

    EACH = "each"  # every token by itself
    CLS = "cls"
    MEAN = "mean"  # over the valid tokens that are no prefix
    CLS_MEAN = "cls_mean"  # [CLS] and the mean of the patches, side by side
    CLS_DIST = "cls_dist"  # [CLS] and [DIST], side by side
    LAST = "last"  # the last valid token
    LATE = "late"  # every token, and the mean is taken of their answers
    PROBE = "probe"  # all valid tokens, by attention of a learned query
