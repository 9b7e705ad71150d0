"""A batch as it comes: its maps against what is meant, and what only real batches hold."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import Stack, causal, padding
from viz_encoder.audit.report import assert_ok
from viz_encoder.errors import InputError, MaskError

PAD = 1
LENGTHS = (6, 4, 9, 2)


class Reader(nn.Module):
    """Ids to vectors, through a right stack whose mask is `mask`."""

    def __init__(self, mask=causal):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.stack, self.mask = nn.Embedding(20, 8), Stack(), mask

    def forward(self, input_ids, attention_mask):
        return self.stack(self.table(input_ids), self.mask(attention_mask == 1))


def batch(lengths=LENGTHS, n_tokens=9):
    valid = torch.arange(n_tokens) < torch.tensor(lengths)[:, None]
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 20, valid.shape, generator=generator)
    return {"input_ids": ids.masked_fill(~valid, PAD), "attention_mask": valid.long()}


def intent(given):
    return causal(given["attention_mask"] == 1)


def test_a_right_batch_passes_and_says_what_was_not_tried():
    report = vz.audit_batch(Reader().eval(), batch(), intent, pad_id=PAD)
    assert report.verdict == "PASS", str(report)
    assert "2 to 9 real tokens of 9" in report.check("length").evidence
    assert any("Gradients" in line for line in report.not_tested)
    assert "norms and convolutions: audit_mask compares" in report.sentence, report.sentence
    assert report.check("maps").verdict == report.check("pad_id").verdict == "PASS"


def test_a_leak_is_found_with_its_cause_and_the_mode_stays():
    model = Reader(padding).train()
    report = vz.audit_batch(model, batch(), intent)
    assert own(report) == ["maps"] and report.check("maps").code == "pattern_ignored"
    assert model.training and all(p.grad is None for p in model.parameters())
    found = report.check("maps")
    assert not intent(batch())[found.sample, found.query, found.key]


def test_real_tokens_with_the_id_of_the_padding_are_counted():
    given = batch()
    given["input_ids"][2, 3] = given["input_ids"][2, 5] = PAD
    report = vz.audit_batch(Reader().eval(), given, intent, pad_id=PAD)
    found = report.check("pad_id")
    assert report.verdict == "WARN" and found.evidence.startswith("2 real tokens of 'input_ids'")
    assert (found.sample, found.query) == (2, 3)
    quiet = vz.audit_batch(Reader().eval(), given, intent)
    assert quiet.ok and any("no pad_id= was given" in line for line in quiet.not_tested)


def test_cut_texts_and_sorted_samples_are_told():
    cut = vz.audit_batch(Reader().eval(), batch((9, 9, 9, 4)), intent).check("length")
    assert cut.verdict == "INFO" and "3 of 4 samples fill it completely" in cut.evidence
    assert "sorted by length" in cut.evidence
    assert "sorted" not in vz.audit_batch(Reader().eval(), batch(), intent).check("length").evidence


def test_rows_of_tokens_that_are_only_queries_are_told_not_to_be_judged():
    """As of frames of which each looks at the first; in the intent, they are like padding."""
    told = vz.audit_batch(Reader().eval(), batch((4, 2, 3)), intent).check("length")
    assert told.verdict == "INFO" and "rows of 5 tokens that none may attend to" in told.evidence
    full = vz.audit_batch(Reader().eval(), batch(), intent).check("length")
    assert "rows of" not in full.evidence


def test_what_cannot_be_an_intent_is_answered():
    for wrong in (lambda b: b["attention_mask"], lambda b: intent(b).float(), lambda b: None):
        with pytest.raises(vz.VizEncoderError, match=r"intent\(batch\) gave"):
            vz.audit_batch(Reader().eval(), batch(), wrong)


def test_a_model_that_raises_is_red():
    report = vz.audit_batch(lambda b: b["nothing"], [1], lambda b: causal(torch.ones(2, 3) > 0))
    assert own(report) == ["runs"], str(report)


class Multiplied(nn.Module):
    """One layer whose mask is multiplied with the weights; `divided` makes up for it."""

    def __init__(self, divided=False, sink=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.qkv = nn.Embedding(40, 8), nn.Linear(8, 24)
        self.divided, self.sink = divided, sink

    def forward(self, input_ids, attention_mask):
        keep = self.keep(attention_mask == 1)[:, None]
        q, k, v = (
            part.unflatten(-1, (2, -1)).transpose(1, 2)
            for part in self.qkv(self.table(input_ids)).chunk(3, -1)
        )
        scores = q @ k.mT
        if self.sink:
            scores = F.pad(scores.masked_fill(~keep, -torch.inf), (0, 1), value=self.sink)
            weights = scores.softmax(dim=-1)[..., :-1]
        else:
            weights = scores.softmax(dim=-1) * keep
        if self.divided:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        weights = F.dropout(weights, 0.5, self.training)
        return (weights @ v).transpose(1, 2).flatten(2)

    keep = staticmethod(causal)


@pytest.mark.parametrize("train", [False, True])
def test_a_mask_after_the_softmax_is_red_and_a_sink_is_not(train):
    wrong = vz.audit_batch(Multiplied().train(train), batch(), intent)
    assert own(wrong) == ["row_sums"], str(wrong)
    found = wrong.check("row_sums")
    assert found.code == "after_softmax" and 0 < found.amount < 1
    for model in (Multiplied(divided=True), Multiplied(sink=0.5)):
        right = vz.audit_batch(model.train(train), batch(), intent)
        assert right.verdict == "PASS", str(right)
    assert right.check("row_sums").verdict == "NOT TESTED"
    assert any("a sink or" in line for line in right.not_tested)


def test_a_row_that_sums_to_less_is_said_where_every_row_is_masked():
    class Diagonal(Multiplied):
        keep = staticmethod(lambda valid: causal(valid).diagonal(dim1=1, dim2=2).diag_embed())

    def itself(given):
        return Diagonal.keep(given["attention_mask"] == 1)

    report = vz.audit_batch(Diagonal(), batch(), itself)
    assert report.check("row_sums").verdict == "NOT TESTED", str(report)
    assert any("sums to" in line for line in report.not_tested)


def test_hidden_tokens_that_are_no_padding_are_counted():
    given = batch()
    given["attention_mask"][2, 7:] = 0  # two real ones
    found = vz.audit_batch(Reader().eval(), given, intent, pad_id=PAD).check("pad_id")
    assert (found.verdict, found.code, found.sample) == ("WARN", "hidden", 2)
    assert found.evidence.startswith("2 tokens")


def test_a_real_row_that_is_nan_is_red_and_a_padded_one_is_not():
    def spoiled(row):
        def run(input_ids, attention_mask):
            out = Reader().eval()(input_ids, attention_mask)
            return out.index_put((torch.tensor(1), torch.tensor(row)), torch.tensor(torch.nan))

        return run

    real = vz.audit_batch(spoiled(2), batch(), intent)
    assert own(real) == ["runs"] and real.check("runs").query == 2, str(real)
    assert vz.audit_batch(spoiled(6), batch(), intent).ok
    empty = Reader(strictly_causal).eval()
    empty.stack = Stack(attend=without_keys)
    report = vz.audit_batch(empty, batch(), lambda b: strictly_causal(b["attention_mask"] == 1))
    assert report.check("maps").verdict == "NOT TESTED", str(report)


def strictly_causal(valid):
    return causal(valid).tril(-1)


def without_keys(q, k, v, keep):
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
    return out.masked_fill(~keep.any(dim=-1, keepdim=True), torch.nan)


class Unseen(Reader):
    """Its softmax is followed by what no recording follows, and it has forgotten its mask."""

    def forward(self, input_ids, attention_mask):
        x = self.table(input_ids)
        return ((x @ x.mT).softmax(dim=-1)[..., None] * x[:, None]).sum(dim=-2)


def test_a_batch_of_which_no_map_is_seen_is_not_passed():
    report = vz.audit_batch(Unseen().eval(), batch(), intent)
    assert report.verdict == report.check("maps").verdict == "NOT TESTED" and not report.ok
    assert report.sentence.startswith("Nothing was judged: no check could see where tokens look.")
    with pytest.raises(MaskError, match="NOT TESTED: Nothing was judged"):
        assert_ok(report)


def test_intents_that_do_not_fit_are_said():
    five = vz.audit_batch(Reader().eval(), batch(), [intent] * 5)

    assert five.verdict == "ERROR" and "5 intents are given, but" in five.sentence
    small = vz.audit_batch(Reader().eval(), batch(), lambda b: intent(batch((3, 2, 5, 1), 5)))
    assert small.verdict == "NOT TESTED" and "The intent has 5 tokens; seen were" in small.sentence


def test_what_returns_nothing_is_not_said_to_raise():
    report = vz.audit_batch(lambda **_: None, batch(), intent)
    assert report.sentence == "The model returned NoneType, in which there is no tensor."
    with pytest.raises(InputError, match="every token as padding"):
        vz.audit.AuditInputs(valid=torch.zeros(3, 5, dtype=torch.bool))


class Shuffled(nn.Module):
    """Tokens in an order of its own; their mask, too, if it is `right`."""

    def __init__(self, right):
        super().__init__()
        self.right = right

    def forward(self, x, mask):
        order = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(3))
        x, kept = x[:, order], mask[:, order] if self.right else mask
        mixed = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=kept[:, None])
        return mixed[:, order.argsort()]


@pytest.mark.parametrize("right", [True, False])
def test_tokens_in_an_order_that_their_mask_has_not(right):
    valid = torch.arange(9) < torch.tensor(LENGTHS)[:, None]
    given = {"x": torch.randn(4, 9, 8, generator=torch.Generator().manual_seed(0)), "mask": valid}
    report = vz.audit_batch(Shuffled(right).eval(), given, lambda b: padding(b["mask"]))
    assert (report.verdict == "PASS") == right, str(report)
    assert right or report.check("maps").code == "order"
