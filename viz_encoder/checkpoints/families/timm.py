"""timm's ViTs (Wightman, 2019, doi:10.5281/zenodo.4414861): sizes are read off the tensors."""

import math
from collections.abc import Mapping
from reprlib import repr as shown
from typing import Any

from torch import Tensor

from viz_encoder.checkpoints.family import Family, Json, Shapes
from viz_encoder.checkpoints.picture import average_classes, join_tokens, patches, registers
from viz_encoder.config import Activation, EncoderConfig, HeadConfig, HeadPool, NormPlacement, Task
from viz_encoder.errors import CheckpointError

POOL, KINDS = ("q", "kv", "proj", "norm", "mlp.fc1", "mlp.fc2"), ("weight", "bias")
POOLED = "heads.pool.probe."
POOLS = ("token", "avg", "map")  # inputs of a classifier; None if unspecified
WRAPPED = "timm_model."  # put there by transformers
KNOWN = ("vit_", "deit_", "deit3_", "flexivit_", "eva_large_")
SIXTEEN = (1152, 1280, 1408, 1664)  # widths with 16 heads, where others have heads of 64
# Architectures that approximate GELU by tanh; their tensors look like those that do not.
BY_TANH = ("patch32_siglip", "so400m_patch16_siglip", "giantopt_patch16_siglip",
           "large_patch16_siglip_512", "large_patch16_siglip_gap_512")  # fmt: skip
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
NEEDED = ("patch_embed.proj.weight", "pos_embed", "blocks.0.mlp.fc1.weight",
          "blocks.0.mlp.fc2.weight", "blocks.0.attn.qkv.weight")  # fmt: skip


def _claims(file: Json) -> bool:
    """Files of the hub name an architecture, such as vit_base_patch16_224, and no model_type."""
    named = file.get("architecture")
    return isinstance(named, str) and named.startswith(KNOWN)


def _complete(file: Json, shapes: Shapes) -> Json:
    """The file, with what the tensors' shapes tell and how pictures are prepared."""
    found = {name.removeprefix(WRAPPED): shape for name, shape in shapes.items()}
    ranks = {name: len(found.get(name, ())) for name in NEEDED}
    if not _claims(file) or list(ranks.values()) != [4, 3, 2, 2, 2] or 0 in found[NEEDED[0]]:
        raise CheckpointError(
            f"timm's {shown(file.get('architecture'))} is not a plain ViT with learned positions, "
            "the only ones of timm that we load."
        )
    prepared = file.get("pretrained_cfg", file)
    prepared = prepared if isinstance(prepared, Mapping) else {}
    told = {**file, "tensors": found, "prepared": prepared}
    grid = _grid(told)
    size = found["patch_embed.proj.weight"][2]
    return {**told, "grid": grid, "image": _image(prepared, (grid[0] * size, grid[1] * size))}


def _grid(file: Json) -> tuple[int, int]:
    """Rows and columns of the position table, which may hold the prefix tokens too."""
    rows, n_prefix = file["tensors"]["pos_embed"][1], len(_prefix(file))
    size = file["tensors"]["patch_embed.proj.weight"][2]
    read = file["prepared"].get("input_size")
    if isinstance(read, list) and len(read) == 3 and all(isinstance(n, int) for n in read):
        grid = read[1] // size, read[2] // size
        if grid[0] * grid[1] in (rows, rows - n_prefix) and min(grid) > 0:
            return grid
    for n_patches in (rows - n_prefix, rows):
        side = math.isqrt(max(n_patches, 0))
        if side and side * side == n_patches:
            return side, side
    raise CheckpointError(f"The {rows:,} rows of pos_embed are not a grid of patches.")


def _image(prepared: Json, size: tuple[int, int]) -> dict[str, Any]:
    """timm's image preprocessing for this model, as ImageReader settings."""
    image: dict[str, Any] = {name: prepared.get(name, usual) for name, usual in IMAGENET.items()}
    image["resample"] = FILTERS.get(str(prepared.get("interpolation")), FILTERS["bicubic"])
    share = prepared.get("crop_pct", 0.875)
    share = share if isinstance(share, int | float) and 0.1 <= share <= 1 else 0.875
    larger = tuple(int(side / share) for side in size)
    squashed = prepared.get("crop_mode") == "squash"
    return {**image, "fit": "crop", "resized": larger if squashed else larger[:1]}


def _prefix(file: Json) -> tuple[str, ...]:
    found = file["tensors"]
    named = (("cls_token", "[CLS]"), ("dist_token", "[DIST]"))
    count = math.prod(found["reg_token"][:-1]) if "reg_token" in found else 0
    return (*(token for name, token in named if name in found), *registers(count))


def _n_heads(file: Json, width: int) -> int:
    given = (file.get("model_args") or {}).get("num_heads")
    if given is not None:
        return given
    named = file["architecture"]
    if width in SIXTEEN or "giantopt" in named or named.startswith("vit_base_patch16_gap_"):
        return 16
    return width // 64


def _activation(named: str, gated: bool) -> Activation:
    if gated:
        return Activation.SILU
    if "quickgelu" in named:
        return Activation.QUICK_GELU
    return Activation.GELU_TANH if any(part in named for part in BY_TANH) else Activation.GELU


