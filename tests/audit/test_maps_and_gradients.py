"""Maps, gradients and the mask itself: each check sees a plant that it alone can see."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.audit.audits import audit, encoder_of_torch, own
from tests.audit.plants import NoMaps, Stack, causal, padding
from viz_encoder.audit.measure.parts import mixing_parts
from viz_encoder.audit.measure.reach import reach
from viz_encoder.audit.measure.setting import Setting
from viz_encoder.audit.measure.subject import Subject


def test_one_head_of_one_layer_is_found_and_pictured():
    class OneHead(Stack):
        def forward(self, x, keep):
            x = self.layers[0](x, keep)
            both = keep[:, None].repeat(1, 2, 1, 1)
            both[:, 1] = True
            return self.layers[1](x, both)

    report = audit(OneHead(), causal)
    found, shot = report.check("maps"), report.pictures[0]
    assert (found.layer, found.head) == (1, 1) == (shot.layer, shot.head)
    assert "only in layer 1 (heads [1])" in found.evidence
    assert shot.leaks[found.query, found.key] and not (shot.leaks & shot.intended).any()
    assert shot.observed[found.query, found.key] == pytest.approx(found.amount)


def test_static_finds_a_tilde_on_whole_numbers():
    report = audit(
        lambda x, mask: Stack()(x, mask.bool()[:, None, :].expand(-1, x.shape[1], -1)),
        padding,
        lambda valid: ~valid.int(),
    )
    assert report.check("static").verdict == "FAIL"
    assert report.check("static").code == "int_inverted"


@pytest.mark.parametrize("how", ["equal", "not 0", "both"])
def test_a_number_that_is_only_compared_bans_nothing(how):
    class Compared(Stack):
        def forward(self, x, keep):
            mask = (1.0 - keep.to(x.dtype)) * -10000.0
            mask = mask[:, None].to(torch.float64).to(x.dtype)
            out = super().forward(x, ~mask[:, 0].bool() if how == "not 0" else mask[:, 0] == 0)
            return out + 0 * mask.sum() if how == "both" else out

    warned = own(audit(Compared().eval(), causal), "WARN")
    assert warned == (["constants"] if how == "both" else [])


@pytest.mark.parametrize("compared", [True, False])
def test_a_passed_number_warns_where_it_is_added_and_not_where_it_is_compared(compared):
    """Added, it loses to a score below it; compared, it leaves no weight."""

    class Given(Stack):
        def forward(self, x, mask):
            inner = mask == 0 if compared else torch.ones_like(mask).bool()
            for layer in self.layers:
                x = layer(x, inner, None if compared else mask[:, None])
            return x

    report = audit(Given().eval(), causal, lambda valid: (~causal(valid)).float() * -1e4)
    assert report.ok and own(report, "WARN") == ([] if compared else ["constants"]), str(report)


def test_a_mask_after_the_softmax_and_a_sink_are_told_apart():
    def after(q, k, v, keep):
        return (q @ k.mT).softmax(-1).masked_fill(~keep, 0.0) @ v

    def sink(q, k, v, keep):
        scores = F.pad((q @ k.mT).masked_fill(~keep, -torch.inf), (0, 1))
        return scores.softmax(-1)[..., :-1] @ v

    report = audit(Stack(attend=after), causal)
    assert own(report) == ["row_sums"] and report.check("row_sums").code == "after_softmax"
    report = audit(Stack(attend=sink), causal)
    assert report.verdict == "PASS" and report.check("row_sums").verdict == "INFO"


def test_peaked_weights_that_are_0_are_no_lost_links():
    for kind in (Stack, NoMaps):
        model = kind(seed=3)
        with torch.no_grad():
            for layer in model.layers:
                layer.qkv.weight[:16] *= 4 if kind is NoMaps else 40
        report = audit(model, causal)
        assert report.verdict == "PASS", str(report)


def test_the_number_of_experts_is_no_number_of_keys():
    class Gated(Stack):
        def forward(self, x, keep):
            x = super().forward(x, keep)
            gate = (x @ torch.ones(8, 7)).softmax(-1)
            return x + torch.einsum("ble,ed->bld", gate, torch.ones(7, 8))

    report = audit(Gated(), causal)
    assert report.verdict == "PASS", str(report)


def test_nan_gradients_of_padded_inputs_alone_are_not_red():
    model = Stack()

    def divided(x, valid):
        x = (x / valid[..., None]).masked_fill(~valid[..., None], 0.0)
        return model(x, padding(valid))

    report = audit(divided, padding, lambda valid: valid)
    assert report.verdict == "PASS", str(report)


def test_a_leak_on_one_path_or_on_both():
    encoder = encoder_of_torch()

    def open_to_all(x, ignored):
        return encoder(x, src_key_padding_mask=torch.zeros_like(ignored))

    maps = audit(open_to_all, padding, lambda valid: ~valid, d_model=32).check("maps")
    assert maps.verdict == "FAIL" and maps.code == "ignored" and "gradients" not in maps.evidence
    assert maps.cause.startswith("every token looks at every token")

    def open_with_gradients(x, ignored):
        return encoder(x, src_key_padding_mask=ignored & (not torch.is_grad_enabled()))

    maps = audit(open_with_gradients, padding, lambda valid: ~valid, d_model=32).check("maps")
    assert maps.code == "path" and "without them it does not" in maps.evidence


def test_reach_is_the_closure_of_all_paths():
    allowed = torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]).bool()
    known = reach(allowed, 3)
    for layer, query, key in torch.cartesian_prod(*(torch.arange(n) for n in (3, 4, 4))).tolist():
        assert known[layer, query, key] == (0 <= query - key <= layer + 1)


class ChannelsFirst(Stack):
    """Values "d key" times weights whose queries and keys are exchanged, as of pictures."""

    def forward(self, x, keep):
        for layer in self.layers:
            q, k, v = (part.mT for part in layer.qkv(x).chunk(3, -1))
            scores = torch.bmm(q.permute(0, 2, 1), k).masked_fill(~keep, -torch.inf)
            weights = scores.softmax(dim=2)
            x = x + layer.out(torch.bmm(v, self.exchanged(weights)).mT)
        return x


class TiedRows(Stack):
    """All rows of an alignment share their weights."""

    def forward(self, x, keep):
        rows = torch.stack([x, -x], dim=1)
        for layer in self.layers:
            q, k, v = (part.unflatten(-1, (2, -1)) for part in layer.qkv(rows).chunk(3, -1))
            scores = torch.einsum("brihd,brjhd->bhij", q, k) / 4
            weights = scores.masked_fill(~keep[:, None], -torch.inf).softmax(dim=-1)
            mixed = torch.einsum("bhij,brjhd->brihd", weights, v)
            rows = rows + layer.out(mixed.flatten(3))
        return rows[:, 0]


EXCHANGED = {
    "permute": lambda weights: weights.permute(0, 2, 1),
    "transpose": lambda weights: weights.transpose(1, 2).contiguous(),
    "mT": lambda weights: weights.mT,
    "not": lambda weights: weights,
}


@pytest.mark.parametrize("how", [*EXCHANGED, "tied"])
def test_weights_that_stand_after_the_values_or_are_tied_are_seen(how):
    model = (TiedRows() if how == "tied" else ChannelsFirst()).eval()
    model.exchanged = EXCHANGED.get(how)
    right, wrong = audit(model, causal), audit(lambda x, keep: model(x, keep | True), causal)
    assert right.verdict == ("FAIL" if how == "not" else "PASS"), str(right)
    assert wrong.verdict == "FAIL"
    assert not any(f"'{name}" in str(one) for name in ("call", "parts") for one in (right, wrong))
    if how == "not":
        assert "ran in your model" in wrong.check("maps").evidence
    if how != "not":  # there the maps are of keys, and gradients judge
        assert right.check("maps").verdict == "PASS", str(right)
        assert wrong.check("maps").code == "ignored"


class UsedTwice(Stack):
    """Each layer's own softmax, whose weights are read once more; the second layer is causal."""

    def forward(self, x, keep):
        for number, layer in enumerate(self.layers):
            q, k, v = layer.qkv(x).chunk(3, -1)
            mask = keep.tril() if number and self.wrong else keep
            weights = (q @ k.mT).masked_fill(~mask, torch.finfo(x.dtype).min).softmax(dim=-1)
            self.kept = USES[self.use](weights)
            if number and self.use == "summed":
                x = x + layer.out((weights[..., None] * v[:, None]).sum(dim=-2))
            else:
                x = x + layer.out((self.kept if self.use in REPLACING else weights) @ v)
        return x


