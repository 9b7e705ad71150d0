"""What is done to weights and results behind the softmax, and parts whose outputs jump."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Attention, Stack, causal, padding
from viz_encoder.audit import AuditInputs, AuditScope

REACH = 2


class Written(nn.Module):
    """One layer, written out; `change` is called with scores, what is kept, and the values."""

    def __init__(self, change):
        super().__init__()
        torch.manual_seed(0)
        self.change, self.qkv, self.out = change, nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x, keep):
        q, k, v = (one.unflatten(2, (2, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        mixed = self.change(q @ k.mT / 2, keep[:, None], v)
        return x + self.out(mixed.transpose(1, 2).flatten(2))


def right(scores, keep, v):
    return scores.masked_fill(~keep, -torch.inf).softmax(-1) @ v


def dropped(scores, keep, v):
    """The first token's result is taken away, as by a mask of other tokens."""
    return right(scores, keep, v) * (torch.arange(v.shape[2]) > 0)[:, None]


def banned_behind(scores, keep, v):
    return scores.softmax(-1).masked_fill(~keep, -torch.inf) @ v


def renormalized(scores, keep, v):
    weights = scores.softmax(-1) * keep
    return weights / (weights.sum(-1, keepdim=True) + 1e-13) @ v


def chosen_first(scores, keep, v):
    """Two keys are chosen among all, and only then those that may not be seen are closed."""
    lowest = torch.finfo(scores.dtype).min
    chosen = torch.zeros_like(keep.expand_as(scores)).scatter(-1, scores.topk(2).indices, True)
    return scores.masked_fill(~(chosen & keep), lowest).softmax(-1) @ v


