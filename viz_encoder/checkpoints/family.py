"""Family: what one file must declare so that a kind of checkpoint can be loaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from viz_encoder.config import EncoderConfig, HeadConfig

Json = Mapping[str, Any]
Shapes = Mapping[str, tuple[int, ...]]
RunModule = Callable[[nn.Module, Mapping[str, Tensor]], Tensor]


def last_states(model: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    """The last hidden states of a model of transformers, "batch token d_model"."""
    base = getattr(model, "base_model", model) if "For" in type(model).__name__ else model
    states: Tensor = base(**inputs).last_hidden_state
    return states


def states_of_tower(side: str) -> RunModule:
    """Like `last_states` for one tower, "text" or "vision", or for that tower alone."""
    return lambda model, inputs: last_states(getattr(model, f"{side}_model", model), inputs)


@dataclass(frozen=True)
class CarriedHead:
    """A head that a checkpoint may carry: it is there if any of its tensors is.

    Where one tensor name serves several heads (BERT's "classifier"), `only_for` is a word that
    config.json's architectures must hold, such as "ForTokenClassification".
    """

    config: Callable[[Json], HeadConfig]
    tensors: str
    only_for: str = ""


@dataclass(frozen=True)
class Family:
    """A kind of checkpoint, as data.

    The tensor map is a table of two columns: the name on disk and ours, where # is a layer's
    number and * is weight or bias. On our side, `a|b|c` splits a fused tensor into equal parts,
    `layers.all` stands for every layer, a last `.scale` is multiplied into the weight and the bias
    of the same name (LayerScale), a last `?` counts only where no other tensor has that name,
    `-` is a learned tensor that is not loaded, with words that say what it is (a note tells of
    it), and `buffer` is one that was not learned.
    """

    model_types: tuple[str, ...]
    defaults: Json  # config keys that files leave out
    config: Callable[[Json], EncoderConfig]
    tensors: str
    optional_prefixes: tuple[str, ...] = ()  # such as "bert.", put there by heads
    heads: tuple[CarriedHead, ...] = ()  # the first that matches takes a tensor
    adapt: Callable[[dict[str, Tensor], EncoderConfig], dict[str, Tensor]] | None = None
    # For files without a model_type: whether this is one, and what its tensors' shapes tell.
    claims: Callable[[Json], bool] | None = None
    complete: Callable[[Json, Shapes], Json] | None = None
    part_of: tuple[str, str] | None = None  # ("clip", "vision"): one half of a two-part model
    wordpiece: bool = False  # vocab.txt will do where there is no tokenizer.json
    pads_take_no_position: bool = False  # so a typed padding token would shift all that follow
    # Runs a model in memory for comparison: returns its last hidden states, or raises.
    run: RunModule = last_states
    padded_to: int = 0  # texts are always padded to this length, and the padding is attended to
