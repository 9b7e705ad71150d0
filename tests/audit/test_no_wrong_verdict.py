"""No correct model is called wrong, no wrong one right, and what was not tried is said."""

import re
from collections import namedtuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.cause_cases import Layers
from tests.audit.plants import NoMaps, Stack, banded, causal, near, padding, unseen
from tests.audit.transformers_zoo import bert
from tests.slow import slow
from viz_encoder.audit import AuditInputs, AuditScope

VALID = torch.arange(7) < torch.tensor([[7], [4]])
NO_PADDING = AuditInputs(valid=torch.ones(3, 7, dtype=torch.bool))


def split(x, n_parts):
    return (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in x.chunk(n_parts, -1))


def merged(mixed):
    return mixed.transpose(1, 2).flatten(2)


def said(report, words):
    return any(words in line for line in report.not_tested)


# Maps that are not seen, and n_layers not given: two hops are no leak.


def test_two_layers_that_nobody_counted_are_no_leak():
    report = vz.audit_mask(NoMaps(), banded(3), d_model=8)
    assert report.verdict == "NOT TESTED" and not report.failed, str(report)
    assert "give n_layers=" in report.sentence and said(report, "How far each layer looks")
    counted = vz.audit_mask(NoMaps(), banded(3), d_model=8, n_layers=2)
    assert counted.verdict == "PASS" and not said(counted, "n_layers"), str(counted)
    assert "nowhere else" not in counted.sentence and "no maps were seen" in counted.sentence


@pytest.mark.parametrize("intent", [padding, causal])
def test_what_one_layer_and_many_may_know_alike_needs_no_count(intent):
    report = vz.audit_mask(NoMaps(), intent, d_model=8)
    assert report.verdict == "PASS" and "nowhere else" in report.sentence, str(report)


def test_a_gradient_that_cannot_fail_is_no_pass_and_a_length_at_which_it_can_is_named():
    model = NoMaps(n_layers=6)
    short = vz.audit_mask(model, near, d_model=8, n_layers=6, scope=AuditScope(lengths=[7]))
    assert short.verdict == "NOT TESTED" and "lengths=[14]" in short.sentence, str(short)
    long = vz.audit_mask(model, near, d_model=8, n_layers=6, scope=AuditScope(lengths=[14]))
    assert long.verdict == "PASS" and "nowhere else" not in long.sentence, str(long)
    pooled = vz.audit_mask(lambda x, keep: NoMaps()(x, keep)[:, 0], causal, d_model=8, n_layers=2)
    assert pooled.verdict == "NOT TESTED" and "one row a token" in pooled.sentence, str(pooled)


def test_layers_that_are_fewer_than_was_said_are_no_reason_for_a_whole_verdict():
    report = vz.audit_mask(Stack().eval(), banded(3), d_model=8, n_layers=3)
    assert report.verdict == "PASS" and "only 2 of 3 layers" in report.sentence, str(report)


def test_a_leak_that_no_number_of_layers_explains_is_red_all_the_same():
    model = NoMaps()
    report = vz.audit_mask(lambda x, keep: model(x, keep.mT), causal, d_model=8)
    assert own(report)[0] == "gradient", str(report)


@pytest.mark.slow
def test_a_compiled_model_passes():
    model = torch.compile(Stack().eval(), backend="eager")
    assert vz.audit_mask(model, banded(3), d_model=8).verdict == "NOT TESTED"
    report = vz.audit_mask(model, banded(3), d_model=8, n_layers=2)
    assert report.verdict == "PASS", str(report)
    assert said(report, "is compiled") and "nowhere else" not in report.sentence
    assert report.check("gradient").verdict == "PASS"