LEFT_OUT = {"scope": AuditScope(may_leave_out=True)}
CASES = {
    "dropped": (dropped, padding, "gradient", "rows_dropped", {}),
    "-inf behind": (banned_behind, padding, "runs", "after_softmax", {}),
    "renormalized": (renormalized, padding, "perturbation", "after_softmax", {}),
    "chosen first": (chosen_first, causal, "maps", "even_rows", LEFT_OUT),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_done_behind_the_softmax_is_named(name):
    change, intent, check, code, options = CASES[name]
    report = audit(Written(change).eval(), intent, **options)
    assert report.check(check).code == code and own(report)[0] == check, str(report)
    assert audit(Written(right).eval(), intent, **options).verdict == "PASS"


@pytest.mark.parametrize("filled", [0.0, -torch.inf])
def test_a_band_that_looks_past_its_ends_is_red(filled):
    class Banded(Written):
        def forward(self, x, keep):
            q, k, v = (x[:, None] @ one.mT for one in self.qkv.weight.chunk(3))
            near = [F.pad(one, (0, 0, REACH, REACH)).unfold(2, 2 * REACH + 1, 1) for one in (k, v)]
            place = torch.arange(x.shape[1])[:, None] + torch.arange(-REACH, REACH + 1)
            scores = torch.einsum("bhtd,bhtdn->bhtn", q, near[0])
            scores = scores.masked_fill((place < 0) | (place >= x.shape[1]), filled)
            return x + torch.einsum("bhtn,bhtdn->bhtd", scores.softmax(-1), near[1])[:, 0]

    def near(valid):
        place = torch.arange(valid.shape[1])
        return ((place[:, None] - place).abs() <= REACH).expand(len(valid), -1, -1)

    inputs = AuditInputs(valid=torch.ones(3, 9, dtype=torch.bool))
    report = audit(Banded(right).eval(), near, inputs=inputs, n_layers=1)
    assert own(report) == ([] if filled else ["gradient"]), str(report)
    assert report.check("gradient").code == ("" if filled else "open_slots")


def test_cross_attention_that_some_queries_never_get_is_red():
    """Queries are unpadded with the padding mask of the memory (vllm-omni#5865)."""
    memory, real = torch.randn(1, 5, 8), torch.tensor([True, True, True, False, False])

    class Cross(Written):
        def forward(self, x, keep, *, mended):
            x = super().forward(x, keep)
            q, seen = self.qkv(x)[..., :8], self.qkv(memory.expand(len(x), -1, -1))
            mixed = F.scaled_dot_product_attention(q, seen[..., 8:16], seen[..., 16:], real)
            rows = F.pad(real, (0, x.shape[1] - 5), value=mended) | mended
            return x + mixed * rows[:, None]

    def meant(valid):
        return real.expand(*valid.shape, -1)

    for mended in (True, False):
        model = Cross(right).eval()
        report = audit(
            lambda x, keep, it=model, ok=mended: it(x, keep, mended=ok),
            padding,
            module=model,
            n_layers=1,
            scope=AuditScope(cross=meant),
        )
        assert own(report) == ([] if mended else ["gradient"]), str(report)


def test_what_a_layer_lacks_may_be_in_a_call_of_whole_blocks_beside_it():
    class Blocks(Written):
        """A window of its own block, and the means of all blocks before it (as in NSA)."""

        def forward(self, x, keep):
            q, k, v = (one[:, None] for one in self.qkv(x).chunk(3, -1))
            block = torch.arange(x.shape[1]) // 2
            own_block = keep[:, None] & (block[:, None] == block)
            lowest = torch.finfo(x.dtype).min
            near = (q @ k.mT).masked_fill(~own_block, lowest).softmax(-1) @ v
            means = [
                F.pad(one, (0, 0, 0, x.shape[1] % 2)).unfold(2, 2, 2).mean(-1) for one in (k, v)
            ]
            earlier = torch.arange(means[0].shape[2]) < block[:, None]
            scores = (q @ means[0].mT).masked_fill(~earlier, lowest)
            far = (scores.softmax(-1) * earlier.any(-1)[:, None]) @ means[1]
            return x + self.out((near + far)[:, 0])

    report = audit(Blocks(right).eval(), causal, n_layers=1)
    assert report.verdict == "PASS" and "not over these tokens" in report.sentence, str(report)


class Capacity(nn.Module):
    """The loudest third of the tokens are passed on: of all, or of the real ones."""

    def __init__(self, mended):
        super().__init__()
        self.mended = mended

    def forward(self, x, valid):
        scores = x.norm(dim=-1)
        scores = scores.masked_fill(~valid, -math.inf) if self.mended else scores
        counts = valid.sum(1) if self.mended else torch.full((len(x),), x.shape[1])
        rank = scores.argsort(1, descending=True).argsort(1)
        return x * (rank < -(-counts // 3)[:, None])[..., None]


class Routed(nn.Module):
    def __init__(self, mended):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.experts = Stack(), Capacity(mended)

    def forward(self, x, valid):
        x = self.inner(x, padding(valid))
        return x + self.experts(x, valid)


@pytest.mark.parametrize("mended", [True, False])
def test_a_capacity_that_padding_takes_is_named(mended):
    report = audit(Routed(mended).eval(), padding, lambda valid: valid)
    assert own(report) == ([] if mended else ["perturbation"]), str(report)
    found = report.check("perturbation")
    assert found.code == ("" if mended else "besides_attention")
    assert mended or "experts (Capacity), which is not attention" in found.cause, found


class TokenFirst(Attention):
    def forward(self, x, keep):
        return super().forward(x.transpose(0, 1), keep).transpose(0, 1)


@pytest.mark.parametrize("kind", [Attention, TokenFirst])
def test_attention_itself_is_not_called_another_part(kind):
    """Its own mask jumps: a very loud token, padding too, closes the first key for all."""

    class Hard(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.attention = kind()

        def forward(self, x, valid):
            loud = x.norm(dim=-1).amax(1) > 20
            keep = padding(valid) & ~(loud[:, None] & (torch.arange(x.shape[1]) == 0))[:, None]
            if kind is Attention:
                return self.attention(x, keep)
            return self.attention(x.transpose(0, 1), keep).transpose(0, 1)

    report = audit(Hard().eval(), padding, lambda valid: valid, n_layers=1)
    assert own(report) == ["perturbation"], str(report)
    assert report.check("perturbation").code == "", str(report)


@pytest.mark.parametrize("mended", [True, False])
def test_code_between_two_modules_is_named_by_them(mended):
    class Pruned(nn.Module):
        def __init__(self):
            super().__init__()
            self.below, self.above = Stack(1), Stack(1, seed=1)

        def forward(self, x, valid):
            x = self.below(x, padding(valid))
            loud = x.norm(dim=-1).masked_fill(~valid & mended, -1.0)
            counts = valid.sum(1) if mended else torch.full((len(x),), x.shape[1])
            rank = loud.argsort(1, descending=True).argsort(1)
            return self.above(x * (rank < -(-counts // 3)[:, None])[..., None], padding(valid))

    report = audit(Pruned().eval(), padding, lambda valid: valid)
    assert own(report) == ([] if mended else ["perturbation"]), str(report)
    told = report.check("perturbation").cause
    assert told == ("" if mended else BETWEEN), told


BETWEEN = "the maps are right, and tokens mix in the code between below and above.layers.0.qkv."
