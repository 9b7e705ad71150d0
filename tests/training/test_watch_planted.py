"""What only real batches hold, planted in a loop, with its mended twin; and right loops."""

import warnings

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.cause_cases import Layers, added
from tests.audit.plants import causal, padding
from tests.audit.test_own_batch import Multiplied
from tests.training.loops import (
    LENGTHS,
    PAD,
    Kernel,
    Written,
    batch,
    bert,
    hidden_of,
    real,
    to_real,
)


def looked(model, batches, intent, **options):
    """A loop over these batches, each looked at."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with vz.watch(model.train(), 1, intent=intent, log=lambda look: None, **options) as watch:
            for given in batches:
                hidden_of(model(**given)).square().mean().backward()
                optimizer.step()
    return watch


MODELS = {"sdpa": bert, "eager": lambda: bert(attn_implementation="eager"), "torch.nn": Kernel}
MODELS["written out"] = Written


def to_earlier(given):
    return causal(given["attention_mask"] == 1)


@pytest.mark.parametrize("name", MODELS)
def test_a_pad_id_that_is_a_real_id(name):
    """The mask is made of ids != PAD, and a real token has that id."""

    def collated(mended):
        given, valid = batch(), real()
        given["input_ids"][2, 3] = PAD
        mask = valid if mended else given["input_ids"] != PAD
        return {**given, "attention_mask": mask.long()}

    def intent(given):
        return padding(real())

    wrong = looked(MODELS[name](), [collated(False)], intent, pad_id=PAD).found
    check = wrong["maps"].checks[0]
    assert (check.sample, check.key, check.verdict) == (2, 3, "FAIL")
    assert "never looks at token 3" in check.evidence
    assert wrong["pad_id"].checks[1].evidence.startswith("1 real tokens of 'input_ids'")
    assert float(wrong["maps"].heads["lost"].min()) == LENGTHS[2]  # from each of its queries
    right = looked(MODELS[name](), [collated(True)], intent, pad_id=PAD)
    assert set(right.found) == {"pad_id"} and right.last.ok  # which is still worth knowing


@pytest.mark.parametrize("name", MODELS)
def test_a_sort_order_that_mixes_the_masks_of_samples(name):
    """Samples are sorted by length, their masks are not."""

    def collated(mended):
        given = batch()
        order = given["attention_mask"].sum(dim=1).argsort(descending=True)
        mask = given["attention_mask"][order] if mended else given["attention_mask"]
        return {"input_ids": given["input_ids"][order], "attention_mask": mask}

    def intent(given):
        return padding(given["input_ids"] != PAD)

    wrong = looked(MODELS[name](), [collated(False)], intent).last
    assert not wrong.ok and wrong.checks[0].code in ("sorted", "other_sample"), wrong
    assert "4 of 4 heads leak" in wrong.checks[0].evidence
    right = looked(MODELS[name](), [collated(True)], intent)
    assert right.found == {} and [check.name for check in right.last.checks] == ["length"]


def test_a_mask_after_the_softmax_leaves_rows_that_sum_to_less():
    wrong = looked(Multiplied(), [batch()], to_earlier)
    check = wrong.last.checks[0]
    assert set(wrong.found) == {"row_sums"} and check.verdict == "FAIL", wrong.last
    assert check.code == "after_softmax" and 0 < check.amount < 1
    assert f"row {check.query} sums to {check.amount:.3g}" in check.evidence
    right = looked(Multiplied(sink=0.5), [batch()], to_earlier)
    assert right.found == {} and right.last.ok, right.last


def test_a_number_that_is_too_weak_is_not_called_no_mask():
    class Added(nn.Module):
        def __init__(self, least):
            super().__init__()
            self.table, self.layers, self.least = nn.Embedding(40, 8), Layers("fused"), least

        def forward(self, input_ids, attention_mask):
            keep = padding(attention_mask == 1)
            return self.layers(self.table(input_ids), added(self.least, lambda valid: keep)(keep))

    wrong = looked(Added(-4.0), [batch()], to_real).found["maps"].checks[0]
    assert (wrong.verdict, wrong.code) == ("FAIL", "") and "audit_batch" in wrong.cure, wrong
    assert "of its attention to padding" in wrong.evidence
    assert looked(Added(0.0), [batch()], to_real).last.checks[0].code == "ignored"
    assert looked(Added(-1e9), [batch()], to_real).found == {}


def test_texts_that_were_cut():
    def collated(longest):
        return batch(lengths=[min(n, longest) for n in (14, 4, 30, 12)])

    cut = looked(bert(), [collated(9)], to_real)
    assert cut.last.ok and "3 of 4 samples fill it completely" in str(cut.last)
    whole = {
        "input_ids": torch.randint(5, 40, (4, 30)),
        "attention_mask": real((14, 4, 30, 12), 30),
    }
    assert looked(bert(), [whole], lambda b: padding(b["attention_mask"])).last.checks == ()


def test_a_leak_that_begins_later_is_found_at_its_step():
    def loop(masks):
        rounds, model = iter(masks), Written()
        model.mask = lambda valid: next(rounds)(valid)
        return looked(model, [batch(n) for n in range(4)], to_earlier)

    wrong = loop([causal, causal, padding, padding])
    assert wrong.found["maps"].step == 2 and wrong.last.step == 3 and not wrong.last.ok
    assert loop([causal] * 4).found == {}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mended", [False, True])
def test_the_side_of_the_padding_that_switches(name, mended):
    """From the third step on the tokenizer pads on the left; masks may follow, or may not."""

    def collated(step, follows):
        given = batch(step)
        if step < 2 or mended:
            return given
        ids = given["input_ids"].flip(1)
        mask = (ids != PAD).long() if follows else given["attention_mask"]
        return {"input_ids": ids, "attention_mask": mask}

    def intent(given):
        return padding(given["input_ids"] != PAD)

    for follows in (True, False):
        seen = looked(MODELS[name](), [collated(step, follows) for step in range(4)], intent)
        if mended:
            assert seen.found == {}, seen.last
            continue
        check = next(c for c in seen.last.checks if c.name == "padding_side")
        assert (check.verdict, check.code) == ("WARN", "side_switched"), seen.last
        assert "before the tokens" in check.evidence and seen.found["padding_side"].step == 2
        maps = [c for c in seen.last.checks if c.name == "maps"]
        assert [c.code for c in maps] == ([] if follows else ["side"]), seen.last


@pytest.mark.parametrize("mended", [False, True])
def test_a_mask_that_a_layer_changes_in_place(mended):
    class Changing(Written):
        def forward(self, input_ids, attention_mask):
            mask = attention_mask.clone() if mended else attention_mask
            x = self.table(input_ids)
            for layer in self.stack.layers:
                x = layer(x, padding(mask == 1))
                mask[:, 1] = 0
            return x

    found = looked(Changing(), [batch()], lambda given: padding(real())).last.checks
    named = {check.name: (str(check.verdict), check.code) for check in found}
    assert named["maps"][0] == "FAIL"
    assert named.get("in_place") == (None if mended else ("WARN", "in_place")), found
    assert mended or named["maps"][1] == ""


@pytest.mark.parametrize("name", MODELS)
def test_a_right_loop_has_nothing_to_say(name):
    batches = [batch(n, torch.randperm(9)[:4].add(1).tolist()) for n in range(4)]
    watch = looked(MODELS[name](), batches, to_real, pad_id=PAD)
    assert watch.found == {} and watch.last.step == 3


def test_each_layer_can_have_an_intent_of_its_own():
    intents = [to_real, to_earlier]
    wrong = looked(bert(), [batch()], intents).last.checks[0]
    assert wrong.layer == 1 and wrong.code == "pattern_ignored"
    few = looked(bert(), [batch()], [*intents, to_real]).found["maps"].checks[0]
    assert few.verdict == "NOT TESTED" and "2 self-attention calls" in few.evidence


def test_an_intent_of_other_tokens_is_not_passed_over():
    found = looked(bert(), [batch()], lambda b: padding(real(n_tokens=12))).found["maps"].checks[0]
    assert found.verdict == "NOT TESTED" and "0 self-attention calls" in found.evidence


def test_what_attention_may_leave_out_is_no_missing_link():
    def to_all(given):
        return torch.ones(*given["input_ids"].shape, 9, dtype=torch.bool)

    assert "maps" in looked(bert(), [batch()], to_all).found
    assert looked(bert(), [batch()], to_all, may_leave_out=True).found == {}
    assert "maps" in looked(bert(), [batch()], to_earlier, may_leave_out=True).found
