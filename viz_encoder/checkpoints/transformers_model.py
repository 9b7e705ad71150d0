"""A model of transformers in memory: what its folder would hold; transformers is not imported."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from viz_encoder.checkpoints.hub_faults import is_hub_id
from viz_encoder.errors import CheckpointError

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