USES = {
    "entropy": lambda weights: weights * weights.clamp_min(1e-9).log(),
    "masked": lambda weights: weights.masked_fill(weights < 0.1, 0.0),
    "exchanged": lambda weights: weights.transpose(-1, -2),
    "divided": lambda weights: weights / weights.sum(dim=-1, keepdim=True),
    "numbers": lambda weights: weights.nan_to_num(0.0),
    "summed": lambda weights: weights,
}
REPLACING = ("divided", "numbers")


@pytest.mark.parametrize("use", USES)
def test_a_softmax_whose_weights_are_read_twice_is_judged_or_said_not_to_be(use):
    model = UsedTwice().eval()
    model.use, reports = use, []
    for model.wrong in (False, True):
        reports.append(audit(model, padding))
    right, wrong = reports
    if use == "summed":
        assert "Not judged: a softmax that was not seen to meet values" in right.sentence
        assert wrong.sentence == right.sentence
    else:
        assert right.sentence.startswith("Tokens look where they are meant to"), right.sentence
        assert wrong.verdict == "FAIL", str(wrong)


def mixed(self, x):
    return F.linear(x, self.weight, self.bias).cumsum(dim=1)


def as_it_is(part):
    """A part of a known kind; each of the others makes tokens mix in one."""


def hooked(part):
    part.register_forward_hook(lambda part, args, out: out.cumsum(dim=1))


def with_its_own_forward(part):
    part.forward = partial(mixed, part)


def of_another_class(part):
    part.__class__ = type("Mixing", (nn.Linear,), {"forward": mixed})


WAYS = (as_it_is, hooked, with_its_own_forward, of_another_class)


@pytest.mark.parametrize("way", [*WAYS, "patched", "turned", "both axes"])
def test_a_part_of_a_known_kind_is_tried_wherever_it_may_mix_tokens(way, monkeypatch):
    case = Setting((causal,), causal, lambda seed, b, n: torch.randn(b, n, 8), first=7).base()
    model = nn.Module()
    model.part = nn.LayerNorm((7, 8)) if way == "both axes" else nn.Linear(8, 8)
    if way == "turned":
        model.part = nn.Linear(7, 7)
    if way == "patched":
        monkeypatch.setattr(nn.Linear, "forward", mixed)
    if callable(way):
        way(model.part)
    model.forward = lambda x, keep: model.part(x.mT).mT if way == "turned" else model.part(x)
    found = [one.name for one in mixing_parts(Subject(model), case)]
    assert found == ([] if way is as_it_is else ["part"])
