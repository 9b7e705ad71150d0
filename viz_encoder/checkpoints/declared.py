"""Reads what sentence-transformers modules declare, or explains why it cannot."""

from collections.abc import Callable, Mapping, Sequence
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from types import MappingProxyType

from torch import Tensor

from viz_encoder.checkpoints.family import Json as Json
from viz_encoder.checkpoints.family import Shapes as Shapes
from viz_encoder.errors import CheckpointError
from viz_encoder.model.declared import (
    ACTIVATIONS,
    POOLINGS,
    Declared,
    DeclaredStep,
    Dense,
    LayerNorm,
    Normalize,
)

MAX_PROMPTS, MAX_LETTERS = 1_000, 10_000
FLAGS = {  # in older files: one flag per pooling
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# Settings that do not affect any number we compute.
HARMLESS = {"torch_dtype", "dtype", "attn_implementation", "trust_remote_code", "use_safetensors"}
CARRIED = (
    *("model_args", "model_kwargs", "config_args", "config_kwargs"),
    *("tokenizer_args", "processor_kwargs", "processing_kwargs"),
)
Tensors = Callable[[Shapes], dict[str, Tensor]]  # loads these tensors, or raises
Module = tuple[str, Json, Tensors]  # its kind, its settings, its tensors


def declared(
    modules: Sequence[Module],
    settings: Json,
    prompts: Json,
    d_model: int,
    most: int,
    limit: object = None,
) -> Declared:
    """The declaration of modules after the encoder: each its kind, its settings, its tensors.

    Args:
        modules: what follows the encoder, in order.
        settings: of the encoder (sentence_bert_config.json).
        prompts: of the whole (config_sentence_transformers.json).
        d_model: numbers a token.
        most: tokens that the model can read.
        limit: tokens at which texts are cut; None = most.

    Raises:
        CheckpointError: something that is not computed here.
    """
    _require_plain(settings, prompts)
    if not modules or modules[0][0] != "Pooling":
        found = shown(modules[0][0]) if modules else "nothing"
        raise CheckpointError(
            f"its encoder is followed by {found}; only a Pooling module is supported there"
        )
    methods, include_prompt = _pooling(modules[0][1], d_model)
    steps, width = [], len(methods) * d_model
    for kind, about, tensors in modules[1:]:
        step = _step(kind, about, tensors, width)
        steps += [step] if step is not None else []
        width = step.weight.shape[0] if isinstance(step, Dense) else width
    named, default = _prompts(prompts)
    return Declared(
        methods,
        tuple(steps),
        include_prompt,
        named,
        default,
        _limit(limit, most),
        lower_case=settings.get("do_lower_case") is True,
        similarity=str(prompts.get("similarity_fn_name") or "")[:40],
    )


def _require_plain(settings: Json, prompts: Json) -> None:
    """Refuse settings under which the encoder or its vectors would be others."""
    kind = prompts.get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise CheckpointError(f"it is a {shown(kind)}, which does not make one vector from a text")
    for key, plain in (
        ("transformer_task", "feature-extraction"),
        ("module_output_name", "token_embeddings"),
    ):
        if settings.get(key, plain) != plain:
            raise CheckpointError(
                f"its {key} is {shown(settings[key])}; only {plain!r} is supported"
            )
    output = settings.get("modality_config") or {"text": {}}
    text = output.get("text") if isinstance(output, Mapping) else None
    if not isinstance(text, Mapping) or "message" in output:
        raise CheckpointError("its modality_config is not that of a plain text model")
    if text.get("method_output_name", "last_hidden_state") != "last_hidden_state":
        raise CheckpointError("it pools something other than the last hidden state")
    for key in CARRIED:
        carried = settings.get(key) or {}
        odd = set(carried) - HARMLESS if isinstance(carried, Mapping) else {str(carried)}
        if odd:
            raise CheckpointError(f"its settings carry {key} with {shown(sorted(odd))}")
    if settings.get("query_expansion"):
        raise CheckpointError("it pads its queries to a fixed length (query_expansion)")


def _pooling(about: Json, d_model: int) -> tuple[tuple[str, ...], bool]:
    """The poolings, and whether a prompt's own tokens take part."""
    width = about.get("embedding_dimension", about.get("word_embedding_dimension"))
    if width != d_model:
        raise CheckpointError(
            f"its Pooling reads {shown(width)} numbers per token; the encoder gives {d_model}"
        )
    on = [mode for flag, mode in FLAGS.items() if about.get(flag)]
    given = about.get("pooling_mode", on or "mean")
    modes = [given] if isinstance(given, str) else given
    modes = list(modes) if isinstance(modes, tuple) else modes
    odd = [key for key in about if key.startswith("pooling_mode_") and key not in FLAGS]
    known = isinstance(modes, list) and modes and all(m in POOLINGS for m in map(str, modes))
    if odd or not known or len(modes) > len(POOLINGS):
        raise CheckpointError(
            f"its Pooling is {shown(odd or given)}; the supported ones are {', '.join(POOLINGS)}"
        )
    include = about.get("include_prompt", True)
    if not isinstance(include, bool):
        raise CheckpointError(f"its include_prompt is {shown(include)}; it must be true or false")
    return tuple(modes), include


def _step(kind: str, about: Json, tensors: Tensors, width: int) -> DeclaredStep | None:
    """Operation on the pooled vector; None for Dropout, which does nothing at inference."""
    for key in ("module_input_name", "module_output_name"):
        if about.get(key) not in (None, "sentence_embedding"):
            raise CheckpointError(f"its {kind} has the {key} {shown(about[key])}")
    match kind:
        case "Dropout":
            return None
        case "Normalize":
            return Normalize()
        case "LayerNorm":
            found = tensors({"norm.weight": (width,), "norm.bias": (width,)})
            return LayerNorm(found["norm.weight"], found["norm.bias"])
        case "Dense":
            return _dense(about, tensors, width)
    raise CheckpointError(f"it has the module {shown(kind)}, which is not supported")


def _dense(about: Json, tensors: Tensors, width: int) -> Dense:
    n_in, n_out = about.get("in_features"), about.get("out_features")
    bias, residual = about.get("bias", True), about.get("use_residual", False)
    if n_in != width or not isinstance(n_out, int) or n_out < 1:
        raise CheckpointError(
            f"its Dense maps {shown(n_in)} to {shown(n_out)} dimensions, but its input has {width}"
        )
    name = about.get("activation_function", "torch.nn.modules.activation.Tanh")
    package, _, activation = str(name).rpartition(".")
    if package.partition(".")[0] != "torch" or activation not in ACTIVATIONS:
        raise CheckpointError(
            f"its Dense has the activation {shown(name)}; the supported ones are "
            f"{', '.join(ACTIVATIONS)}"
        )
    mapped = bool(residual) and n_in != n_out
    shapes: dict[str, tuple[int, ...]] = {"linear.weight": (n_out, width)}
    shapes |= {"linear.bias": (n_out,)} if bias else {}
    shapes |= {"residual.weight": (n_out, width)} if mapped else {}
    found = tensors(shapes)
    return Dense(
        found["linear.weight"],
        found.get("linear.bias"),
        activation,
        bool(residual),
        found.get("residual.weight"),
    )


def _prompts(about: Json) -> tuple[Mapping[str, str], str | None]:
    named, default = about.get("prompts") or {}, about.get("default_prompt_name")
    if not isinstance(named, Mapping) or len(named) > MAX_PROMPTS:
        raise CheckpointError(f"its prompts are {shown(named)}; each must be a text with a name")
    kept = {name: text for name, text in named.items() if text is not None}
    for text in (*kept, *kept.values()):
        halves = isinstance(text, str) and any("\ud800" <= letter <= "\udfff" for letter in text)
        if not isinstance(text, str) or len(text) > MAX_LETTERS or halves:
            raise CheckpointError(f"it has the prompt {shown(text)}; it must be a text")
    if default is not None and default not in kept:
        raise CheckpointError(f"its default prompt {shown(default)} is not one of its prompts")
    return MappingProxyType(kept), default if default is not None and kept[default] else None


def _limit(limit: object, most: int) -> int:
    if limit is None:
        return most
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise CheckpointError(f"its max_seq_length is {shown(limit)}; it must be a whole number")
    return min(limit, most)
