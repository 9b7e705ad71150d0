"""Tiny random models of transformers, each called in one way, and the masks that they take."""

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn

from viz_encoder.audit.zoo.models import Around, drawn

WIDE = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = {**WIDE, "num_hidden_layers": 2, "vocab_size": 40, "max_position_embeddings": 128}
GPT2 = {"n_embd": 16, "n_head": 2, "n_layer": 2, "vocab_size": 40, "n_positions": 128}
GPT2 |= {"bos_token_id": 2, "eos_token_id": 2}
PATCH = 4
VIT = {**WIDE, "num_hidden_layers": 2, "image_size": 16, "patch_size": PATCH}
Call = Callable[[nn.Module, Tensor, Any], Any]


def made(seed: int, kind: str, sizes: dict[str, Any], call: Call, attn: str = "sdpa") -> Around:
    """A model of transformers by its kind ("Bert"), called by `call`."""
    config = getattr(hf, f"{kind}Config")(**sizes, attn_implementation=attn)
    model = getattr(hf, f"{kind}Model")
    return drawn(
        seed,
        lambda: Around(model(config), lambda self, x, passed: call(self.inner, x, passed)),
    )


def embedded(model: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    return model(inputs_embeds=x, attention_mask=mask).last_hidden_state


def ones(valid: Tensor) -> Tensor:
    return valid.long()


def added(allowed: Tensor) -> Tensor:
    """Bool "batch query key" as (batch, 1, query, key), 0 = may attend."""
    return torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo().min)[:, None]


def modernbert() -> dict[str, Any]:
    ids = {f"{name}_token_id": 2 for name in ("bos", "eos", "cls", "sep")} | {"pad_token_id": 1}
    return {**TEXT, **ids, "num_hidden_layers": 3, "global_attn_every_n_layers": 3}


def roberta(seed: int) -> Around:
    def call(model: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
        return model(input_ids=ids, attention_mask=mask).last_hidden_state

    return made(seed, "Roberta", {**TEXT, "pad_token_id": 1}, call)


def words(seed: int, batch: int, length: int) -> Tensor:
    """Ids of ordinary words, none of them special."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, 40, (batch, length), generator=generator)


def vit_model(seed: int, call: Call) -> Around:
    """A ViT whose positions are zeros, for a wider picture would stretch them."""
    model = made(seed, "ViT", VIT, call)
    with torch.no_grad():
        model.inner.embeddings.position_embeddings.zero_()
    return model


def vit(model: nn.Module, x: Tensor, **mask: Tensor) -> Tensor:
    """Tokens as patches of a picture one patch high; the rows of its patches."""
    pixels = x.unflatten(-1, (3, PATCH, PATCH)).permute(0, 2, 3, 1, 4).flatten(-2)
    out = model(pixel_values=pixels, interpolate_pos_encoding=True, **mask)
    return out.last_hidden_state[:, 1:]


def with_cls(mask: Tensor) -> Tensor:
    return torch.cat([mask.new_ones(len(mask), 1), mask], dim=1)
