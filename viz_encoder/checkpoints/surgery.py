"""Tensor surgery while loading, so that the encoder stays one plain design for all families."""

from torch import Tensor

from viz_encoder.config import EncoderConfig
from viz_encoder.config.head import probe_stems
from viz_encoder.errors import KeyMismatch
from viz_encoder.model.saving import ALL, DECODER, WORDS


def share_layers(tensors: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Use one layer's tensors for every layer, sharing memory (ALBERT)."""
    shared = {name: tensor for name, tensor in tensors.items() if name.startswith(ALL)}
    kept = {name: tensor for name, tensor in tensors.items() if name not in shared}
    if shared and any(name.startswith("layers.") for name in kept):
        raise KeyMismatch(
            "Some tensors belong to one layer and others to all layers; save the model again."
        )
    for name, tensor in shared.items():
        part = name.removeprefix(ALL)
        kept |= {f"layers.{number}.{part}": tensor for number in range(n_layers)}
    return kept


def fold_scales(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """LayerScale (Touvron et al., 2021, arXiv:2103.17239) multiplied into the linear before it."""
    folded = dict(tensors)
    stems = [name.removesuffix(".scale") for name in tensors if name.endswith(".scale")]
    _require_scales(tensors, stems)
    for stem in stems:
        scale = folded.pop(f"{stem}.scale")
        weight, bias = folded.get(f"{stem}.weight"), folded.get(f"{stem}.bias")
        if weight is None or weight.ndim != 2 or scale.shape != weight.shape[:1]:
            raise KeyMismatch(f"{stem}.weight does not fit its scale of {tuple(scale.shape)}.")
        folded[f"{stem}.weight"] = weight * scale[:, None]
        if bias is not None and bias.shape == scale.shape:  # another shape is refused later
            folded[f"{stem}.bias"] = bias * scale
    return folded


def _require_scales(tensors: dict[str, Tensor], stems: list[str]) -> None:
    """If one layer's part (such as attn.o) has a scale, require it in every layer."""
    parts = {stem.split(".", 2)[-1] for stem in stems}
    linears = [name.removesuffix(".weight") for name in tensors if name.endswith(".weight")]
    for stem in linears:
        if stem.split(".", 2)[-1] in parts and stem not in stems:
            raise KeyMismatch(f"{stem} lacks its scale, which other layers have.")


def tie(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Reuse tensors stored once: a decoder that is the word table (Press & Wolf, 2017), a probe.

    Of two heads that look at the tokens by one learned query, the first holds it.
    """
    stems = probe_stems(config.prediction_heads)
    for twin in stems[1:]:
        if not any(name.startswith(twin) for name in tensors):
            held = [name for name in tensors if name.startswith(stems[0])]
            tensors = tensors | {name.replace(stems[0], twin): tensors[name] for name in held}
    masked = any(head.task == "masked" for head in config.prediction_heads)
    if masked and DECODER not in tensors and WORDS in tensors:
        return {**tensors, DECODER: tensors[WORDS]}
    return tensors


def repeat_key_values(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Grouped-query attention (Ainslie et al., 2023, arXiv:2305.13245) as one key a query head."""
    repeated = dict(tensors)
    width = config.n_heads * config.d_head
    for name, tensor in tensors.items():
        if ".attn.k." in name or ".attn.v." in name:
            few, left = divmod(tensor.shape[0], config.d_head) if tensor.ndim else (0, 0)
            if tensor.shape[:1] != (width,) and few and not left and config.n_heads % few == 0:
                heads = tensor.unflatten(0, (few, config.d_head))
                group = config.n_heads // few
                repeated[name] = heads.repeat_interleave(group, dim=0).flatten(0, 1)
    return repeated
