"""Faults beside a mask that is right: mixed heads, what pooling weights are made of, dropped keys.

Each has its mended twin.
"""

import pytest
import torch
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Attention, Stack, causal, own_mask, padding, plain
from viz_encoder.audit import AuditInputs, AuditScope


def talking_heads(*, masks_last):
    """Mixes the scores of its heads, after they are masked or before."""
    mix = torch.tensor([[1.0, 0.3], [-0.4, 0.2]])

    def attend(q, k, v, keep):
        scores = q @ k.mT
        for step in ("mix", "mask") if masks_last else ("mask", "mix"):
            if step == "mask":
                scores = scores.masked_fill(~keep, -1e9)
            else:
                scores = torch.einsum("hg,bgij->bhij", mix, scores)
        return scores.softmax(-1) @ v

    return Attention(attend=attend).eval()


@pytest.mark.parametrize("masks_last", [True, False])
def test_a_mask_that_some_heads_turn_around_is_not_to_be_passed_the_other_way(masks_last):
    torch.manual_seed(0)
    report = audit(talking_heads(masks_last=masks_last), n_layers=1)
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


def with_infinity(q, k, v, keep):
    return (q @ k.mT).masked_fill(~keep, -torch.inf).softmax(-1) @ v


class DroppedKeys(Stack):
    """In training, a part of the keys is masked at random; the token itself never is, or may be."""

    def __init__(self, *, keeps_itself, opens=False):
        super().__init__(1, attend=with_infinity)
        self.keeps_itself, self.opens = keeps_itself, opens

    def forward(self, x, keep):
        drop = torch.rand(keep.shape) < 0.5 if self.training else torch.zeros_like(keep)
        drop = drop & ~torch.eye(x.shape[1], dtype=torch.bool) if self.keeps_itself else drop
        return super().forward(x, keep ^ drop if self.opens else keep & ~drop)


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
def test_what_padding_may_have_changed_in_links_that_are_left_out_is_a_warning(of_real):
    scope = AuditScope(may_leave_out=True)
    report = audit(Sampled(of_real=of_real), make_mask=own_mask, scope=scope, n_layers=None)
    assert report.verdict == ("PASS" if of_real else "WARN"), str(report)
    assert ("without its padding" in report.sentence) is not of_real


class Chosen(nn.Module):
    """Reads the place that its own content chooses; seldom one so far that it is padding."""

    def __init__(self, *, masked):
        super().__init__()
        torch.manual_seed(0)
        self.masked, self.value = masked, nn.Linear(8, 8)

    def forward(self, x, valid):
        values = self.value(x) * valid[..., None] if self.masked else self.value(x)
        places = torch.arange(x.shape[1]) + 3 * (x[..., 0] > 2.5)
        places = places.clamp(max=x.shape[1] - 1)[..., None].expand_as(x)
        return x + values.gather(1, places)


def test_padding_that_only_some_tokens_read_is_found_and_named():
    scope = AuditScope(may_leave_out=True)
    right, wrong = (
        audit(Chosen(masked=one), make_mask=own_mask, scope=scope, n_layers=1) for one in (1, 0)
    )
    assert not right.failed, str(right)
    assert own(wrong) == ["perturbation"] and wrong.failed[0].code == "sampled", str(wrong)
    assert "masked_fill(~valid[..., None], 0.0)" in wrong.failed[0].cure


def grouped(*, has_axis):
    """Three heads of keys, each for a group of two heads of queries."""

    def attend(q, k, v, keep):
        keep = keep[:, None] if has_axis else keep  # batch group head query key
        q, k, v = q.unflatten(1, (3, 2)), k[:, ::2, None], v[:, ::2, None]
        return plain(q, k, v, keep).flatten(1, 2)

    return Stack(1, d_model=12, attend=attend, n_heads=6).eval()


@pytest.mark.parametrize("has_axis", [True, False])
def test_samples_that_are_taken_for_groups_of_heads_are_not_called_copies(has_axis):
    report = audit(grouped(has_axis=has_axis), d_model=12, n_layers=1)
    assert own(report) == ([] if has_axis else ["maps"]), str(report)
    assert report.check("maps").code == ("" if has_axis else "head_axis")


