"""Faults beside a mask that is right: mixed heads, what pooling weights are made of, dropped keys.

Each has its mended twin.
"""

import pytest
import torch
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Attention, Stack, causal, own_mask, padding
from viz_encoder.audit import AuditInputs, AuditScope


class TalkingHeads(Attention):
    """Mixes the scores of its heads, after they are masked or before."""

    def __init__(self, *, masks_last):
        super().__init__()
        self.masks_last, self.mix = masks_last, torch.tensor([[1.0, 0.3], [-0.4, 0.2]])

    def forward(self, x, keep):
        q, k, v = self.qkv(x).unflatten(2, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        scores, ban = q @ k.mT, ~keep[:, None]
        for step in ("mix", "mask") if self.masks_last else ("mask", "mix"):
            if step == "mask":
                scores = scores.masked_fill(ban, -1e9)
            else:
                scores = torch.einsum("hg,bgij->bhij", self.mix, scores)
        return x + self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("masks_last", [True, False])
def test_a_mask_that_some_heads_turn_around_is_not_to_be_passed_the_other_way(masks_last):
    torch.manual_seed(0)
    report = audit(TalkingHeads(masks_last=masks_last).eval(), n_layers=1)
    assert own(report) == ([] if masks_last else ["maps"]), str(report)
    assert report.check("maps").code == ("" if masks_last else "inverted_heads")
    assert "~mask" not in report.check("maps").cure


class StatisticsPooling(Stack):
    """Softmax weights made of each token and of the mean of all, or of the real ones."""

    def __init__(self, *, of_real, masks_weights=True):
        super().__init__(1)
        self.of_real, self.masks_weights, self.score = of_real, masks_weights, nn.Linear(16, 1)

    def forward(self, x, valid):
        x, m = super().forward(x, padding(valid)), valid[..., None]
        m = m if self.of_real else torch.ones_like(m)
        mean = ((x * m).sum(1) / m.sum(1).clamp(min=1))[:, None].expand_as(x)
        scores = self.score(torch.cat([x, mean], -1)).tanh()
        low = torch.finfo(x.dtype).min
        scores = scores.masked_fill(~valid[..., None], low) if self.masks_weights else scores
        return (scores.softmax(1) * x).sum(1)


@pytest.mark.parametrize("pool_over", [None, own_mask])
@pytest.mark.parametrize(
    ("of_real", "masks_weights", "code"),
    [(True, True, ""), (False, True, "pooling_beside"), (True, False, "pooling_weights")],
)
def test_weights_that_are_masked_are_not_blamed_for_padding(
    of_real, masks_weights, code, pool_over
):
    model = StatisticsPooling(of_real=of_real, masks_weights=masks_weights).eval()
    scope = AuditScope(pool_over=pool_over)
    report = audit(model, make_mask=own_mask, n_layers=1, scope=scope)
    assert own(report) == (["gradient"] if code else []), str(report)  # told once
    assert report.check("gradient").code == code
    asked = report.check("pooled_tokens").verdict
    assert asked == ("PASS" if not code and pool_over else "NOT TESTED")


class DroppedKeys(Stack):
    """In training, a part of the keys is masked at random; the token itself never is, or may be."""

    def __init__(self, *, keeps_itself, opens=False):
        super().__init__(1)
        self.keeps_itself, self.opens = keeps_itself, opens

    def forward(self, x, keep):
        drop = torch.rand(keep.shape) < 0.5 if self.training else torch.zeros_like(keep)
        drop = drop & ~torch.eye(x.shape[1], dtype=torch.bool) if self.keeps_itself else drop
        keep = keep ^ drop if self.opens else keep & ~drop
        [layer] = self.layers
        q, k, v = layer.qkv(x).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        scores = (q @ k.mT).masked_fill(~keep[:, None], -torch.inf)
        return x + layer.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    ("keeps_itself", "opens", "verdict", "said"),
    [
        (True, False, "NOT TESTED", "random"),
        (False, False, "FAIL", "NaN"),
        (True, True, "FAIL", ""),
    ],
)
def test_random_keys_in_training_may_leave_no_row_empty_and_open_no_pair(
    keeps_itself, opens, verdict, said
):
    def of_itself(valid):
        return causal(valid) | torch.eye(valid.shape[1], dtype=torch.bool)

    model = DroppedKeys(keeps_itself=keeps_itself, opens=opens).eval()
    report = audit(model, of_itself, n_layers=1)
    found = report.check("train_mode")
    assert found.verdict == verdict and said in found.evidence, str(report)
    assert own(report) == (["train_mode"] if verdict == "FAIL" else [])


class Sampled(nn.Module):
    """Reads one place, as deformable attention does, that it counts by real tokens, or by all."""

    def __init__(self, *, of_real):
        super().__init__()
        torch.manual_seed(0)
        self.of_real, self.value = of_real, nn.Linear(8, 8)

    def forward(self, x, valid):
        n_all = valid.sum(1, keepdim=True) if self.of_real else x.shape[1]
        last = (valid.sum(1, keepdim=True) - 1).clamp(min=0)
        places = (3 * torch.arange(x.shape[1])[None] % n_all).clamp(max=last)
        places = places[..., None].expand_as(x)
        return x + (self.value(x) * valid[..., None]).gather(1, places)


@pytest.mark.parametrize("of_real", [True, False])
def test_what_padding_may_have_changed_in_links_that_are_left_out_is_said_first(of_real):
    scope = AuditScope(may_leave_out=True)
    report = audit(Sampled(of_real=of_real), make_mask=own_mask, scope=scope, n_layers=None)
    told = "without its padding" in report.sentence
    assert report.verdict == "PASS" and told is not of_real, str(report)


def test_a_mask_that_is_not_used_is_not_said_to_be_right_where_maps_leak():
    class Blocks(Stack):
        def forward(self, x, passed):
            places = torch.arange(x.shape[1])
            [layer] = self.layers
            for size, turned in ((2, True), (2, False)):
                number = places % 4 if turned else places // size
                x = layer(x, (number[:, None] == number)[None].expand(len(x), -1, -1))
            return x

    def blocks(valid):
        number = torch.arange(valid.shape[1]) // 2
        return (number[:, None] == number).expand(len(valid), -1, -1)

    def anything(valid):
        return torch.ones(*valid.shape, valid.shape[1], dtype=torch.bool)

    inputs = AuditInputs(valid=torch.ones(3, 8, dtype=torch.bool))
    report = audit(Blocks(1).eval(), [blocks, anything], inputs=inputs)
    assert own(report) == ["maps"], str(report)
    assert "still look" not in report.check("mask_used").evidence
