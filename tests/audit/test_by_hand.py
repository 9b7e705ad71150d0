"""Attention that a model writes out is judged, or said not to be, whatever attends beside it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.audit.audits import audit
from tests.audit.plants import causal
from tests.slow import slow
from viz_encoder.audit import AuditScope

MEMORY, LOW = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0)), -1e30


def by_hand(q, k, keep):
    return (q @ k.mT).masked_fill(~keep, LOW).softmax(dim=-1) @ k


def one_head(q, k, keep):
    return by_hand(q[:, 0], k[:, 0], keep[:, 0])[:, None]


def fused(q, k, keep):
    return F.scaled_dot_product_attention(q, k, k, attn_mask=keep)


def first_three(valid):
    return (torch.arange(5) < 3).expand(*valid.shape, 5)


class Block(nn.Module):
    """Self-attention, then cross-attention to a memory of five, of which two are padding."""

    def __init__(self, itself, across, n_open):
        super().__init__()
        self.itself, self.across, self.n_open = itself, across, n_open

    def forward(self, x, keep):
        x = x + self.itself(x[:, None], x[:, None], keep[:, None])[:, 0]
        memory = MEMORY.expand(len(x), -1, -1)[:, None]
        keep = (torch.arange(5) < self.n_open).expand(len(x), 1, 1, 5)
        return x + self.across(x[:, None], memory, keep)[:, 0]


class MemoryFirst(nn.Module):
    """Cross-attention to a memory, then self-attention, without a module of their own."""

    def __init__(self, n_keys):
        super().__init__()
        torch.manual_seed(0)
        self.qkv, self.memory = nn.Linear(8, 24), nn.Parameter(torch.randn(1, 1, n_keys, 8))

    def forward(self, x, keep):
        q, _, _ = self.qkv(x)[:, None].chunk(3, -1)
        memory = self.memory.expand(len(x), -1, -1, -1)
        x = x + F.scaled_dot_product_attention(q, memory, memory)[:, 0]
        q, k, v = self.qkv(x)[:, None].chunk(3, -1)
        return x + F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None])[:, 0]


@pytest.mark.parametrize("n_keys", [3, 7, 11])
def test_a_memory_before_the_first_self_attention_is_no_layer_of_the_tokens(n_keys):
    told = audit(MemoryFirst(n_keys), n_layers=1)
    assert told.verdict == "PASS" and "cross-attention" in told.sentence, str(told)


@pytest.mark.parametrize("itself", [slow(fused), by_hand])
@pytest.mark.parametrize("across", [by_hand, one_head])
def test_cross_attention_by_hand_is_judged_or_said_not_to_be(itself, across):
    for n_open in (3, 5):
        told = audit(Block(itself, across, n_open), causal)
        assert "Not judged: cross-attention" in told.sentence, str(told)
        report = audit(Block(itself, across, n_open), causal, scope=AuditScope(cross=first_three))
        wrong = report.check("cross_attention").verdict
        assert (report.verdict, wrong) == (("PASS", "PASS"), ("FAIL", "FAIL"))[n_open == 5]