@pytest.mark.parametrize("ban_of", [lambda m: (m - 1) * 1e9, lambda m: (1 - m) * -10000])
@pytest.mark.parametrize("signed", [True, False])
def test_a_mask_that_cannot_be_negative_is_told_from_one_that_is_inverted(signed, ban_of):
    class Added(Stack):
        def forward(self, x, mask):
            ban = ban_of(mask.long() if signed else mask)[:, None, None, :]
            for layer in self.layers:
                x = layer(x, None, ban)
            return x

    def numbers(valid):
        return valid.to(torch.uint8)

    report = audit(Added().eval(), make_mask=numbers)
    assert own(report) == ([] if signed else ["maps"]), str(report)
    assert report.check("maps").code == ("" if signed else "unsigned")
    assert signed or "255" not in report.check("maps").cause  # as it is of one of the two


@pytest.mark.parametrize("of_all", [True, False])
@pytest.mark.parametrize("side", ["right", "left"])
def test_positions_of_sample_0_for_all_are_called_so(side, of_all):
    places = torch.randn(99, 8, generator=torch.Generator().manual_seed(0))

    class Placed(Stack):
        def forward(self, x, valid):
            at = (valid.cumsum(1) - 1).clamp(min=0)
            return super().forward(x + places[at if of_all else at[:1]], padding(valid))

    report = audit(Placed().eval(), make_mask=own_mask, inputs=AuditInputs(padding_side=side))
    [found, *_] = [*report.failed, None]
    assert (found is None) is of_all, str(report)
    assert of_all or found.code == "of_first", str(report)


@pytest.mark.parametrize("folds", [True, False])
def test_groups_that_reshape_takes_from_neighbors_are_called_so(folds):
    """Two frames of four patches each, and attention over the frames of each patch."""

    class Divided(Stack):
        def forward(self, x, _):
            [layer] = self.layers
            apart = x.unflatten(1, (2, 4)).transpose(1, 2)
            groups = apart.flatten(0, 1) if folds else x.reshape(-1, 2, 8)
            groups = layer(groups, None)
            return (
                groups.view_as(apart).transpose(1, 2).reshape(x.shape)
                if folds
                else (groups.view_as(x))
            )

    def over_frames(valid):
        patch = torch.arange(valid.shape[1]) % 4
        return (patch[:, None] == patch).expand(len(valid), -1, -1)

    inputs = AuditInputs(valid=torch.ones(3, 8, dtype=torch.bool))
    report = audit(Divided(1).eval(), over_frames, inputs=inputs, n_layers=1)
    assert own(report) == ([] if folds else ["maps"]), str(report)
    assert report.check("maps").code == ("" if folds else "folded")


@pytest.mark.parametrize("more", [0, 1, -1])
def test_a_memory_that_ends_one_token_late_or_early_is_called_so(more):
    """Wait-k: a query waits for three tokens of the memory, and then for one more each time."""

    def waited(valid, by=0):
        at = torch.arange(12)[None] < torch.arange(valid.shape[1])[:, None] + 3 + by
        return at.expand(len(valid), -1, -1)

    class Translator(Stack):
        def forward(self, x, valid):
            [layer] = self.layers
            q = layer.qkv(x)[..., :8].unflatten(2, (2, -1)).transpose(1, 2)
            memory = torch.randn(12, 8, generator=torch.Generator().manual_seed(0))
            k, v = layer.qkv(memory)[None, :, 8:].unflatten(2, (2, 2, -1)).permute(2, 0, 3, 1, 4)
            k, v = (one.expand(len(x), -1, -1, -1) for one in (k, v))
            keep = waited(valid, more)[:, None]
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)
            return super().forward(x + mixed.transpose(1, 2).flatten(2), padding(valid))

    told = audit(Translator(1).eval(), make_mask=own_mask, n_layers=1)
    assert more or "Not judged: cross-attention" in told.sentence, str(told)
    scope = AuditScope(cross=waited)
    report = audit(Translator(1).eval(), make_mask=own_mask, n_layers=1, scope=scope)
    assert own(report) == (["cross_attention"] if more else []), str(report)
    assert report.check("cross_attention").code == ("cross_beside" if more else "")