def test_a_layer_that_is_not_seen_is_a_warning_and_no_leak():
    model = Stack().eval()
    model.layers[1].attend = unseen  # one layer is seen, and the other is not
    report = vz.audit_mask(model, banded(3), d_model=8)
    assert report.verdict == "WARN" and own(report, "WARN") == ["gradient"], str(report)
    assert "n_layers" in report.check("gradient").cure
    assert vz.audit_mask(model, banded(3), d_model=8, n_layers=2).verdict == "PASS"
    stem = nn.Conv1d(8, 8, 3, padding=1)
    mixed = vz.audit_mask(lambda x, keep: model(stem(x.mT).mT, keep), causal, d_model=8)
    assert "gradient" in own(mixed)


# A valid without padding: no check makes any.


class Unpadded(Stack):
    """Right as long as nothing is padding: a mean over all tokens is taken off."""

    def forward(self, x, keep):
        return super().forward(x - x.mean(dim=1, keepdim=True), torch.ones_like(keep))


def test_padding_is_made_nowhere_where_valid_has_none():
    report = audit(Unpadded().eval(), padding, inputs=NO_PADDING)
    assert report.verdict == "PASS", str(report)
    assert said(report, "Padding of any kind")
    assert report.check("padding_invariance").verdict == "NOT TESTED"
    assert report.check("empty_sample").verdict == "NOT TESTED"
    assert report.check("lengths").verdict == "PASS"
    holes = AuditInputs(valid=torch.tensor([[1, 0, 1, 1, 1, 0, 1], [1] * 7]).bool())
    assert said(audit(Stack().eval(), padding, inputs=holes), "your valid has it only between")
    padded = audit(Unpadded().eval(), padding)
    assert not padded.ok and not said(padded, "Padding of any kind")


def test_padding_that_the_intent_opens_may_change_an_output():
    def open_to_padding(valid):
        return padding(torch.ones_like(valid)) & (torch.arange(valid.shape[1]) % 3 > 0)

    report = audit(Stack().eval(), open_to_padding)
    found = report.check("padding_invariance")
    assert report.verdict == "WARN" and own(report, "WARN") == ["padding_invariance"], str(report)
    assert found.key % 3 > 0 and "Add & valid" in found.cure

    def by_the_first(valid):  # who looks at token 0 knows of padding after two layers
        return padding(valid) | (torch.arange(valid.shape[1]) == 0)[:, None]

    found = audit(Stack().eval(), by_the_first).check("padding_invariance")
    assert found.verdict == "WARN" and found.query == 0, found
    mixing = audit(lambda x, keep: Stack()(x - x.mean(1, keepdim=True), keep), banded(3))
    assert mixing.check("padding_invariance").verdict == "FAIL"


# Gradients that cannot be taken are not tested.


