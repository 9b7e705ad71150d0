"""timm's ViTs, against a plain reference written here: timm itself asks for torchvision."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.checkpoints.parity import Case, Expected
from viz_encoder.inputs import Inputs

WIDTH, N_HEADS, N_LAYERS, D_FF = 128, 2, 3, 72  # heads of 64, as timm has them
PATCH, GRID, N_CLASSES = 4, 4, 5
PICTURES = ((16, 16), (24, 24), (12, 28), (8, 8))
ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
}


@dataclass(frozen=True)
class Axes:
    """What timm's architectures of one width differ in."""

    activation: str = "gelu"
    n_heads: int = N_HEADS
    cls: bool = True
    dist: bool = False
    n_registers: int = 0
    embed_class: bool = True  # prefix tokens have positions
    clip: bool = False  # a norm before the blocks, no bias of the patches, and eps 1e-5
    scaled: bool = False  # LayerScale
    gated: bool = False
    qkv_bias: bool = True
    pool: str = "token"
    d_pool: int = D_FF  # of the feed-forward network in attention pooling
    fc_norm: bool = False
    head: bool = True
    file: Mapping[str, Any] = field(default_factory=dict)  # more of config.json

    @property
    def eps(self) -> float:
        return 1e-5 if self.clip else 1e-6


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class Block(nn.Module):
    """Pre-norm attention and feed-forward network, under timm's names."""

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self.axes = axes
        self.norm1, self.norm2 = (nn.LayerNorm(WIDTH, eps=axes.eps) for _ in range(2))
        self.attn = nn.Module()
        self.attn.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=axes.qkv_bias)
        self.attn.proj = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Module()
        self.mlp.fc1 = nn.Linear(WIDTH, D_FF * (2 if axes.gated else 1))
        self.mlp.fc2 = nn.Linear(D_FF, WIDTH)
        self.ls1, self.ls2 = (Scale() if axes.scaled else nn.Identity() for _ in range(2))

    def forward(self, x: Tensor, maps: list[Tensor]) -> Tensor:
        n_batch, n_tokens, _ = x.shape
        qkv = self.attn.qkv(self.norm1(x)).reshape(n_batch, n_tokens, 3, self.axes.n_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        maps.append((q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)).softmax(dim=-1))
        mixed = (maps[-1] @ v).transpose(1, 2).reshape(n_batch, n_tokens, -1)
        x = x + self.ls1(self.attn.proj(mixed))
        middle, act = self.mlp.fc1(self.norm2(x)), ACTIVATIONS[self.axes.activation]
        if self.axes.gated:
            gate, up = middle.chunk(2, dim=-1)
            return x + self.ls2(self.mlp.fc2(act(gate) * up))
        return x + self.ls2(self.mlp.fc2(act(middle)))


