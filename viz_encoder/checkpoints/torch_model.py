"""A torch.nn.TransformerEncoder in memory: what its config.json would say beside its weights."""

from typing import Any

from torch import nn

from viz_encoder.errors import CheckpointError


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
