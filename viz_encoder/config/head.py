"""HeadConfig: what a prediction head reads, how it is built, and what its outputs are called."""

from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as shown  # cut short: the value may be a stranger's, of any length

from viz_encoder.config.checks import listed, require_count, require_known, require_switch
from viz_encoder.config.choices import Activation, HeadPool, Task
from viz_encoder.errors import ConfigError
from viz_encoder.shown import OneLine

PARTS = ("dense", "norm", "out")


@dataclass(frozen=True, repr=False)
class HeadConfig(OneLine):
    """A prediction head: hidden states → dense and activation → norm → out, some steps left out.

    Raises:
        ConfigError: a value that is not possible.
    """

    task: Task
    pool: HeadPool = HeadPool.EACH
    d_dense: int = 0  # width of the dense layer; 0 = there is none
    activation: Activation | None = None  # after the dense layer
    norm: bool = False
    n_out: int = 0  # number of outputs; 0 = no out layer
    labels: tuple[str, ...] = ()  # names of the outputs; those of a masked head are the vocabulary
    multi_label: bool = False  # each label is a yes or no of its own
    regression: bool = False  # each output is a number as it is
    unbiased: tuple[str, ...] = ()  # parts that have no bias

    def __post_init__(self) -> None:
        """Coerce names to enums, then check every part."""
        object.__setattr__(self, "task", Task(self.task))
        object.__setattr__(self, "pool", HeadPool(self.pool))
        if self.activation is not None:
            object.__setattr__(self, "activation", Activation(self.activation))
        for name in ("labels", "unbiased"):
            object.__setattr__(self, name, listed(name, getattr(self, name), str))
        require_known("unbiased", self.unbiased, PARTS)
        require_count("d_dense", self.d_dense, least=0)
        require_count("n_out", self.n_out, least=0)
        require_switch("norm", self.norm)
        require_switch("multi_label", self.multi_label)
        require_switch("regression", self.regression)
        if self.labels and len(self.labels) != self.n_out:
            raise ConfigError(
                f"A prediction head has {self.n_out} outputs and {len(self.labels)} labels; "
                "give one label per output."
            )

    def width(self, d_model: int) -> int:
        """How many numbers it reads at a place."""
        return d_model * (2 if self.pool in (HeadPool.CLS_MEAN, HeadPool.CLS_DIST) else 1)

    def n_parameters(self, d_model: int) -> int:
        """Number of weights, without those of a learned query, which the encoder's axes tell."""
        width = self.width(d_model)
        dense = self.d_dense * (width + ("dense" not in self.unbiased)) if self.d_dense else 0
        width = self.d_dense or width
        norm = width * (1 + ("norm" not in self.unbiased)) if self.norm else 0
        return dense + norm + self.n_out * (width + ("out" not in self.unbiased))


def probe_stems(heads: Sequence[HeadConfig]) -> list[str]:
    """How the tensors' names begin, of each head that pools by a learned query."""
    return [f"heads.{head.task}.probe." for head in heads if head.pool is HeadPool.PROBE]


def read_heads(given: object) -> tuple[HeadConfig, ...]:
    """The prediction heads of an encoder, each given as such or as an object of a config.json."""
    if not isinstance(given, tuple | list):
        raise ConfigError(f"prediction_heads is {shown(given)}; it must be a list of HeadConfig.")
    heads: list[HeadConfig] = []
    for one in given:
        if isinstance(one, dict):
            unknown = [name for name in one if name not in HeadConfig.__dataclass_fields__]
            if unknown or "task" not in one:
                raise ConfigError(
                    f"A prediction head has the fields {shown(sorted(map(str, one)))}; it "
                    f"needs a task and may have {', '.join(HeadConfig.__dataclass_fields__)}."
                )
            one = HeadConfig(**one)
        if not isinstance(one, HeadConfig) or any(one.task is other.task for other in heads):
            raise ConfigError(
                f"prediction_heads holds {shown(one)}; give HeadConfigs, one for each task."
            )
        heads.append(one)
    return tuple(heads)
