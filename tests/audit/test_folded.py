"""Keys of other rows: frames that see other frames, and chunks that see a memory of their own."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.plants import causal, padding
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.audit.diagnose.diagnosis import causes
from viz_encoder.audit.report import is_sure
from viz_encoder.audit.zoo import SPECIMENS

N_FRAMES, N_TOKENS = 4, 3


class Attend(nn.Module):
    """Attention with a softmax of its own, whose queries only a product shows."""

    def __init__(self, by="matmul"):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.by = by

    def forward(self, x, others, keep=None):
        if self.by == "matmul":
            scores = self.q(x) @ self.k(others).mT
        else:
            scores = torch.einsum("b i d, b j d -> b i j", self.q(x), self.k(others))
        scores = scores if keep is None else scores.masked_fill(~keep, -torch.inf)
        return torch.einsum("bij,bjd->bid", scores.softmax(-1), self.v(others))


class Video(nn.Module):
    """Each frame sees the first one and the one before it; before the first, it is the first."""

    def __init__(self, wrong, by):
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.wrong = nn.ModuleList(Attend(by) for _ in range(2)), wrong

    def forward(self, x, _):
        before = torch.arange(N_FRAMES) if self.wrong == "own" else torch.arange(-1, N_FRAMES - 1)
        for layer in self.layers:
            frames = x.unflatten(1, (N_FRAMES, N_TOKENS))
            first = frames[:, :1].expand_as(frames).flatten(0, 1)
            if self.wrong == "repeat":
                first = frames[:, 0].repeat(N_FRAMES, 1, 1)
            keys = torch.cat([first, frames[:, before.clamp(min=0)].flatten(0, 1)], dim=1)
            x = x + layer(frames.flatten(0, 1), keys).view_as(x)
        return x


def first_and_before(valid):
    number = torch.arange(valid.shape[1]) // N_TOKENS
    pairs = (number == 0) | (number == (number[:, None] - 1).clamp(min=0))
    return pairs.expand(len(valid), -1, -1)


@pytest.mark.parametrize(
    "wrong, code, by",
    [("", "", "einsum"), ("own", "frames", "einsum"), ("repeat", "row_samples", "matmul")],
)
def test_frames_that_see_other_frames_are_judged_frame_by_frame(wrong, code, by):
    inputs = AuditInputs(valid=torch.ones(3, N_FRAMES * N_TOKENS, dtype=torch.bool))
    model = Video(wrong, by).eval()
    report = vz.audit_mask(model, first_and_before, lambda v: None, d_model=8, inputs=inputs)
    assert report.verdict == ("FAIL" if wrong else "PASS"), str(report)
    assert wrong or "2 layers" in report.check("maps").evidence
    assert [one.code for one in report.failed][:1] == ([code] if wrong else [])


def test_cross_attention_in_other_sizes_than_were_said_is_told_in_the_first_sentence():
    scope = AuditScope(cross=lambda valid: torch.ones(*valid.shape, 5, dtype=torch.bool))
    given = SPECIMENS["H17-chunks"].build(fixed=True)
    report = vz.audit_mask(given.model, given.intent, given.make_mask, d_model=16, scope=scope)
    told = "Not judged: cross-attention: across has 7 queries and 6 keys"
    assert told in report.sentence and not report.ok, report.sentence


class OverTime(nn.Module):
    """Each of a frame's places attends to itself in the other frames, some of which are padding."""

    def __init__(self, by_repeat):
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.by_repeat = nn.ModuleList(Attend() for _ in range(2)), by_repeat

    def forward(self, x, valid):
        mask = valid[:, ::N_TOKENS]
        keep = mask.repeat(N_TOKENS, 1) if self.by_repeat else mask.repeat_interleave(N_TOKENS, 0)
        for layer in self.layers:
            places = x.unflatten(1, (-1, N_TOKENS)).transpose(1, 2).flatten(0, 1)
            mixed = layer(places, places, keep[:, None])
            x = x + mixed.unflatten(0, (-1, N_TOKENS)).transpose(1, 2).flatten(1, 2)
        return x


