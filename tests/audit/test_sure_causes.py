"""A cause is said as certain only where it alone explains what was seen; each has a near twin."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.plants import Stack, causal, near, padding
from tests.audit.transformers_models import GPT2, embedded, made, ones
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.audit.diagnose.diagnosis import causes
from viz_encoder.audit.report import is_sure


class Kept(Stack):
    """Its mask is that of the call before, where that had as many samples and tokens."""

    def __init__(self, *, kept):
        super().__init__()
        self.kept, self.last = kept, None

    def forward(self, x, keep):
        stale, self.last = self.last, keep
        use = self.kept and stale is not None and stale.shape == keep.shape
        return super().forward(x, stale if use else keep)


@pytest.mark.parametrize("kept", [True, False])
def test_the_mask_of_the_call_before_is_called_so_by_both_audits(kept):
    report = audit(Kept(kept=kept).eval())
    assert own(report) == (["runs"] if kept else [])
    model, valid = Kept(kept=kept).eval(), torch.arange(7) < torch.tensor([5, 3, 7])[:, None]
    x = torch.randn(3, 7, 8)
    model(x, padding(valid.roll(1, 0)))
    batch = vz.audit_batch(model, {"x": x, "keep": padding(valid)}, lambda b: b["keep"])
    assert own(batch) == (["runs"] if kept else [])
    for found in (report.check("runs"), batch.check("runs")):
        assert found.code == ("kept" if kept else "")
        assert not found.cause.startswith("consistent with")


class Translator(nn.Module):
    """torch's own encoder and decoder, over the same tokens."""

    def __init__(self, *, masks_memory, masks_queries=False):
        super().__init__()
        torch.manual_seed(0)
        self.both = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
        self.masks_memory, self.masks_queries = masks_memory, masks_queries

    def forward(self, x, ignored):
        ahead = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        memory = ignored if self.masks_memory else None
        queries = ignored[:, :, None].expand(-1, -1, x.shape[1]) * -1e9
        across = queries.repeat_interleave(2, 0) if self.masks_queries else None
        given = {"src_key_padding_mask": ignored, "tgt_key_padding_mask": ignored}
        across_too = {"memory_mask": across, "memory_key_padding_mask": memory}
        return self.both(x, x, tgt_mask=ahead, **across_too, **given)


@pytest.mark.parametrize("masks_memory", [True, False])
@pytest.mark.parametrize("scope", [AuditScope(cross=padding), AuditScope()])
def test_memory_that_is_not_masked_is_not_called_two_paths(masks_memory, scope):
    model, intents = Translator(masks_memory=masks_memory).eval(), [padding, causal]
    report = vz.audit_mask(model, intents, lambda valid: ~valid, d_model=8, scope=scope)
    path = report.check("grad_mode")
    assert path.code == "" if masks_memory else path.cause.startswith("consistent with")
    if scope.cross is not None:
        assert own(report) == ([] if masks_memory else ["cross_attention"])


@pytest.mark.parametrize("code, masks_queries", [("transposed", True), ("ignored", False)])
def test_memory_that_is_open_is_not_surely_unmasked_where_queries_are_masked(code, masks_queries):
    model = Translator(masks_memory=False, masks_queries=masks_queries).eval()
    intents, scope = [padding, causal], AuditScope(cross=padding)
    report = vz.audit_mask(model, intents, lambda valid: ~valid, d_model=8, scope=scope)
    found = report.check("cross_attention")
    assert (found.code, found.cause.startswith("consistent with")) == (code, masks_queries)


@pytest.mark.parametrize("masked", [True, False])
def test_linear_attention_beside_the_layers_is_not_called_no_attention(masked):
    inner = Stack().eval()

    def forward(x, valid):
        keys = x.sigmoid() * valid[..., None] if masked else x.sigmoid()
        linear = x.sigmoid() @ (keys.mT @ x) / (x.sigmoid() @ keys.sum(1)[..., None])
        return inner(x, padding(valid)) + linear

    report = audit(forward, padding, lambda valid: valid, module=inner)
    assert (report.verdict == "PASS") is masked, str(report)
    assert masked or "linear attention" in report.check("gradient").cause


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_picture_joined_at_the_end_of_the_mask_is_not_called_the_wrong_side(side):
    text = torch.arange(6) < torch.tensor([6, 4, 2])[:, None]
    text = text.flip(1) if side == "left" else text
    valid = torch.cat([torch.ones(3, 3, dtype=torch.bool), text], 1)

    def joined(known, *, in_front):
        picture = known[:, :3] | True
        keys = torch.cat([picture, known[:, 3:]][:: 1 if in_front else -1], 1)
        return causal(keys) | torch.eye(9, dtype=torch.bool)

    given = {"inputs": AuditInputs(valid=valid)}
    right = audit(Stack().eval(), causal, lambda v: joined(v, in_front=True), **given)
    assert right.check("maps").verdict == "PASS", str(right)
    wrong = audit(Stack().eval(), causal, lambda v: joined(v, in_front=False), **given)
    found = wrong.check("maps")
    names = {"left": "stand in another order", "right": "shifted relative to the tokens, 3"}
    assert names[side] in found.cause and is_sure(found.cause), str(wrong)


def at_the_end(valid):
    return torch.arange(valid.shape[1]) < valid.sum(1, keepdim=True)