class NoBackward(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 1

    @staticmethod
    def backward(context, grad):
        raise RuntimeError("no backward here")


def test_a_backward_pass_that_raises_is_not_tested():
    model = Stack().eval()
    report = audit(lambda x, keep: NoBackward.apply(model(x, keep)), causal)
    assert report.verdict == "PASS", str(report)
    assert said(report, "no backward here")


# Cross-attention is judged, or said not to be.


class Routed(nn.Module):
    """Two layers whose attention shows no map, and four experts by a softmax, or none."""

    def __init__(self, experts):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.experts = Layers("unseen"), experts
        self.router, self.each = nn.Linear(8, 4), nn.Linear(8, 32)

    def forward(self, x, keep):
        x = self.inner(x, keep)
        if not self.experts:
            return x
        each = self.each(x).unflatten(-1, (4, 8))
        return x + torch.einsum("bte,bted->btd", self.router(x).softmax(dim=-1), each)


@pytest.mark.parametrize("experts", [True, False])
def test_a_headline_says_no_more_than_was_judged(experts):
    report = vz.audit_mask(Routed(experts).eval(), padding, d_model=8, n_layers=2)
    assert report.verdict == "PASS", str(report)
    routed = "Not judged: a softmax taken for a router's."
    assert report.sentence.endswith(routed if experts else "checks."), report.sentence
    assert ("nowhere else" in report.sentence) is not experts


class Decoder(nn.Module):
    """Self-attention over tokens, then cross-attention to a memory of five tokens."""

    def __init__(self, memory_mask=None):
        super().__init__()
        torch.manual_seed(0)
        self.itself, self.across = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
        self.memory = nn.Parameter(torch.randn(1, 5, 8))
        self.memory_mask = memory_mask

    def forward(self, x, keep):
        ignore = (~keep).repeat_interleave(2, dim=0)
        x = x + self.itself(x, x, x, attn_mask=ignore, need_weights=False)[0]
        memory = self.memory.expand(len(x), -1, -1)
        mask = None if self.memory_mask is None else self.memory_mask(x.shape[1])
        return x + self.across(x, memory, memory, attn_mask=mask, need_weights=False)[0]


def all_of_memory(valid):
    return torch.ones(*valid.shape, 5, dtype=torch.bool)


def causal_by_mistake(n_queries):
    return ~torch.ones(n_queries, 5, dtype=torch.bool).tril()


class Written(Decoder):
    """The same, in a forward pass that attends to the memory itself, of as many tokens as given."""

    def __init__(self, n_keys, seen):
        super().__init__()
        self.memory, self.seen = nn.Parameter(torch.randn(1, n_keys, 8)), seen
        self.mixes = False  # whether the text is in its memory

    def forward(self, x, keep):
        ignore = (~keep).repeat_interleave(2, dim=0)
        x = x + self.itself(x, x, x, attn_mask=ignore, need_weights=False)[0]
        memory = self.memory + self.mixes * x.mean(1, keepdim=True)
        k, v = split(memory.repeat(1, 1, 2), 2)
        seen = self.seen(torch.ones(x.shape[1], k.shape[2], dtype=torch.bool))
        return x + merged(F.scaled_dot_product_attention(*split(x, 1), k, v, attn_mask=seen))


@pytest.mark.parametrize("n_keys", [slow(3), 7, 12])
def test_a_memory_of_any_number_of_tokens_is_not_taken_for_the_tokens_themselves(n_keys):
    def all_of_it(valid):
        return torch.ones(*valid.shape, n_keys, dtype=torch.bool)

    scope, right = AuditScope(cross=all_of_it), Written(n_keys, lambda all_: all_).eval()
    quiet = vz.audit_mask(right, causal, d_model=8)
    assert quiet.verdict == "PASS" and "Not judged: cross-attention" in quiet.sentence, str(quiet)
    one = vz.audit_batch(right, (torch.randn(2, 7, 8), causal(VALID)), lambda given: given[1])
    assert one.verdict == "PASS" and "Not judged: cross-attention" in one.sentence, str(one)
    assert "nowhere else" in vz.audit_mask(right, causal, d_model=8, scope=scope).sentence
    right.mixes = True  # of the text, it is known by its size and cross= alone
    mixed = vz.audit_mask(right, causal, d_model=8, scope=scope)
    assert mixed.check("cross_attention").verdict == "PASS", str(mixed)
    wrong = vz.audit_mask(Written(n_keys, torch.tril).eval(), causal, d_model=8, scope=scope)
    assert own(wrong) == ["cross_attention"], str(wrong)


@pytest.mark.parametrize("whole", [True, False])
def test_attention_outside_of_a_narrow_module_is_not_called_judged(whole):
    model, scope = Decoder(causal_by_mistake).eval(), AuditScope(cross=all_of_memory)
    given = {"d_model": 8, "module": model if whole else model.itself}

    def run(x, keep):
        return model(x, keep)

    report = vz.audit_mask(run, causal, **given)
    outside = "attention outside of module= (1 call): give a module that holds it"
    assert (outside in report.sentence) is not whole, str(report)
    assert "nowhere else" not in report.sentence
    if whole:
        assert own(vz.audit_mask(run, causal, scope=scope, **given)) == ["cross_attention"]
        return
    with pytest.raises(vz.VizEncoderError, match="seen in module=; give a module that holds it"):
        vz.audit_mask(run, causal, scope=scope, **given)


def media(n_queries, compare):
    """Two pictures of two tokens, before queries 1 and 3; those of no picture see a fifth key."""
    text = torch.arange(n_queries)[:, None] >= torch.tensor([1, 3])
    seen = compare(text.sum(1)[:, None], torch.tensor([1, 1, 2, 2, 0]))
    return seen & (torch.arange(5) < 4)


@pytest.mark.parametrize("meant, code", [("eq", "media_before"), ("ge", "media_last")])
def test_earlier_pictures_that_are_seen_or_left_out_by_mistake_are_named(meant, code):
    other = "ge" if meant == "eq" else "eq"
    scope = AuditScope(
        cross=lambda v: media(v.shape[1], getattr(torch, meant)).expand(len(v), -1, -1)
    )
    for kind, codes in ((meant, []), (other, [code])):
        model = Decoder(lambda n, kind=kind: ~media(n, getattr(torch, kind))).eval()
        report = vz.audit_mask(model, causal, d_model=8, scope=scope)
        assert [one.code for one in report.failed] == codes, str(report)


def test_a_leak_through_cross_attention_has_no_wrong_cause():
    class Across(nn.Module):
        def __init__(self):
            super().__init__()
            self.itself, self.across = Stack(1), nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x, keep):
            memory = F.avg_pool1d(x.mT, 2).mT  # of padding, too
            x = self.itself(x, keep)
            return x + self.across(x, memory, memory, need_weights=False)[0]

    model = Across().eval()
    leaking = vz.audit_mask(model, padding, d_model=8)
    found = leaking.check("gradient")
    assert own(leaking) == ["gradient"] and "across" in found.cause, str(leaking)
    assert "convolution" not in found.cause
    right = vz.audit_mask(model, causal, d_model=8, inputs=NO_PADDING)
    assert right.verdict == "NOT TESTED", str(right)  # the memory may show anyone to anyone
    assert "Not judged: cross-attention (across), by which a token may know" in right.sentence
    for name in ("gradient", "perturbation"):  # no token that it may not know of: not so here
        assert "leaves out real tokens of the same sample" in right.check(name).evidence
    unseen = vz.audit_mask(NoMaps(), causal, d_model=8, inputs=NO_PADDING)
    told = unseen.check("gradient").evidence
    assert "over any number of layers" in told and "give n_layers=" in told, str(unseen)


