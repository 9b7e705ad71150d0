"""mask_mods and BlockMasks as bool, pair by pair against a plain loop."""

import functools

import numpy as np
import pytest
import torch
from torch.nn.attention import flex_attention
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, noop_mask

from viz_encoder.errors import InputError
from viz_encoder.model import mask_mods
from viz_encoder.model.mask_mods import (
    as_compiled,
    from_block_mask,
    from_mask_mod,
    is_block_mask,
    is_mask_mod,
)

B, H, Q, K = 3, 2, 9, 11
KEEP = torch.arange(K) < torch.tensor([[6], [11], [3]])
TABLE = torch.rand(H, Q, K, generator=torch.Generator().manual_seed(0)) < 0.5
MODS = {
    "padding": lambda b, h, q, k: KEEP[b, k],
    "indexed twice": lambda b, h, q, k: KEEP[b][k] & (q >= k),
    "by head": lambda b, h, q, k: TABLE[h, q, k],
    "constant": lambda b, h, q, k: b.new_ones((), dtype=torch.bool),
    "numbers": lambda b, h, q, k: (q - k).abs() <= h,
}


def by_loop(mod):
    out = np.zeros((B, H, Q, K), dtype=bool)
    for place in np.ndindex(out.shape):
        out[place] = bool(mod(*(torch.tensor(one) for one in place)))
    return out


@pytest.mark.parametrize("name", MODS)
@pytest.mark.parametrize("rows", [1, 2**24])
def test_a_mask_mod_is_asked_for_every_pair(monkeypatch, name, rows):
    monkeypatch.setattr(mask_mods, "ROWS_AT_ONCE", rows)
    found = from_mask_mod(MODS[name], (B, H, Q, K))
    expected = by_loop(MODS[name])
    assert (found.expand(B, H, Q, K).numpy() == expected).all()
    assert (found.shape[0] == 1) == (expected == expected[:1]).all()
    assert (found.shape[1] == 1) == (expected == expected[:, :1]).all()


def compiled_by_loop(mask, mod):
    out = np.zeros((B, H, Q, K), dtype=bool)
    high, wide = mask.BLOCK_SIZE
    kinds = ((mask.kv_num_blocks, mask.kv_indices, False),)
    kinds += ((mask.full_kv_num_blocks, mask.full_kv_indices, True),)
    for b, h, q, k in np.ndindex(out.shape):
        place = (min(b, mask.shape[0] - 1), min(h, mask.shape[1] - 1), q // high)
        for counts, indices, whole in kinds:
            listed = indices[place][: int(counts[place])].tolist()
            one = whole or bool(mod(*(torch.tensor(n) for n in (b, h, q, k))))
            out[b, h, q, k] |= (k // wide in listed) and one
    return out


@pytest.mark.parametrize("name", MODS)
@pytest.mark.parametrize("shared", [False, True])
def test_a_compiled_kernel_opens_its_listed_blocks(name, shared):
    sizes = (None, None) if shared else (B, H)
    mask = create_block_mask(MODS[name], *sizes, Q, K, device="cpu", BLOCK_SIZE=2)
    found = as_compiled(mask, B, H).expand(B, H, Q, K).numpy()
    assert (found == compiled_by_loop(mask, MODS[name])).all()
    meant = from_block_mask(mask, B, H).expand(B, H, Q, K).numpy()
    assert (meant == by_loop(MODS[name])).all()
    right = not shared or name in ("constant",)
    assert (found == meant).all() == right


def test_a_sliced_block_mask_is_refused_in_a_sentence():
    mask = create_block_mask(MODS["padding"], B, None, Q, K, device="cpu")
    with pytest.raises(InputError, match="was sliced"):
        from_block_mask(mask[:1])


def test_blocks_without_a_mask_mod_are_refused(monkeypatch):
    everything = create_block_mask(noop_mask, B, None, Q, K, device="cpu")
    whole = create_block_mask(noop_mask, B, None, 256, 256, device="cpu")
    some = create_block_mask(lambda b, h, q, k: k < 128, B, None, 256, 256, device="cpu")
    listed = some.kv_num_blocks, some.kv_indices, some.full_kv_num_blocks, some.full_kv_indices
    with pytest.raises(InputError, match="made without a mask_mod"):
        from_block_mask(BlockMask.from_kv_blocks(*listed, BLOCK_SIZE=some.BLOCK_SIZE))
    assert from_block_mask(whole).all()
    monkeypatch.setattr(flex_attention, "_sliced_mask_mod_error", None, raising=False)
    assert from_block_mask(everything).all()
    monkeypatch.delattr(flex_attention, "_sliced_mask_mod_error")  # as in torch 2.6
    assert from_block_mask(whole).all()
    with pytest.raises(InputError, match="was sliced"):  # one block of 128, and Q, K in it
        from_block_mask(everything)


def test_a_mask_mod_is_told_by_what_it_takes():
    assert is_mask_mod(MODS["padding"])
    assert is_mask_mod(functools.partial(lambda t, b, h, q, k: t, TABLE))
    others = [lambda valid: valid, lambda s, b, h, q, k: s, torch.nn.Linear(2, 2), TABLE, int, None]
    assert not any(is_mask_mod(one) or is_block_mask(one) for one in others)
    assert is_block_mask(create_block_mask(MODS["padding"], B, None, Q, K, device="cpu"))