def _config(file: Json) -> EncoderConfig:
    found, named = file["tensors"], file["architecture"]
    width, n_channels, *size = found["patch_embed.proj.weight"]
    middle = found["blocks.0.mlp.fc2.weight"][1]
    gated = found["blocks.0.mlp.fc1.weight"][0] == 2 * middle
    clip = "norm_pre.weight" in found
    biases = {"q": "attn.qkv", "k": "attn.qkv", "v": "attn.qkv", "o": "attn.proj"}
    unbiased = [part for part, name in biases.items() if f"blocks.0.{name}.bias" not in found]
    sides = tuple(count * size[0] for count in file["grid"])
    return EncoderConfig(
        n_layers=1 + max(int(name.split(".")[1]) for name in found if name.startswith("blocks.")),
        n_heads=_n_heads(file, width),
        d_model=width,
        d_ff=middle,
        **patches({"patch_size": size, "image_size": sides, "num_channels": n_channels}),
        prefix=_prefix(file),
        antialias=True,
        norm_placement=NormPlacement.PRE,
        norm_eps=1e-5 if clip else 1e-6,
        embed_norm=clip,
        final_norm="norm.weight" in found,
        activation=_activation(named, gated),
        gated=gated,
        unbiased=(*unbiased, *(() if "patch_embed.proj.bias" in found else ("patch",))),
        dropout=0.0,
        prediction_heads=_heads(file),
    )


def _heads(file: Json) -> tuple[HeadConfig, ...]:
    """Attention pooling (SigLIP's) and the classifier, unless it reads what we do not compute."""
    found = file["tensors"]
    mapped = "attn_pool.latent" in found
    if mapped and not _probed(found):
        return ()
    pooler = (HeadConfig(Task.POOL, HeadPool.PROBE),) if mapped else ()
    said = (file.get("model_args") or {}).get("global_pool", file.get("global_pool"))
    if "head.weight" not in found or said not in (None, *POOLS):
        return pooler
    pool = HeadPool.CLS
    if mapped:
        pool = HeadPool.PROBE
    elif "head_dist.weight" in found:
        pool = HeadPool.CLS_DIST
    elif "fc_norm.weight" in found or "cls_token" not in found or said == "avg":
        pool = HeadPool.MEAN
    n_out = found["head.weight"][0]
    names = file.get("label_names")
    if not isinstance(names, list) or len(names) != n_out:
        names = [f"LABEL_{number}" for number in range(n_out)]
    normed = "fc_norm.weight" in found
    named = tuple(map(str, names))
    return (*pooler, HeadConfig(Task.CLASSIFY, pool, norm=normed, n_out=n_out, labels=named))


def _probed(found: Shapes) -> bool:
    """Whether attention pooling is made as a block is: of its widths and biases, and one query."""
    names = {name for name in found if name.startswith("attn_pool.")}
    known = {"attn_pool.latent", *(f"attn_pool.{part}.{kind}" for part in POOL for kind in KINDS)}
    alike = all(
        found.get(f"attn_pool.{name}.weight") == found.get(f"blocks.0.{name}.weight")
        for name in ("mlp.fc1", "mlp.fc2")
    )
    biased = ("attn_pool.q.bias" in found) == ("blocks.0.attn.qkv.bias" in found)
    return names <= known and found["attn_pool.latent"][:-1] == (1, 1) and alike and biased


def _adapt(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Split gate and up, which share timm's fc1; leave a head out if we do not have it."""
    pools = {str(head.task): head.pool for head in config.prediction_heads}
    kept = {
        name: tensor
        for name, tensor in tensors.items()
        if not name.startswith("heads.") or name.split(".")[1] in pools
    }
    if pools.get("classify") is HeadPool.PROBE:  # one pooling, which both heads read
        shared = [name for name in kept if name.startswith(POOLED)]
        kept |= {name.replace(POOLED, "heads.classify.probe."): kept[name] for name in shared}
    if config.gated:
        for name in [name for name in kept if ".ff.up." in name]:
            halves = kept[name].chunk(2)
            kept[name.replace(".up.", ".gate.")], kept[name] = halves[0], halves[-1]
    return average_classes(join_tokens(kept, config, bare=config.prefix))


FAMILY = Family(
    model_types=("timm_wrapper",),
    defaults={},
    config=_config,
    claims=_claims,
    complete=_complete,
    optional_prefixes=(WRAPPED,),
    # ls1 and ls2 are called gamma on disk, which is read as an old name of a weight.
    tensors="""
        cls_token                  prefix.cls
        dist_token                 prefix.dist
        reg_token                  prefix.reg
        patch_embed.proj.*         embed.tokens.patch.*
        pos_embed                  embed.position
        norm_pre.*                 embed.norm.*
        blocks.#.norm1.*           layers.#.attn_norm.*
        blocks.#.attn.qkv.*        layers.#.attn.q|k|v.*
        blocks.#.attn.proj.*       layers.#.attn.o.*
        blocks.#.ls1.weight        layers.#.attn.o.scale
        blocks.#.norm2.*           layers.#.ff_norm.*
        blocks.#.mlp.fc1.*         layers.#.ff.up.*
        blocks.#.mlp.fc2.*         layers.#.ff.down.*
        blocks.#.ls2.weight        layers.#.ff.down.scale
        norm.*                     final_norm.*
        fc_norm.*                  heads.classify.norm.*
        head.*                     heads.classify.out.*
        head_dist.*                heads.classify.dist.*
        attn_pool.latent           heads.pool.probe.query
        attn_pool.q.*              heads.pool.probe.q.*
        attn_pool.kv.*             heads.pool.probe.k|v.*
        attn_pool.proj.*           heads.pool.probe.o.*
        attn_pool.norm.*           heads.pool.probe.norm.*
        attn_pool.mlp.fc1.*        heads.pool.probe.ff.up.*
        attn_pool.mlp.fc2.*        heads.pool.probe.ff.down.*
        attn_pool.*                -  attention pooling
    """,
    adapt=_adapt,
)
FAMILIES = (FAMILY,)
