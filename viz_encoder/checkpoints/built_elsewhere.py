"""Models in memory of transformers, timm and torch: what their files would say."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.checkpoints.hub_faults import is_hub_id
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError, UnknownFamily
from viz_encoder.model.block import ACTIVATIONS

OF_TRANSFORMERS = ("torch", "transformers", "apex")  # apex: norms of T5, where it is installed
OF_TORCH = ("torch",)
OWN = ("torch", "viz_encoder")


def require_known_code(model: nn.Module, packages: tuple[str, ...]) -> None:
    """Refuse a module of another package, and one whose forward was replaced.

    Raises:
        UnknownFamily: the module, by its name.
    """
    for name, module in model.named_modules():
        package, kind = type(module).__module__, type(module).__name__
        replaced = "forward" in vars(module) and not hasattr(module, "_hf_hook")  # moves tensors
        if package.partition(".")[0] in packages and not replaced:
            continue
        where = f"its module {name}" if name else "the model"
        code = "a forward of its own" if replaced else f"code of {package}"
        raise UnknownFamily(
            f"{type(model).__name__} cannot be loaded, because only weights are read: {where} "
            f"({kind}) runs {code}."
        )


def is_of_torch(model: nn.Module) -> bool:
    """Whether it is torch's own stack of its own layers."""
    layers = getattr(model, "layers", ())
    return (
        isinstance(model, nn.TransformerEncoder)
        and len(layers) > 0
        and all(isinstance(layer, nn.TransformerEncoderLayer) for layer in layers)
    )


def torch_file(model: Any) -> dict[str, Any]:
    """The settings of its first layer; a layer of others gives another output, which is refused."""
    first = model.layers[0]
    if "linear1.weight" not in first.state_dict():
        raise CheckpointError(
            "The weight of layers.0.linear1 is computed from other tensors as the model runs, as "
            "with weight norm. vz.record(model, …) watches the model."
        )
    return {
        "model_type": "torch_transformer_encoder",
        "nhead": first.self_attn.num_heads,
        "norm_first": first.norm_first,
        "activation": activation_name(first.activation),
        "layer_norm_eps": first.norm1.eps,
    }


def activation_name(activation: Any) -> str:
    """Name of an activation as transformers writes it, for F.gelu and nn.GELU() alike."""
    by_tanh = getattr(activation, "approximate", "none") == "tanh"
    name = getattr(activation, "__name__", type(activation).__name__).lower()
    return "gelu_pytorch_tanh" if by_tanh and name == "gelu" else name


RECORD = "vz.record(model, …) watches it as it runs."
PROBE = (-4.0, 4.0, 81)


def is_of_timm(model: nn.Module) -> bool:
    """Whether it has an architecture's name, patches and blocks as timm's ViTs do."""
    said = _said(model)
    return isinstance(said.get("architecture"), str)


def timm_file(model: nn.Module) -> dict[str, Any]:
    """config.json, as timm writes it; what can be asked of the modules is not guessed."""
    said = _said(model)
    size = getattr(getattr(model, "patch_embed", None), "img_size", None)
    channels = said.get("input_size", (3,))[0]
    if isinstance(size, tuple) and len(size) == 2:
        said["input_size"] = (channels, *size)
    file = {
        "architecture": said["architecture"],
        "global_pool": getattr(model, "global_pool", said.get("global_pool")),
        "model_args": {"num_heads": _first(model, "attn", "num_heads")},
        "pretrained_cfg": said,
    }
    return dict(json.loads(json.dumps(file, default=str)))


def require_as_built(model: nn.Module) -> Callable[[EncoderConfig], None]:
    """Check settings that tensors do not show, activation and eps, against the modules."""

    def check(config: EncoderConfig) -> None:
        activation = _first(model, "mlp", "act")
        x = torch.linspace(*PROBE)
        if activation is not None:
            with torch.no_grad():
                theirs, ours = activation(x), ACTIVATIONS[config.activation](x)
            if not torch.allclose(theirs, ours, atol=1e-6):
                raise CheckpointError(
                    f"This model's activation is {type(activation).__name__}, but models of "
                    f"its architecture have {config.activation}; {RECORD}"
                )
        eps = _first(model, "norm1", "eps")
        if eps is not None and eps != config.norm_eps:
            raise CheckpointError(
                f"This model's norms have eps {eps:g}, but models of its architecture have "
                f"{config.norm_eps:g}; {RECORD}"
            )

    return check


def _said(model: nn.Module) -> dict[str, Any]:
    """Its pretrained_cfg, a dict or an object that becomes one."""
    said = getattr(model, "pretrained_cfg", None)
    to_dict = getattr(said, "to_dict", None)
    said = to_dict() if callable(to_dict) else said
    return dict(said) if isinstance(said, Mapping) else {}


def _first(model: nn.Module, *path: str) -> Any:
    found: Any = next(iter(getattr(model, "blocks", ())), None)
    for name in path:
        found = getattr(found, name, None)
    return found


ADAPTED = "This model has adapters (PEFT, such as LoRA), whose weights are separate from its own; "
MERGE = "give what model.merge_and_unload() returns."
WATCH = "vz.record(model, …) watches it as it runs."
QUANTIZED = "This model's weights are quantized; give it as it was before, in floating point."


def is_of_transformers(model: nn.Module) -> bool:
    """Whether it has a config as transformers' models do."""
    config = getattr(model, "config", None)
    return hasattr(config, "model_type") and callable(getattr(config, "to_json_string", None))


def require_plain(model: nn.Module) -> None:
    """Refuse weights that are not the model's own as they are: adapters, quantized ones.

    Raises:
        CheckpointError: either of these.
    """
    adapted = any(".lora_" in name or ".base_layer." in name for name in model.state_dict())
    if adapted or type(model).__module__.startswith("peft."):
        merges = callable(getattr(model, "merge_and_unload", None))
        raise CheckpointError(ADAPTED + (MERGE if merges else WATCH))
    packed = not all(isinstance(part, Tensor) for part in model.state_dict().values())
    if packed or getattr(getattr(model, "config", None), "quantization_config", None) is not None:
        raise CheckpointError(QUANTIZED)


def file_of(model: nn.Module) -> dict[str, Any]:
    """The config.json that save_pretrained would write."""
    file: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=False))  # type: ignore[union-attr, operator]
    file.pop("auto_map", None)  # the code that runs is transformers' own, as was checked
    return {**file, "architectures": [type(model).__name__]}


def tensors_of(model: nn.Module) -> Mapping[str, Tensor]:
    """The state dict under the names that save_pretrained would write.

    Since version 5 some models have other names in memory; transformers itself turns them back.
    """
    state: dict[str, Tensor] = model.state_dict()
    turn_back = getattr(
        sys.modules.get("transformers.core_model_loading"), "revert_weight_conversion", None
    )
    if turn_back is None:
        return state
    try:
        return dict(turn_back(model, state))
    except Exception as fault:  # private code of another package
        raise CheckpointError(
            f"This version of transformers cannot name the weights as on disk ({fault}); write "
            "model.save_pretrained(folder) and load the folder."
        ) from fault


def name_of(model: nn.Module) -> str:
    """The hub's name or the folder's that it came from, where it says one; else its class."""
    said = getattr(model, "name_or_path", "")
    if not isinstance(said, str) or not said:
        return type(model).__name__
    return said if is_hub_id(said) else Path(said).name or type(model).__name__
