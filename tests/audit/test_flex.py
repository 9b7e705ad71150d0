"""flex_attention in an audit: its maps, and a BlockMask or mask_mod as what is meant or passed."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.plants import Stack, causal, padding
from tests.audit.test_no_wrong_verdict import said
from tests.slow import slow
from viz_encoder.errors import InputError

pytestmark = [
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
    pytest.mark.skipif(
        torch.__version__ < "2.7", reason="its dynamo cannot trace the tests' checks of shapes"
    ),
]


class Flex(Stack):
    """Two layers of flex_attention, given a BlockMask or a mask_mod."""

    def __init__(self):
        super().__init__(attend=lambda q, k, v, mask: flex_attention(q, k, v, block_mask=mask))

    def forward(self, x, mask):
        if callable(mask):
            mask = create_block_mask(mask, len(x), None, *2 * x.shape[1:2], device="cpu")
        return super().forward(x, mask)


def mod_of(intent):
    def make(valid):
        keep = intent(valid)
        return lambda sample, head, query, key: keep[sample, query, key]

    return make


def blocks_of(intent, *, shared=False, size=128):
    def make(valid):
        sizes = (None if shared else len(valid), None, *2 * valid.shape[1:])
        return create_block_mask(mod_of(intent)(valid), *sizes, device="cpu", BLOCK_SIZE=size)

    return make


FORMS = {
    "plain": causal,
    "mod": mod_of(causal),
    "blocks": blocks_of(causal),
    "small": blocks_of(causal, size=2),
}


@pytest.mark.parametrize(
    ("meant", "passed"), [slow("plain", "blocks"), slow("mod", "small"), ("blocks", "mod")]
)
def test_a_right_model_passes_however_its_mask_is_said(meant, passed):
    report = audit(Flex().eval(), FORMS[meant], FORMS[passed])
    assert report.verdict == "PASS", str(report)
    assert report.check("maps").verdict == "PASS"
    assert "your intent if read as True = may attend" in report.check("static").evidence
    assert "by " in report.check("mask_used").evidence
    assert not said(report, "BlockMask") and not said(report, "mask_mod")
    assert said(report, "does not support backward on CPU")


@pytest.mark.parametrize("passed", [mod_of(padding), slow(blocks_of(padding))])
def test_a_wrong_mask_is_seen_in_the_maps_with_its_cause(passed):
    report = audit(Flex().eval(), blocks_of(causal), passed)
    assert own(report)[0] == "maps", str(report)
    assert report.check("maps").code == "pattern_ignored"


@pytest.mark.slow
def test_blocks_listed_for_one_sample_are_told_where_they_still_cover_all():
    report = audit(Flex().eval(), causal, blocks_of(causal, shared=True))
    assert report.verdict == "WARN" and own(report, "WARN") == ["static"], str(report)
    assert "sample 0 for all samples" in report.check("static").evidence


def test_blocks_that_are_the_same_for_all_samples_may_be_shared():
    def triangle(valid):
        return torch.ones(*valid.shape, valid.shape[1], dtype=torch.bool).tril()

    report = audit(Flex().eval(), triangle, blocks_of(triangle, shared=True, size=2))
    assert report.check("static").verdict == "PASS", str(report)


def test_what_no_intent_can_be_is_answered_in_a_sentence():
    with pytest.raises(InputError, match="intent is a mask_mod"):
        audit(Flex().eval(), lambda sample, head, query, key: query >= key)
    by_head = create_block_mask(lambda b, h, q, k: q >= k + h, 3, 2, 7, 7, device="cpu")
    with pytest.raises(InputError, match="whose heads differ"):
        audit(Flex().eval(), lambda valid: by_head)
    short = create_block_mask(lambda b, h, q, k: q >= k, 3, None, 5, 5, device="cpu")
    with pytest.raises(InputError, match=r"BlockMask is \(3, 1, 5, 5\)"):
        audit(Flex().eval(), lambda valid: short)


def test_a_batch_of_ones_own_is_held_against_a_block_mask():
    valid = torch.arange(7) < torch.tensor([[5], [3], [7]])
    meant, model = blocks_of(causal)(valid), Flex().eval()
    x = torch.randn(3, 7, 8, generator=torch.Generator().manual_seed(2))
    right = vz.audit_batch(lambda batch: model(batch, meant), x, lambda batch: meant)
    assert right.verdict == "PASS", str(right)
    passed = blocks_of(padding)(valid)
    assert own(vz.audit_batch(lambda batch: model(batch, passed), x, lambda batch: meant)) == [
        "maps"
    ]
