"""torch.nn.TransformerEncoder (Vaswani et al., 2017, arXiv:1706.03762): its state dict as a file.

Save it with safetensors.torch.save_file(encoder.state_dict(), "model.safetensors"), and write a
config.json beside it with what the weights don't tell: {"model_type": "torch_transformer_encoder",
"nhead": 4, "norm_first": false, "activation": "relu", "layer_norm_eps": 1e-5}. All but the first
two may be left out where they are as torch has them.
"""

from collections.abc import Mapping

from torch import Tensor, nn

from viz_encoder.checkpoints.family import Family, Json, Shapes, activation, without_bias
from viz_encoder.config import Embedding, EncoderConfig, NormPlacement, Positions
from viz_encoder.errors import CheckpointError

FIRST = "layers.0.linear1.weight"
BIASES = {"bias": ("q", "k", "v", "o", "up", "down"), "norm_bias": ("norm",)}


def _complete(file: Json, shapes: Shapes) -> Json:
    """The sizes, from the tensors' shapes."""
    if len(shapes.get(FIRST, ())) != 2:
        raise CheckpointError(
            f"The file has no matrix {FIRST}; save the state dict of the nn.TransformerEncoder "
            "itself, without a prefix."
        )
    if "nhead" not in file:
        raise CheckpointError(
            'config.json has no "nhead"; the weights do not tell the number of heads, so write it.'
        )
    wide, width = shapes[FIRST]
    numbers = {name.split(".")[1] for name in shapes if name.startswith("layers.")}
    return {
        **file,
        "num_layers": len(numbers),
        "d_model": width,
        "dim_feedforward": wide,
        "bias": "layers.0.linear1.bias" in shapes,
        "norm_bias": any("norm" in name and name.endswith(".bias") for name in shapes),
        "norm": "norm.weight" in shapes,
    }


def _config(file: Json) -> EncoderConfig:
    if not isinstance(file["norm_first"], bool):
        raise CheckpointError("norm_first in config.json is not valid; it must be true or false.")
    return EncoderConfig(
        n_layers=file["num_layers"],
        n_heads=file["nhead"],
        d_model=file["d_model"],
        d_ff=file["dim_feedforward"],
        embedding=Embedding.VECTOR,
        positions=Positions.NONE,
        norm_placement=NormPlacement.PRE if file["norm_first"] else NormPlacement.POST,
        norm_eps=file["layer_norm_eps"],
        embed_norm=False,
        final_norm=file["norm"],
        activation=activation(file["activation"]),
        unbiased=without_bias(file, BIASES),
    )


def _adapt(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Layers without biases may end in a norm with one, or the other way round: 0 for those."""
    filled = dict(tensors)
    for part in ("layers.", "final_norm."):
        norms = [n for n in tensors if n.startswith(part) and n.endswith("norm.weight")]
        biases = [name.replace("weight", "bias") for name in norms]
        if config.has_bias("norm") and not any(name in tensors for name in biases):
            for name, bias in zip(norms, biases, strict=True):
                filled[bias] = tensors[name].new_zeros(tensors[name].shape)
    return filled


def _run(model: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    """Run on vectors "batch token d_model"; torch defaults to tokens first."""
    (x,) = inputs.values()
    if model.layers[0].self_attn.batch_first:  # type: ignore[index, union-attr]
        states: Tensor = model(x)
        return states
    states = model(x.transpose(0, 1))
    return states.transpose(0, 1)


FAMILY = Family(
    model_types=("torch_transformer_encoder",),
    defaults={"norm_first": False, "activation": "relu", "layer_norm_eps": 1e-5},
    config=_config,
    complete=_complete,
    adapt=_adapt,
    run=_run,
    tensors="""
        layers.#.self_attn.in_proj_weight    layers.#.attn.q|k|v.weight
        layers.#.self_attn.in_proj_bias      layers.#.attn.q|k|v.bias
        layers.#.self_attn.out_proj.*        layers.#.attn.o.*
        layers.#.linear1.*                   layers.#.ff.up.*
        layers.#.linear2.*                   layers.#.ff.down.*
        layers.#.norm1.*                     layers.#.attn_norm.*
        layers.#.norm2.*                     layers.#.ff_norm.*
        norm.*                               final_norm.*
    """,
)
FAMILIES = (FAMILY,)
