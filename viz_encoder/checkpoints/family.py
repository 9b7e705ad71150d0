"""Family: what one file must declare so that a kind of checkpoint loads, and in what terms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from torch import Tensor, nn

from viz_encoder.config import EncoderConfig, HeadConfig, NormPlacement
from viz_encoder.errors import CheckpointError

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


ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_python": "gelu",
    "swish": "silu",
}


def activation(name: object) -> Any:
    """A transformers activation by our name; an unknown one is refused by EncoderConfig."""
    return ACTIVATIONS.get(name, name) if isinstance(name, str) else name


def sizes(file: Json) -> dict[str, Any]:
    """The four sizes, as most files of transformers name them."""
    return {
        "n_layers": file["num_hidden_layers"],
        "n_heads": file["num_attention_heads"],
        "d_model": file["hidden_size"],
        "d_ff": file["intermediate_size"],
    }


def text_axes(file: Json, **more: Any) -> dict[str, Any]:
    """The axes that files of BERT's kin name alike; `more` are added, or stand in their place."""
    return {
        **sizes(file),
        "n_segments": file["type_vocab_size"],
        "max_positions": file["max_position_embeddings"],
        "vocab_size": file["vocab_size"],
        "norm_eps": file["layer_norm_eps"],
        "activation": activation(file["hidden_act"]),
        "dropout": file["hidden_dropout_prob"],
        **more,
    }


def pre_norm_axes(file: Json) -> dict[str, Any]:
    """The axes of a norm before each part and one after the last block, as ViT has them."""
    return {
        "norm_placement": NormPlacement.PRE,
        "norm_eps": file["layer_norm_eps"],
        "embed_norm": False,
        "final_norm": True,
        "activation": activation(file["hidden_act"]),
    }


def tower_of_texts(file: Json, **more: Any) -> EncoderConfig:
    """The text half of CLIP's kin."""
    return EncoderConfig(
        **sizes(file),
        **pre_norm_axes(file),
        vocab_size=file["vocab_size"],
        n_segments=0,
        max_positions=file["max_position_embeddings"],
        dropout=file["attention_dropout"],
        **more,
    )


def require_absolute(file: Json, name: str) -> None:
    """Refuse a variant of BERT's that knows order by another way than a table of positions."""
    said = f"for {name}, only 'absolute' positions are supported"
    require(file, "position_embedding_type", "absolute", said)


def without_bias(file: Json, switches: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Our parts that have no bias: those of each switch that the file turns off."""
    return tuple(part for key, parts in switches.items() if not file[key] for part in parts)


def labels(file: Json) -> tuple[str, ...]:
    """Names of the classes, in order; LABEL_0 and LABEL_1 where the file leaves out its two."""
    named = file.get("id2label")
    if named is None:
        count = file.get("num_labels", 2)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= 100_000:
            raise CheckpointError(f"num_labels is {shown(count)}; it must be a whole number.")
        return tuple(f"LABEL_{number}" for number in range(count))
    if not isinstance(named, Mapping) or set(map(str, named)) != {*map(str, range(len(named)))}:
        raise CheckpointError(f"id2label is {shown(named)}; it must number each class from 0.")
    names = [named[str(i)] if str(i) in named else named[i] for i in range(len(named))]
    if not all(isinstance(name, str | int | float) for name in names):
        raise CheckpointError(f"id2label is {shown(named)}; each class must have a name.")
    return tuple(map(str, names))


def classes(file: Json, **parts: Any) -> HeadConfig:
    """A head whose outputs are the file's classes; `parts` are HeadConfig's other axes."""
    names = labels(file)
    problem = file.get("problem_type")
    return HeadConfig(
        n_out=len(names),
        labels=names,
        multi_label=problem == "multi_label_classification",
        regression=problem == "regression",
        **parts,
    )


def require(file: Json, key: str, value: object, what: str) -> None:
    """Refuse a variant that we don't load: `key` must have this value, `what` says what we load."""
    if file[key] != value:
        raise CheckpointError(f"config.json says {key} = {shown(file[key])}; {what}.")


def require_fixed(file: Json, fixed: Json, name: str) -> None:
    """Refuse other values of the switches that change a model, and that all of its kind share."""
    for key, value in fixed.items():
        require(file, key, value, f"for {name}, only {value!r} is supported")


def chosen(file: Json, key: str, known: Mapping[str, Any]) -> Any:
    """What stands for the file's choice; one that is not there is refused."""
    if file[key] not in known:
        *first, last = map(repr, known)
        raise CheckpointError(
            f"{key} is {shown(file[key])}; it must be {', '.join(first)} or {last}."
        )
    return known[file[key]]


def rotary_base(file: Json, kind: str = "", key: str = "rope_theta") -> Any:
    """The base of rotary positions, from rope_parameters or, in older files, from a key of its own.

    `kind` is the kind of layer that is meant, where rope_parameters tells them apart. Positions
    that are scaled for longer texts are refused.
    """
    newer = file.get("rope_parameters") or {}
    newer = (newer.get(kind) or {}) if kind else newer
    said = {**newer, **(file.get("rope_scaling") or {})}
    scaling = said.get("rope_type", said.get("type", "default"))
    if scaling != "default":
        raise CheckpointError(
            f"config.json scales rotary positions by {shown(scaling)}; for this model, only "
            "unscaled ones are supported."
        )
    return said.get("rope_theta", file[key])