def test_what_cross_may_see_must_be_bool():
    scope = AuditScope(cross=lambda valid: valid.float())
    with pytest.raises(vz.VizEncoderError, match="cross="):
        vz.audit_mask(Decoder().eval(), causal, d_model=8, scope=scope)


# Pictures as input.


class Patches(nn.Module):
    """16 patches of 2 × 2 of a picture of 3 × 8 × 8, through a right stack."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cut, self.stack = nn.Conv2d(3, 8, 2, 2), Stack()

    def forward(self, pixels, keep):
        return self.stack(self.cut(pixels).flatten(2).mT, keep)


def pictures(seed, batch, length):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, 3, 8, 8, generator=generator)


PICTURES = AuditInputs(make=pictures, valid=torch.ones(3, 16, dtype=torch.bool))


def test_padded_patches_of_a_picture():
    some = torch.arange(16) < torch.tensor([[11], [7], [16]])
    given = AuditInputs(make=pictures, valid=some)
    right = vz.audit_mask(Patches().eval(), padding, inputs=given)
    assert right.verdict == "PASS", str(right)
    assert said(right, "no padding can be cut off")
    model = Patches().eval()
    wrong = vz.audit_mask(lambda x, keep: model(x, keep | True), padding, inputs=given)
    assert wrong.check("gradient").verdict == wrong.check("maps").verdict == "FAIL"


def test_a_picture_that_has_not_so_many_patches_is_answered():
    with pytest.raises(vz.VizEncoderError, match="7 square patches"):
        vz.audit_mask(Patches().eval(), padding, inputs=AuditInputs(make=pictures))


def test_inputs_without_an_axis_of_tokens_are_not_tested_by_token():
    cut = nn.Conv1d(1, 8, 4, 4)
    model = Stack().eval()
    valid = torch.ones(3, 16, dtype=torch.bool)
    waves = AuditInputs(make=lambda seed, batch, n: torch.randn(batch, 1, 64), valid=valid)
    report = audit(lambda x, keep: model(cut(x).mT, keep), padding, inputs=waves)
    assert report.verdict == "PASS", str(report)
    for name in ("gradient", "perturbation", "poisoned_padding"):
        assert report.check(name).verdict == "NOT TESTED"
    assert report.check("maps").verdict == "PASS"


# Gaps that must be said.


class Cached:
    """Whole and step by step; `forgets` the padding of the prompt once it is in the cache."""

    def __init__(self, forgets=False):
        self.model, self.forgets = Stack(1).eval(), forgets

    def __call__(self, x, keep):
        return self.model(x, keep)

    def without_mask(self, x, cache):
        return self.step(x, cache, causal(torch.ones(len(x), 99).bool()))

    def step(self, x, cache, keep):
        first = cache is None
        seen = x if first else torch.cat([cache, x], 1)
        n_all = seen.shape[1]
        keep = keep[:, :n_all, :n_all]
        if self.forgets and not first:
            keep = torch.ones_like(keep).tril()
        return self.model(seen, keep)[:, -x.shape[1] :], seen


def test_a_cache_is_tried_with_padding_or_it_is_said():
    right, wrong = Cached(), Cached(forgets=True)
    quiet = audit(right, causal, n_layers=1, scope=AuditScope(step=right.without_mask))
    assert quiet.ok and said(quiet, "A KV cache with padding"), str(quiet)
    tried = audit(right, causal, n_layers=1, scope=AuditScope(step=right.step))
    assert tried.ok and not said(tried, "A KV cache with padding"), str(tried)
    assert said(tried, "beam search")
    forgotten = audit(wrong, causal, n_layers=1, scope=AuditScope(step=wrong.step))
    assert own(forgotten) == ["cache"], str(forgotten)
    assert forgotten.check("cache").code == "cache_padding"
    assert re.search(r"token \d+ of sample \d+ differs by \S+ between", str(forgotten))


Both = namedtuple("Both", ["pairs", "tokens"])


@pytest.mark.parametrize("kind", [Both, lambda a, b: (a, (b,)), lambda a, b: {"a": a, "b": [b]}])
def test_each_mask_in_a_tuple_is_looked_at_by_itself(kind):
    model = Stack().eval()

    def first(passed):
        return next(iter(passed.values())) if isinstance(passed, dict) else passed[0]

    report = audit(
        lambda x, passed: model(x, first(passed)),
        causal,
        lambda valid: kind(causal(valid), ~valid),
    )
    found = report.check("mask_used")
    assert report.verdict == "PASS" and found.verdict == "INFO"
    assert "changes nothing" in found.evidence
    assert audit(lambda x, p: model(x, p), causal).check("mask_used").verdict == "PASS"


def test_what_hides_its_mask_is_said_not_to_be_read():
    class Sealed:
        def __init__(self, keep):
            self.keep = keep

    class Opened(Stack):
        def forward(self, x, sealed):
            return super().forward(x, sealed.keep)

    report = audit(Opened().eval(), causal, lambda valid: Sealed(causal(valid)))
    assert report.verdict == "PASS", str(report)
    assert said(report, "Sealed")


# Half precision.


@pytest.mark.parametrize(("seed", "attn"), [(45, "sdpa"), (0, "eager")])
def test_rounding_in_half_precision_is_no_leak(seed, attn):
    given = bert(seed, attn, torch.float16)
    report = vz.audit_mask(given.model, given.intent, given.make_mask, seed=seed, **given.options)
    assert report.verdict == "PASS", str(report)
