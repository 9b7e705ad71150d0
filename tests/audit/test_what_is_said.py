"""What a report says where the first guess at a cause would be wrong."""

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
