"""An intent that reads the ids, and attention that may leave out what the intent allows."""

import pytest
import torch
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Stack, causal, own_mask, padding
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError

EOS = 2
IDS = AuditInputs(vocab_size=20)
SPARSE = AuditScope(may_leave_out=True)


def documents(ids):
    """The number of the document of each token: one ends with each EOS."""
    ends = (ids == EOS).long()
    number = ends.cumsum(1) - ends
    return number[:, :, None] == number[:, None, :]


def packed(valid, ids):
    return causal(valid) & documents(ids)


class Packed(Stack):
    """forward(ids): its mask is made of the ids."""

    def __init__(self, separates=True):
        super().__init__()
        self.table, self.separates = nn.Embedding(20, 8), separates

    def forward(self, ids):
        keep = causal(torch.ones_like(ids, dtype=torch.bool)).expand(len(ids), -1, -1)
        return super().forward(self.table(ids), keep & documents(ids) if self.separates else keep)


def test_documents_that_end_at_an_eos_pass_and_those_that_are_not_separated_fail():
    assert audit(Packed().eval(), packed, inputs=IDS).verdict == "PASS"
    report = audit(Packed(separates=False).eval(), packed, inputs=IDS)
    assert report.failed[0].code == "documents", str(report)


@pytest.mark.parametrize("intent, make_mask", [(packed, packed), ([packed, packed], None)])
def test_what_is_passed_may_be_made_of_the_ids(intent, make_mask):
    model = Packed().eval()

    def run(ids, passed):
        keep = passed if make_mask else passed[0]
        return Stack.forward(model, model.table(ids), keep)

    assert audit(run, intent, make_mask, inputs=IDS, module=model).verdict == "PASS"


def test_each_step_of_a_cache_gets_the_mask_of_the_ids_so_far():
    model = Packed().eval()

    def run(ids, keep):
        return Stack.forward(model, model.table(ids), keep)

    def step(ids, cache, keep):
        seen = ids if cache is None else torch.cat([cache, ids], dim=1)
        return run(seen, keep)[:, -ids.shape[1] :], seen

    scope = AuditScope(step=step, reorder=lambda cache, order: cache[order])
    report = audit(run, packed, packed, inputs=IDS, scope=scope, module=model)
    assert report.check("cache").verdict == report.check("beam_reorder").verdict == "PASS", report


def test_changed_ids_are_judged_unless_they_end_a_document():
    class Leaky(Packed):
        """Adds the sum of the ids from each token on, which no gradient sees."""

        def forward(self, ids):
            return super().forward(ids) + ids.flip(1).cumsum(1).flip(1)[..., None].float()

    report = audit(Leaky().eval(), packed, inputs=IDS)
    assert "perturbation" in [one.name for one in report.failed], str(report)


def test_ids_in_which_the_intent_finds_nothing_are_refused():
    with pytest.raises(
        InputError, match=r"padding alone .* intent\(valid\).*make=lambda seed, batch"
    ):
        audit(Packed().eval(), packed, inputs=AuditInputs(vocab_size=20, pad_id=EOS))


def top_k(masked=True):
    """Each query keeps the two keys that score highest."""

    def attend(q, k, v, keep):
        scores = (q @ k.mT).masked_fill(~keep & masked, -torch.inf)
        least = scores.topk(2).values[..., -1:]
        return scores.masked_fill(scores < least, -torch.inf).softmax(-1) @ v

    return Stack(attend=attend)


class Deformable(nn.Module):
    """Each token reads two points whose places it chooses, between tokens."""

    def __init__(self, masked=True):
        super().__init__()
        torch.manual_seed(0)
        self.offsets, self.values, self.masked = nn.Linear(8, 2), nn.Linear(8, 8), masked

    def forward(self, x, valid):
        n_tokens = x.shape[1]
        values = self.values(x) * valid[..., None] if self.masked else self.values(x)
        at = torch.arange(n_tokens)[:, None] + 2 * self.offsets(x)
        share = (1 - (at[..., None] - torch.arange(n_tokens)).abs()).clamp_min(0)
        return x + share.sum(2) @ values


@pytest.mark.parametrize(
    "model, intent, make_mask",
    [(top_k, padding, None), (top_k, causal, None), (Deformable, padding, own_mask)],
)
def test_what_attention_may_leave_out_is_no_missing_link(model, intent, make_mask):
    right = audit(model().eval(), intent, make_mask, scope=SPARSE)
    assert right.verdict == "PASS" and "nowhere but where they may" in right.sentence, str(right)
    assert any("may_leave_out=True" in line for line in right.not_tested)
    wrong = audit(model(masked=False).eval(), intent, make_mask, scope=SPARSE)
    assert wrong.verdict == "FAIL", str(wrong)


class Blocks(Stack):
    """As BigBird: the first and the last block of two tokens, and one by chance a block."""

    def __init__(self, *, masked=True):
        super().__init__()
        self.masked = masked

    def forward(self, x, keep):
        block = torch.arange(x.shape[1]) // 2
        count = int(block[-1]) + 1
        chosen = torch.randint(count, (count,), generator=torch.Generator().manual_seed(count))
        ends = (block == 0) | (block == count - 1)
        pairs = ends | ends[:, None] | (block == block[:, None]) | (block == chosen[block][:, None])
        keep = keep & pairs if self.masked else keep.any(1, keepdim=True) | pairs
        return super().forward(x, keep)


@pytest.mark.parametrize("intent", [padding, causal])
def test_blocks_that_the_number_of_tokens_chooses_pass(intent):
    right = audit(Blocks().eval(), intent, scope=SPARSE)
    assert right.verdict == "PASS", str(right)
    wrong = audit(Blocks(masked=False).eval(), intent, scope=SPARSE)
    assert wrong.verdict == "FAIL", str(wrong)


def test_a_sample_that_leaves_out_nothing_is_compared_alone():
    def counted_from_the_padding(x, keep):
        return stack(x + torch.arange(x.shape[1])[:, None], keep)

    stack = Stack().eval()
    left = AuditInputs(padding_side="left")
    report = audit(counted_from_the_padding, padding, scope=SPARSE, inputs=left, module=stack)
    assert own(report)[0] == "padding_invariance", str(report)


def test_what_is_pooled_of_other_blocks_is_not_judged():
    def mean(out, valid):
        return (out * valid[:, :, None]).sum(1) / valid.sum(1, keepdim=True)

    scope = AuditScope(may_leave_out=True, pooled=mean, lengths=[12])
    report = audit(Blocks().eval(), padding, scope=scope)
    assert report.verdict == "PASS", str(report)
    assert report.check("output_pooling").verdict == "NOT TESTED"
