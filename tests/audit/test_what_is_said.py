"""What a report says where the first guess at a cause would be wrong."""

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Stack, own_mask, padding
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError


class Prefixed(nn.Module):
    """Reads its prefix in place of the input, where both are as long."""

    def __init__(self, prefix):
        super().__init__()
        self.inner, self.prefix = Stack(), nn.Parameter(torch.randn(1, prefix, 8))

    def forward(self, x, valid):
        same = x.shape[1] == self.prefix.shape[1]
        out = self.inner(self.prefix.expand_as(x) if same else x, padding(valid))
        return (out * valid[..., None]).sum(1) / valid.sum(1, keepdim=True).clamp_min(1)


@pytest.mark.parametrize(
    ("prefix", "scope", "check", "start"),
    [
        (12, AuditScope(), "lengths", "At 12 tokens: the output does not depend on the input"),
        (9, AuditScope(lengths=[9]), "gradient", "The output does not depend on the input"),
        (3, AuditScope(), "padding_invariance", "Sample 1 is not the same alone"),
    ],
)
def test_an_output_that_is_the_same_whatever_the_input_is_said_to_be(prefix, scope, check, start):
    report = audit(Prefixed(prefix).eval(), padding, own_mask, scope=scope)
    assert own(report) == [check] and report.failed[0].code == "input_unused", str(report)
    assert report.failed[0].evidence.startswith(start) and "consistent with" in report.sentence
    assert prefix != 12 or "meant to take 12 tokens?" in report.failed[0].cure
    assert prefix != 3 or "Alone, at 3 tokens, the output does not depend" in report.sentence


def test_lengths_are_said_not_to_tell_where_padding_stands():
    def model(x, lengths):
        return inner(x, padding(torch.arange(x.shape[1]) < lengths[:, None]))

    inner = Stack().eval()
    report = audit(model, padding, lambda valid: valid.sum(1), module=inner)
    assert report.check("left_padding").code == "no_side", str(report)


def test_a_maximum_that_padding_wins_is_no_matter_of_places():
    def model(x, valid):
        apart = torch.cdist(inner(x, padding(valid)), torch.ones(3, 8))
        return (-apart * valid[..., None]).amax(1)

    inner, inputs = Stack().eval(), AuditInputs(padding_side="left")
    (check,) = audit(model, padding, own_mask, module=inner, inputs=inputs).failed
    assert (check.code, check.cause[:15]) == ("pooled_max", "consistent with"), check


class Latents(nn.Module):
    """Attends from vectors of its own, in the code of the model itself."""

    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, 8))

    def forward(self, x, valid):
        seen = F.scaled_dot_product_attention(
            self.latents.expand(len(x), -1, -1), x, x, attn_mask=valid[:, None]
        )
        return seen.mean(1)


def test_cross_that_fits_nothing_is_refused_with_what_was_seen():
    scope = AuditScope(cross=lambda valid: valid[:, None].expand(-1, 4, -1))
    with pytest.raises(InputError, match=r"the model itself \(4 queries, 7 keys\)"):
        audit(Latents().eval(), padding, own_mask, scope=scope)


def test_an_intent_of_one_token_more_is_told_how_to_count_it():
    def meant(valid):
        return padding(F.pad(valid, (0, 1), value=True))

    with pytest.raises(InputError, match="valid has 8 tokens and make gives 7"):
        audit(Stack().eval(), meant)


def test_each_sample_with_padding_in_the_middle_is_named():
    valid = torch.ones(4, 8, dtype=torch.bool)
    valid[[0, 1, 3], 2], valid[:, 7] = False, torch.tensor([True, False, True, True])
    report = audit(Stack().eval(), inputs=AuditInputs(valid=valid))
    assert "of samples 0, 1 and 3 do not stand" in report.check("padding_invariance").evidence
    told = [
        any("between real" in line for line in one.not_tested)
        for one in (report, audit(Stack().eval()))
    ]
    assert told == [False, True]


def test_pool_over_that_could_not_be_judged_is_not_asked_for_again():
    def model(x, valid):
        with_cls = torch.cat([torch.ones_like(x[:, :1]), x], dim=1)
        return inner(with_cls, padding(F.pad(valid, (1, 0), value=True)))[:, 0]

    inner, scope = Stack().eval(), AuditScope(pool_over=lambda valid: valid)
    report = audit(model, padding, own_mask, module=inner, scope=scope)
    assert report.verdict == "PASS" and "give AuditScope(pool_over" not in str(report), str(report)


class Packed(Stack):
    """All samples in one row, cut at these borders."""

    def forward(self, x, borders):
        row = x.flatten(0, 1)[None]
        pairs = pairwise(borders)
        runs = [super(Packed, self).forward(row[:, a:b], None) for a, b in pairs if b > a]
        return torch.cat(runs, dim=1).view_as(x)


def first_border(valid):
    """Of each sample its tokens, then its padding; only the first cut is made."""
    return [0, int(valid[0].sum()), valid.numel()]


def of_pieces(valid):
    """Pieces of 4 tokens that see themselves."""
    piece = torch.arange(valid.shape[1]) // 4
    return padding(valid) & (piece[:, None] == piece)


def cut_wrongly(valid):
    """Cut as (4, pieces), and turned."""
    return of_pieces(valid.view(len(valid), 4, -1).mT.reshape(valid.shape)) | torch.eye(
        valid.shape[1], dtype=torch.bool
    )


def test_a_row_that_is_cut_at_the_first_border_alone_is_told():
    report = audit(Packed().eval(), padding, first_border)
    assert report.failed[0].code == "packed_first", str(report)


def test_a_mask_that_is_cut_along_other_axes_than_the_tokens_is_told():
    scope = AuditScope(lengths=[8, 12])
    report = audit(Stack().eval(), of_pieces, cut_wrongly, scope=scope)
    assert report.failed[0].code == "reshaped", str(report)


class ByLength(Stack):
    """One sample at a time, of as many tokens as are real, from the first on."""

    def forward(self, x, valid):
        out = torch.zeros_like(x)
        for sample, count in enumerate(valid.sum(1).tolist()):
            out[sample, :count] = super().forward(x[sample : sample + 1, :count], None)[0]
        return out


def test_holes_that_are_taken_for_lengths_are_told():
    valid = torch.ones(4, 8, dtype=torch.bool)
    valid[[0, 1, 3], [1, 3, 4]], valid[3, 7] = False, False
    inputs = AuditInputs(valid=valid)
    report = audit(ByLength().eval(), padding, own_mask, inputs=inputs)
    assert report.failed[0].code == "counted", str(report)
