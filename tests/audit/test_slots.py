"""Keys that hold no token: closed ones are nothing, a sink is told, an open filling is a fault."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.layouts import Layers, OfBatch, batch, by_hand, sdpa
from tests.audit.plants import banded, causal, padding
from tests.slow import slow, slow_but
from viz_encoder.audit import AuditInputs, AuditScope

BATCHES = ((6, 4, 9, 2), (9, 9, 9, 9), (5, 4, 7, 3))  # padded, whole, and none of them whole


def filled(how, *, attend=sdpa, front=False, size=None, among_queries=False):
    """Keys and values filled up to blocks of 8, or to a cache of a fixed size."""

    def layout(q, k, v, keep):
        more = size - k.shape[2] if size else -k.shape[2] % 8
        if how == "the last again":
            k, v = (F.pad(part, (0, 0, 0, more), "replicate") for part in (k, v))
        else:
            side = (0, 0, more, 0) if front else (0, 0, 0, more)
            k, v = F.pad(k, side), F.pad(v, side)
        rows = (0, more) if among_queries else (0, 0)
        side = (more, 0) if front else (0, more)
        keep = F.pad(keep, (*side, *rows), value=how != "closed")
        q = F.pad(q, (0, 0, *rows))
        return attend(q, k, v, keep)[:, :, : q.shape[2] - rows[1]]

    return layout


def watched(model, given, intent):
    looks = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with vz.watch(model.train(), every=1, intent=intent, log=looks.append):
            model(**given).square().mean().backward()
    return looks[0]


def judged(layout, intent, batches=BATCHES[:1]):
    """The verdicts of audit_mask, and of each batch by audit_batch and by watch."""
    scope = AuditScope(lengths=[7])
    verdicts = {vz.audit_mask(Layers(layout).eval(), intent, d_model=8, scope=scope).verdict}
    for lengths in batches:
        model, given = OfBatch(Layers(layout), intent), batch(lengths, 9)
        one = vz.audit_batch(model.eval(), given, lambda it: intent(it["valid"]))
        look = watched(model, given, lambda it: intent(it["valid"]))
        seen = [check.verdict for check in look.checks if check.name == "maps"]
        verdicts |= {one.verdict, *(seen or ["PASS"])}
    return verdicts


KINDS = {
    "after": {},
    "before": {"front": True},
    "a cache": {"size": 64},
    "by hand": {"attend": by_hand},
    "among the queries": {"among_queries": True},
}


@pytest.mark.parametrize("kind", slow_but(["before", "a cache", "among the queries"], KINDS))
@pytest.mark.parametrize("intent", [slow(padding), causal, slow(banded(3))])
def test_closed_slots_are_nothing_and_open_ones_a_fault(intent, kind):
    assert judged(filled("closed", **KINDS[kind]), intent) == {"PASS"}
    assert judged(filled("zeros", **KINDS[kind]), intent, BATCHES[:2]) == {"FAIL"}
    if kind not in ("before", "among the queries"):
        assert judged(filled("the last again", **KINDS[kind]), intent) == {"FAIL"}


def test_open_slots_are_named_with_the_line_to_write():
    report = vz.audit_mask(Layers(filled("zeros")).eval(), padding, d_model=8)
    found = report.check("maps")
    assert own(report)[0] == "maps" and found.code == "open_slots", str(report)
    assert (
        found.evidence.startswith("Layer 0: 1 key without a token left open")
        and "F.pad" in found.cure
    )


def in_some(where):
    """Filled up with slots that only some samples, or only the second head, leave open."""

    def layout(q, k, v, keep):
        more = -k.shape[2] % 8
        k, v = (F.pad(part, (0, 0, 0, more)) for part in (k, v))
        keep = F.pad(keep, (0, more)).expand(-1, 2, -1, -1).clone()
        keep[where][..., keep.shape[3] - more :] = True
        return sdpa(q, k, v, keep)

    return layout


@pytest.mark.parametrize("where", [slice(1, None), (slice(None), 1)])
def test_slots_that_only_some_leave_open(where):
    assert judged(in_some(where), causal) == {"FAIL"}


def looking_back(fill, opened, by_einsum, size=3):
    """Chunks that look at the one before; a filling stands before the first, and it may be open."""

    def layout(q, k, v, keep):
        n_tokens, more = q.shape[2], -q.shape[2] % size
        q = F.pad(q, (0, 0, 0, more)).unflatten(2, (-1, size))
        k, v = (F.pad(F.pad(x, (0, 0, 0, more)), (0, 0, size, 0), value=fill) for x in (k, v))
        k, v = (x.unfold(2, 2 * size, size).mT for x in (k, v))
        keep = F.pad(F.pad(keep, (0, more, 0, more)), (size, 0), value=opened)
        rows = enumerate(keep.unflatten(2, (-1, size)).unbind(2))
        keep = torch.stack([row[..., size * n :][..., : 2 * size] for n, row in rows], dim=2)
        if not by_einsum:
            return by_hand(q, k, v, keep).flatten(2, 3)[:, :, :n_tokens]
        scores = torch.einsum("bhnid,bhnjd->bhnij", q, k).masked_fill(~keep, -1e30)
        mixed = torch.einsum("bhnij,bhnjd->bhnid", scores.softmax(dim=-1), v)
        return mixed.flatten(2, 3)[:, :, :n_tokens]

    return layout


@pytest.mark.parametrize("fill, by_einsum", [(0.0, False), (-1.0, False), (-1.0, True)])
def test_a_filling_before_the_first_chunk_is_a_fault_where_it_is_open(fill, by_einsum):
    def intent(valid):
        chunk = torch.arange(valid.shape[1]) // 3
        return causal(valid) & (chunk[:, None] - chunk[None, :] < 2)

    for opened, code in ((True, "open_slots"), (False, "")):
        model = Layers(looking_back(fill, opened, by_einsum), n_layers=1).eval()
        report = vz.audit_mask(model, intent, d_model=8, scope=AuditScope(lengths=[7]))
        assert report.check("maps").code == code, report
        assert code or report.sentence.startswith("Tokens look where"), report


class Sink(nn.Module):
    """Keys of no token that a model has on purpose: zeros or learned ones, before or after."""

    def __init__(self, kind):
        super().__init__()
        torch.manual_seed(0)
        self.count, self.front = (2, True) if kind == "memory" else (1, kind == "zero before")
        self.memory = nn.Parameter(torch.randn(1, 2, self.count, 4), requires_grad=False)
        if kind.startswith("zero"):
            self.memory.zero_()

    def forward(self, q, k, v, keep):
        more = self.memory.expand(len(k), -1, -1, -1)
        k, v = (torch.cat([more, x] if self.front else [x, more], dim=2) for x in (k, v))
        side = (self.count, 0) if self.front else (0, self.count)
        return sdpa(q, k, v, F.pad(keep, side, value=True))


@pytest.mark.parametrize("kind", ["zero before", "zero after", "memory"])
@pytest.mark.parametrize("intent", [causal, slow(padding)])
def test_a_sink_is_no_fault(kind, intent):
    assert judged(Sink(kind), intent, BATCHES) == {"PASS"}


@pytest.mark.parametrize("options", [{"add_zero_attn": True}, {"add_bias_kv": True}])
def test_a_sink_of_torch_is_no_fault_where_it_fills_a_block(options):
    attention = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention

        def forward(self, x, valid):
            return self.attention(x, x, x, key_padding_mask=~valid)[0]

    given = batch((7, 4, 2), 7)  # with the sink 8 keys
    for model in (Attends().train(), Attends().eval()):
        report = vz.audit_batch(model, given, lambda it: padding(it["valid"]))
        assert report.verdict == "PASS", str(report)


class Prefixed(nn.Module):
    """Three learned keys before the tokens; their part of the mask is put at either end."""

    def __init__(self, sides, attend=F.scaled_dot_product_attention, *, opened=True):
        super().__init__()
        torch.manual_seed(0)
        self.sides, self.attend, self.opened = sides, attend, opened
        self.qkv, self.prefix = nn.Linear(8, 24), nn.Parameter(torch.randn(2, 1, 1, 3, 8))

    def forward(self, x, keep):
        q, *kv = self.qkv(x)[:, None].chunk(3, -1)
        k, v = (
            torch.cat([prefix.expand(len(x), -1, -1, -1), part], 2)
            for prefix, part in zip(self.prefix, kv, strict=True)
        )
        keep = F.pad(keep, self.sides, value=self.opened)[:, None]
        return x + self.attend(q, k, v, keep)[:, 0]


def by_einsum(q, k, v, keep):
    scores = torch.einsum("bhid,bhjd->bhij", q, k).masked_fill(~keep, -1e30)
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)


def of_the_prefix(valid):
    return valid.new_ones(*valid.shape, 3)


@pytest.mark.parametrize("attend", [F.scaled_dot_product_attention, by_einsum])
def test_a_prefix_is_known_by_what_it_holds_wherever_the_mask_is_open(attend):
    right = vz.audit_mask(Prefixed((3, 0), attend), causal, d_model=8)
    assert "Not judged: 3 keys beside the tokens in layer 0" in right.sentence, str(right)
    told = AuditScope(cross=of_the_prefix)
    report = vz.audit_mask(Prefixed((3, 0), attend), causal, d_model=8, scope=told)
    assert "nowhere else" in report.sentence, str(report)
    told = AuditScope(cross=lambda valid: of_the_prefix(valid) & (torch.arange(3) < 2))
    report = vz.audit_mask(Prefixed((3, 0), attend), causal, d_model=8, scope=told)
    assert own(report) == ["cross_attention"], str(report)
    for opened in (True, False):
        wrong = vz.audit_mask(Prefixed((0, 3), attend, opened=opened), causal, d_model=8)
        assert own(wrong)[0] == "maps", str(wrong)
        assert wrong.failed[0].cause.startswith("the mask does not count the keys"), str(wrong)


def interleaved(q, k, v, keep):
    """Before each token a fixed key, as actions stand between states."""
    fixed = torch.randn(2, 1, 1, 64, 8, generator=torch.Generator().manual_seed(0))
    fixed = fixed[..., : k.shape[2], : k.shape[3]]
    k, v = (
        torch.stack([one.expand_as(part), part], 3).flatten(2, 3)
        for one, part in zip(fixed, (k, v), strict=True)
    )
    return sdpa(q, k, v, keep.repeat_interleave(2, dim=-1))


def test_fixed_keys_between_the_tokens_are_no_filling_though_they_grow_with_the_text():
    report = vz.audit_mask(Layers(interleaved).eval(), causal, d_model=8)
    assert report.verdict == "PASS", str(report)
    assert "7 keys beside the tokens in layers 0 and 1" in report.sentence, str(report)


def compressed(spoiled):
    """Besides the tokens, the mean of each two of them: open after both, or always if spoiled."""

    def layout(q, k, v, keep):
        place = torch.arange(k.shape[2])
        ends = place[1::2]
        means = [part[:, :, : 2 * len(ends)].unflatten(2, (-1, 2)).mean(3) for part in (k, v)]
        more = (ends <= place[:, None]) | spoiled
        keep = torch.cat([keep, more.expand(len(k), 1, -1, -1)], dim=-1)
        return sdpa(q, torch.cat([k, means[0]], 2), torch.cat([v, means[1]], 2), keep)

    return layout


def test_keys_made_of_several_tokens_are_not_judged():
    whole = AuditInputs(valid=torch.ones(3, 7, dtype=torch.bool))
    right, wrong = (
        vz.audit_mask(Layers(compressed(spoiled)).eval(), causal, d_model=8, inputs=whole)
        for spoiled in (False, True)
    )
    assert right.verdict == "PASS", str(right)
    assert wrong.failed[0].cause.startswith("not known"), str(wrong)
    assert "3 keys beside the tokens in layers 0 and 1" in wrong.failed[0].cause, str(wrong)
    assert "made of several tokens" in wrong.failed[0].cure, str(wrong)