@pytest.mark.parametrize("wrong", ["joined", "counted"])
@pytest.mark.parametrize("n_front", [0, 2])
def test_a_picture_behind_a_padded_text_is_not_called_lengths_or_a_shift(n_front, wrong):
    """Where the text is moved to the end, both faults give the same mask, and one cause is both."""
    text = torch.arange(4) < torch.tensor([2, 4, 1])[:, None]
    parts = [torch.ones(3, n, dtype=torch.bool) for n in (n_front, 5)]
    valid = torch.cat([parts[0], text, parts[1]], 1)
    given = {"inputs": AuditInputs(valid=valid)}
    assert audit(Stack().eval(), padding, **given).verdict == "PASS"
    first = n_front + 4 if n_front == 0 else n_front

    def mask(v):
        return padding(at_the_end(v) if wrong == "counted" else v.roll(-first, 1))

    found = audit(Stack().eval(), padding, mask, **given).check("maps")
    told = [code for code, one in causes().items() if one.sentence in found.cause]
    assert told == (["joined"] if n_front and wrong == "joined" else ["counted"]), found
    assert is_sure(found.cause)


class MemorySlots(nn.Module):
    """Two learned keys in front of the tokens, whose True is put in front of the mask or behind."""

    def __init__(self, behind: bool) -> None:
        super().__init__()
        self.behind, self.qkv = behind, nn.Linear(8, 24)
        self.slots = nn.Parameter(torch.randn(2, 1, 2, 2, 4))

    def forward(self, x, mask):
        q, k, v = self.qkv(x).unflatten(2, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        k, v = (
            torch.cat([slot.expand(len(x), -1, -1, -1), own], dim=2)
            for slot, own in zip(self.slots, (k, v), strict=True)
        )
        mask = nn.functional.pad(mask, (0, 2) if self.behind else (2, 0), value=True)
        out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        return x + out.transpose(1, 2).flatten(2)


@pytest.mark.parametrize("behind", [True, False])
def test_a_mask_joined_behind_memory_slots_is_not_called_right_for_one_sample(behind):
    torch.manual_seed(0)
    report = vz.audit_mask(MemorySlots(behind).eval(), padding, d_model=8)
    assert report.verdict == ("FAIL" if behind else "PASS")
    assert not any("batch of one" in (check.cause or "") for check in report.checks)


def without_every_third(valid):
    return near(valid) & (torch.arange(valid.shape[1]) % 3 != 2)


def test_a_transposed_mask_with_empty_rows_is_still_called_so():
    turned = audit(Stack().eval(), without_every_third, lambda v: without_every_third(v).mT)
    assert turned.failed[0].code == "transposed", str(turned)


class OverQueries(Stack):
    """A softmax over the queries in its last layers; its mask may be transposed besides."""

    def __init__(self, first, *, transposed=False):
        super().__init__()
        self.first, self.transposed = first, transposed

    def forward(self, x, keep):
        for number, layer in enumerate(self.layers):
            q, k, v = layer.qkv(x).chunk(3, -1)
            scores = (q @ k.mT).masked_fill(~(keep.mT if self.transposed else keep), -1e9)
            x = x + layer.out(scores.softmax(dim=1 if number >= self.first else 2) @ v)
        return x


@pytest.mark.parametrize("first, code", [(0, "wrong_axis"), (1, "wrong_axis"), (2, "")])
@pytest.mark.parametrize("intent", [padding, causal])
def test_a_softmax_over_the_queries_is_called_so(first, code, intent):
    report = audit(OverQueries(first).eval(), intent)
    assert report.verdict == ("FAIL" if code else "PASS"), str(report)
    assert {check.code for check in report.checks if check.cause} == ({code} if code else set())


def test_a_softmax_over_the_queries_is_not_named_where_more_is_wrong():
    report = audit(OverQueries(0, transposed=True).eval(), causal)
    assert report.failed[0].cause == "not known.", str(report)


class Unlike(Stack):
    """Masks padded batches rightly, and otherwise those of one sample, or without padding."""

    def forward(self, x, valid):
        keep = padding(valid)
        if self.when == "unpadded" and bool(valid.all()):
            keep = causal(valid)
        if self.when == "one sample" and len(valid) == 1:
            keep = causal(valid)
        return super().forward(x, keep)


@pytest.mark.parametrize(
    "when, code", [("unpadded", "causal_added"), ("one sample", "one_sample"), ("never", "")]
)
def test_attention_that_is_wrong_in_a_sample_alone_is_the_cause(when, code):
    model = Unlike().eval()
    model.when = when
    report = audit(model, padding, lambda valid: valid)
    found = [(c.code, c.cause) for c in report.failed]
    assert [c for c, _ in found] == ([code] if code else []), str(report)
    assert when != "unpadded" or "only where a batch has no padding" in found[0][1]


def test_positions_are_the_cause_where_giving_position_ids_mends_it():
    model = made(0, "GPT2", GPT2, embedded)
    found = vz.audit_mask(model, causal, ones, d_model=16).check("left_padding")
    assert found.code == "positions" and found.cause.startswith("positions"), found
    assert "position_ids" in found.cure


@pytest.mark.parametrize("given, size, width", [(True, 3, 2), (True, 4, 1), (False, 3, 2)])
def test_a_window_over_the_ends_of_documents_is_not_called_a_picture(given, size, width):
    def window(valid):
        place = torch.arange(valid.shape[1])
        return padding(valid) & ((place[:, None] - place).abs() <= width)

    def documents(valid):
        return (torch.arange(valid.shape[1]) // size).expand_as(valid)

    def intent(valid):
        number = documents(valid)
        return window(valid) & (number[:, :, None] == number[:, None, :])

    scope = AuditScope(documents=documents if given else False)
    found = audit(Stack().eval(), intent, window, scope=scope).failed[0]
    assert found.code == "documents" and is_sure(found.cause) is given, found