@pytest.mark.parametrize("by_repeat", [True, False])
def test_masks_that_are_repeated_in_another_order_than_rows_are_named(by_repeat):
    def same_place(valid):
        place = torch.arange(valid.shape[1]) % N_TOKENS
        return valid[:, None, :] & (place[:, None] == place)

    frames = torch.arange(N_FRAMES) < torch.tensor([2, 4, 3])[:, None]
    inputs = AuditInputs(valid=frames.repeat_interleave(N_TOKENS, 1))
    model = OverTime(by_repeat).eval()
    report = vz.audit_mask(model, same_place, lambda v: v, d_model=8, inputs=inputs)
    found = report.check("maps")
    told = ("FAIL", "row_samples") if by_repeat else ("PASS", "")
    assert (found.verdict, found.code) == told, str(report)


@pytest.mark.parametrize("whose", ["memory", "queries"])
def test_the_padding_mask_of_the_queries_over_a_memory_is_named(whose):
    torch.manual_seed(0)
    memory, own = torch.randn(64, 8), Attend().eval()
    across = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def half(valid):
        return torch.arange(valid.shape[1]) <= valid.sum(1, keepdim=True) // 2

    def run(x, valid):
        x = x + own(x, x, valid[:, None] & torch.ones(x.shape[1], x.shape[1]).tril().bool())
        seen = memory[: x.shape[1]].expand(len(x), -1, -1)
        keep = valid if whose == "queries" else half(valid)
        return x + across(x, seen, seen, key_padding_mask=~keep)[0]

    scope = AuditScope(cross=lambda v: half(v)[:, None].expand(-1, v.shape[1], -1))
    found = vz.audit_mask(run, causal, lambda v: v, d_model=8, scope=scope).check("cross_attention")
    told = ("PASS", "") if whose == "memory" else ("FAIL", "cross_queries")
    assert (found.verdict, found.code) == told, found


@pytest.mark.parametrize("meant, sure", [("all", True), ("half", False)])
def test_a_pattern_of_the_memory_that_is_forgotten_is_not_called_the_queries_padding(meant, sure):
    """Where the memory is padded as its queries; if half of it is looked at, that is not known."""
    torch.manual_seed(0)
    memory, own = torch.randn(64, 8), Attend().eval()
    across = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def cross(valid):
        place = torch.arange(valid.shape[1])
        seen = place <= (place[:, None] if meant == "all" else place[:, None] // 2)
        return seen & valid[:, None]

    def run(x, valid):
        x = x + own(x, x, valid[:, None] & torch.ones(x.shape[1], x.shape[1]).tril().bool())
        seen = memory[: x.shape[1]].expand(len(x), -1, -1)
        return x + across(x, seen, seen, key_padding_mask=~valid)[0]

    report = vz.audit_mask(run, causal, lambda v: v, d_model=8, scope=AuditScope(cross=cross))
    cause = report.check("cross_attention").cause
    assert causes()["pattern_ignored"].sentence in cause and is_sure(cause) is sure, cause
    assert (causes()["cross_queries"].sentence in cause) is not sure


@pytest.mark.parametrize("own", [True, False])
def test_layers_that_all_look_at_a_memory_are_told_so(own):
    torch.manual_seed(0)
    layers, memory = nn.ModuleList(Attend() for _ in range(2)), torch.randn(1, 5, 8)

    def run(x, _):
        for number, layer in enumerate(layers):
            x = x + layer(x, x if own and number else memory.expand(len(x), -1, -1))
        return x

    scope = AuditScope(cross=lambda valid: torch.ones(*valid.shape, 5, dtype=torch.bool))
    inputs = AuditInputs(valid=torch.ones(3, 7, dtype=torch.bool))
    report = vz.audit_mask(run, padding, lambda v: None, d_model=8, scope=scope, inputs=inputs)
    assert report.check("gradient").code == ("" if own else "memory_only"), str(report)
    assert report.verdict == ("PASS" if own else "FAIL")
