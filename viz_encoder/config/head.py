"""HeadConfig: what a prediction head reads, how it is built, and what its outputs are called."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from viz_encoder.arguments import OneOf, at_least, at_most, read_fields, said
from viz_encoder.config.choices import Activation, HeadPool, Task
from viz_encoder.errors import ConfigError
from viz_encoder.shown import OneLine

PARTS = ("dense", "norm", "out")
LARGEST_COUNT = 10**12  # no axis of any model comes near; larger numbers overflow
SizeOrNone = Annotated[int, at_least(0), at_most(LARGEST_COUNT)]  # 0 = there is none
HeadPart = Annotated[str, OneOf(PARTS)]


@dataclass(frozen=True, repr=False)
class HeadConfig(OneLine):
    """A prediction head: hidden states → dense and activation → norm → out, some steps left out.

    Raises:
        ConfigError: a value that is not possible.
    """

    task: Task
    pool: HeadPool = HeadPool.EACH
    d_dense: SizeOrNone = 0  # width of the dense layer; 0 = there is none
    activation: Activation | None = None  # after the dense layer
    norm: bool = False
    n_out: SizeOrNone = 0  # number of outputs; 0 = no out layer
    labels: tuple[str, ...] = ()  # names of the outputs; those of a masked head are the vocabulary
    multi_label: bool = False  # each label is a yes or no of its own
    regression: bool = False  # each output is a number as it is
    unbiased: tuple[HeadPart, ...] = ()  # parts that have no bias

    def __post_init__(self) -> None:
        """Coerce names to enums, then check every part."""
        read_fields(self, ConfigError)
        if self.labels and len(self.labels) != self.n_out:
            raise ConfigError(
                f"A prediction head has {self.n_out} outputs and {len(self.labels)} labels; "
                "give one label per output."
            )

    def width(self, d_model: int) -> int:
        """Number of inputs per position."""
        return d_model * (2 if self.pool in (HeadPool.CLS_MEAN, HeadPool.CLS_DIST) else 1)

    @property
    def reads(self) -> tuple[int, ...] | None:
        """The only tokens whose states it reads; None where it reads all of them."""
        return {HeadPool.CLS: (0,), HeadPool.CLS_DIST: (0, 1)}.get(self.pool)

    def n_parameters(self, d_model: int) -> int:
        """Number of weights, without those of a learned query, which the encoder's axes tell."""
        width = self.width(d_model)
        dense = self.d_dense * (width + ("dense" not in self.unbiased)) if self.d_dense else 0
        width = self.d_dense or width
        norm = width * (1 + ("norm" not in self.unbiased)) if self.norm else 0
        return dense + norm + self.n_out * (width + ("out" not in self.unbiased))


def probe_stems(heads: Sequence[HeadConfig]) -> list[str]:
    """Name prefixes of the tensors of heads that pool by a learned query."""
    return [f"heads.{head.task}.probe." for head in heads if head.pool is HeadPool.PROBE]


def read_heads(given: object) -> tuple[HeadConfig, ...]:
    """The prediction heads of an encoder, each given as such or as an object of a config.json."""
    if not isinstance(given, tuple | list):
        raise ConfigError(f"prediction_heads is {said(given)}; it must be a list of HeadConfig.")
    heads: list[HeadConfig] = []
    for one in given:
        if isinstance(one, dict):
            unknown = [name for name in one if name not in HeadConfig.__dataclass_fields__]
            if unknown or "task" not in one:
                raise ConfigError(
                    f"A prediction head has the fields {said(sorted(map(str, one)))}; it "
                    f"needs a task and may have {', '.join(HeadConfig.__dataclass_fields__)}."
                )
            one = HeadConfig(**one)
        if not isinstance(one, HeadConfig) or any(one.task is other.task for other in heads):
            raise ConfigError(
                f"prediction_heads holds {said(one)}; give HeadConfigs, one for each task."
            )
        heads.append(one)
    return tuple(heads)