class AttentionPool(nn.Module):
    """timm.layers.AttentionPoolLatent of one latent, by torch's own multi-head attention."""

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self.axes = axes
        self.latent = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.q, self.kv = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=axes.eps)
        self.mlp = nn.Module()
        self.mlp.fc1, self.mlp.fc2 = nn.Linear(WIDTH, axes.d_pool), nn.Linear(axes.d_pool, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        found, self.looks = F.multi_head_attention_forward(
            self.latent.expand(len(x), -1, -1).transpose(0, 1), *[x.transpose(0, 1)] * 2,
            WIDTH, self.axes.n_heads, torch.cat([self.q.weight, self.kv.weight]),
            torch.cat([self.q.bias, self.kv.bias]), None, None, False, 0.0,
            self.proj.weight, self.proj.bias,
        )  # fmt: skip
        middle = ACTIVATIONS[self.axes.activation](self.mlp.fc1(self.norm(found)))
        return (found + self.mlp.fc2(middle))[0]


class TimmViT(nn.Module):
    """timm.models.vision_transformer.VisionTransformer with dynamic_img_size."""

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self.axes = axes
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH, bias=not axes.clip)
        counts = {"cls_token": axes.cls, "dist_token": axes.dist, "reg_token": axes.n_registers}
        for name, count in counts.items():
            if count:
                self.register_parameter(name, nn.Parameter(torch.randn(1, int(count), WIDTH)))
        self.n_prefix = sum(map(int, counts.values()))
        self.n_placed = self.n_prefix if axes.embed_class else 0
        self.pos_embed = nn.Parameter(torch.randn(1, self.n_placed + GRID**2, WIDTH))
        norm = partial(nn.LayerNorm, WIDTH, eps=axes.eps)
        self.norm_pre = norm() if axes.clip else nn.Identity()
        self.blocks = nn.ModuleList(Block(axes) for _ in range(N_LAYERS))
        self.norm = nn.Identity() if axes.fc_norm else norm()
        self.fc_norm = norm() if axes.fc_norm else nn.Identity()
        if axes.pool == "map":
            self.attn_pool = AttentionPool(axes)
        if axes.head:
            self.head = nn.Linear(WIDTH, N_CLASSES)
            self.head_dist = nn.Linear(WIDTH, N_CLASSES) if axes.dist else nn.Identity()

    def forward(self, pixels: Tensor) -> Expected:
        x = self.patch_embed.proj(pixels)
        placed, patches = self.pos_embed.split([self.n_placed, GRID**2], dim=1)
        if x.shape[2:] != (GRID, GRID):
            table = patches.reshape(1, GRID, GRID, WIDTH).permute(0, 3, 1, 2)
            table = F.interpolate(table, size=x.shape[2:], mode="bicubic", antialias=True)
            patches = table.permute(0, 2, 3, 1).reshape(1, -1, WIDTH)
        names = ("cls_token", "dist_token", "reg_token")
        tokens = [getattr(self, name) for name in names if hasattr(self, name)]
        prefix = torch.cat(tokens, dim=1) if tokens else x.new_zeros(1, 0, WIDTH)
        prefix = prefix + placed if self.n_placed else prefix
        x = x.flatten(2).transpose(1, 2) + patches
        hidden = [self.norm_pre(torch.cat([prefix.expand(len(x), -1, -1), x], dim=1))]
        maps: list[Tensor] = []
        for block in self.blocks:
            hidden.append(block(hidden[-1], maps))
        output = self.norm(hidden[-1])
        return Expected(tuple(hidden), tuple(maps), output, self.classified(output))

    def classified(self, x: Tensor) -> dict[str, Tensor]:
        if self.axes.pool == "map":
            if self.axes.d_pool != D_FF:  # which is left out
                return {}
            pooled = self.attn_pool(x)
            return {"pool": pooled, **({"classify": self.head(pooled)} if self.axes.head else {})}
        if not self.axes.head:
            return {}
        if self.axes.dist:
            return {"classify": (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2}
        pooled = x[:, self.n_prefix :].mean(dim=1) if self.axes.pool == "avg" else x[:, 0]
        return {"classify": self.head(self.fc_norm(pooled))}


def tensors(model: TimmViT) -> dict[str, Tensor]:
    """The weights, made smaller: over rows of 128, the uneven ones say 0 or 1 in every map."""
    with torch.no_grad():
        for block in model.blocks:
            block.attn.qkv.weight.mul_(0.3)
        if model.axes.pool == "map":
            model.attn_pool.q.weight.mul_(0.3)
            model.attn_pool.kv.weight.mul_(0.3)
    return {name: tensor.contiguous() for name, tensor in model.state_dict().items()}


def save(model: TimmViT, folder: Path, architecture: str) -> TimmViT:
    """A folder as timm pushes it to the hub."""
    axes, names = model.axes, tensors(model)
    save_file(names, folder / "model.safetensors")
    prepared = {"input_size": [3, 16, 16], "interpolation": "bicubic", "crop_pct": 0.9}
    file = {"architecture": architecture, "global_pool": axes.pool, "pretrained_cfg": prepared}
    (folder / "config.json").write_text(json.dumps(file | dict(axes.file)))
    return model


def save_wrapped(model: TimmViT, folder: Path, architecture: str) -> TimmViT:
    """A folder as transformers' TimmWrapperModel saves it."""
    names = {f"timm_model.{name}": tensor for name, tensor in tensors(model).items()}
    save_file(names, folder / "model.safetensors")
    file = {"model_type": "timm_wrapper", "architecture": architecture, "global_pool": "token"}
    (folder / "config.json").write_text(json.dumps(file))
    return model


def see(reference: TimmViT, inputs: Inputs) -> Expected:
    return reference(inputs.values)


def case(architecture: str, wrong: Any = None, saved: Any = save, name: str = "",
         **axes: Any) -> Case:  # fmt: skip
    return Case(
        name or f"timm {architecture}", "timm_wrapper", lambda: TimmViT(Axes(**axes)), see,
        "image", wrong or {}, PICTURES, save=partial(saved, architecture=architecture),
    )  # fmt: skip


CASES = [
    case("vit_tiny_patch4_16", {
        "architecture": "vit_tiny_patch4_clip_quickgelu_16", "model_args": {"num_heads": 4},
        "global_pool": "avg",
    }),
    case("vit_tiny_patch4_16", name="timm in transformers", saved=save_wrapped),
    case("vit_tiny_patch4_dinov2", scaled=True, head=False, qkv_bias=False),
    case("vit_tiny_patch4_reg4_dinov2", scaled=True, n_registers=4, embed_class=False, gated=True,
         activation="silu", head=False),
    case("vit_tiny_patch4_reg4_gap_16", {"architecture": "vit_tiny_patch32_siglip_gap_16"},
         cls=False, n_registers=4, embed_class=False, pool="avg", fc_norm=True),
    case("vit_tiny_patch4_clip_quickgelu_16", {"architecture": "vit_tiny_patch4_clip_16"},
         clip=True, activation="quick_gelu"),
    case("vit_giantopt_patch16_siglip_gap_256", {"architecture": "vit_tiny_patch16_siglip_gap_256"},
         cls=False, activation="gelu_tanh", n_heads=16, pool="avg"),
    case("vit_base_patch16_siglip_256", cls=False, pool="map", head=False),
    case("vit_base_patch16_siglip_256", name="timm SigLIP, 5 labels", cls=False, pool="map"),
    case("vit_base_patch16_siglip_256", name="timm SigLIP, pooled more widely", cls=False,
         pool="map", d_pool=96),
    case("deit_tiny_distilled_patch4_16", dist=True),
    case("deit3_small_patch4_16", embed_class=False, scaled=True),
    case("vit_tiny_patch4_16", name="timm, heads said", n_heads=8,
         file={"model_args": {"num_heads": 8}, "label_names": ["a", "b", "c", "d", "e"]}),
]  # fmt: skip
