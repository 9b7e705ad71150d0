"""A model that calls attention once a sample, or once a document, has no layers for that."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import causal, padding
from tests.slow import slow_but
from viz_encoder.audit import AuditScope
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Setting
from viz_encoder.audit.measure.subject import Subject

LAYERS = 2


def heads(x, qkv):
    return (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in qkv(x).chunk(3, -1))


def merged(mixed):
    return mixed.transpose(1, 2).flatten(2)


class ByRow(nn.Module):
    """Right layers whose attention runs sample by sample; `order` says what the outer loop is."""

    def __init__(self, order="layer", spoil=None, attend=F.scaled_dot_product_attention):
        super().__init__()
        torch.manual_seed(0)
        self.qkv = nn.ModuleList(nn.Linear(8, 24) for _ in range(LAYERS))
        self.out = nn.ModuleList(nn.Linear(8, 8) for _ in range(LAYERS))
        self.order, self.spoil, self.attend = order, spoil, attend

    def one(self, number, x, keep, sample):
        keep = keep if self.spoil is None else self.spoil(number, sample, keep)
        mixed = self.attend(*heads(x, self.qkv[number]), attn_mask=keep[:, None])
        return x + self.out[number](merged(mixed))

    def forward(self, x, keep):
        samples = range(len(x))
        if self.order == "layer":
            for n in range(LAYERS):
                x = torch.cat([self.one(n, x[s, None], keep[s, None], s) for s in samples])
            return x
        rows = []
        for s in samples:
            row = x[s, None]
            for n in range(LAYERS):
                row = self.one(n, row, keep[s, None], s)
            rows.append(row)
        return torch.cat(rows)


class Unpadded(ByRow):
    """The same, each sample cut to its real tokens."""

    def forward(self, x, keep):
        real = keep.diagonal(dim1=1, dim2=2)
        out = torch.zeros_like(x)
        for s, valid in enumerate(real):
            row, pairs = x[s, valid][None], keep[s][valid][:, valid][None]
            for n in range(LAYERS):
                row = self.one(n, row, pairs, s)
            out[s, valid] = row[0]
        return out


class ByDocument(ByRow):
    """Each document of three tokens by itself; `wide` opens this one to the token before it."""

    def __init__(self, wide=None, **more):
        super().__init__(**more)
        self.wide = wide

    def forward(self, x, keep):
        for n in range(LAYERS):
            rows = [[] for _ in x]
            for s in range(len(x)):
                for start in range(0, x.shape[1], 3):
                    first = start - 1 if start == self.wide else start
                    at = slice(first, start + 3)
                    pairs = keep[s, None, at, at].clone()
                    if first < start:
                        pairs[:, 1:, 0] = True
                    rows[s].append(self.one(n, x[s, None, at], pairs, s)[:, start - first :])
            x = torch.cat([torch.cat(row, dim=1) for row in rows])
        return x


def by_hand(q, k, v, attn_mask):
    scores = (q @ k.mT).masked_fill(~attn_mask, torch.finfo(q.dtype).min)
    return scores.softmax(dim=-1) @ v


def open_in(number, sample):
    def spoil(layer, row, keep):
        return keep | keep.new_tensor((layer, row) == (number, sample))

    return spoil


def documents(valid):
    return (torch.arange(valid.shape[1]) // 3).expand_as(valid)


def packed(valid):
    number = documents(valid)
    return padding(valid) & (number[:, :, None] == number[:, None, :])


def audit(model, intent, **more):
    return vz.audit_mask(model.eval(), intent, d_model=8, **more)


RIGHT = {
    "layers outside": lambda **more: ByRow("layer", **more),
    "samples outside": lambda **more: ByRow("sample", **more),
    "by hand": lambda **more: ByRow("sample", attend=by_hand, **more),
    "unpadded": lambda **more: Unpadded(**more),
}


@pytest.mark.parametrize("name", slow_but(["samples outside", "by hand"], RIGHT))
def test_a_leak_is_found_in_its_layer_and_its_sample(name):
    report = audit(RIGHT[name](spoil=open_in(1, 1)), causal)
    found = report.check("maps")
    assert (found.verdict, found.layer, found.sample) == ("FAIL", 1, 1), str(report)
    assert found.code != "first_sample"


@pytest.mark.parametrize("name", RIGHT)
def test_the_joined_maps_are_those_of_each_sample_by_itself(name):
    model = RIGHT[name]().eval()
    setting = Setting((causal,), causal, lambda seed, b, n: torch.randn(b, n, 8), first=7)
    case = setting.base()
    maps = maps_of(Subject(model), case)
    assert len(maps.layers) == LAYERS
    for sample, valid in enumerate(case.valid):
        one = setting.case(torch.ones(1, int(valid.sum())).bool(), x=case.x[[sample]][:, valid])
        alone = maps_of(Subject(model), one)
        for layer, same in zip(maps.layers, alone.layers, strict=True):
            seen = layer.weights(slice(None))[sample][:, valid][:, :, valid]
            torch.testing.assert_close(seen, same.weights(slice(None))[0])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"scope": AuditScope(documents=documents)}])
def test_documents_that_run_by_themselves_are_put_together(options):
    right, wrong = (audit(ByDocument(wide), packed, **options) for wide in (None, 3))
    assert right.verdict == "PASS", str(right)
    assert f"of {LAYERS} layers" in right.check("maps").evidence
    assert own(wrong)[0] == "gradient", str(wrong)
    assert "sample 0" not in wrong.check("gradient").cause


# A batch of one's own.


def own_batch(intent):
    valid = torch.arange(7) < torch.tensor([5, 3, 7, 2, 6])[:, None]
    ids = torch.randint(1, 50, valid.shape, generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids * valid, "keep": intent(valid)}


def test_where_nothing_can_be_changed_nothing_is_supposed():
    model = ByRow("sample").eval()
    batch = {"x": [torch.randn(7, 8) for _ in range(3)], "keep": own_batch(causal)["keep"][:3]}
    report = vz.audit_batch(
        lambda x, keep: model(torch.stack(x), keep),
        batch,
        lambda given: given["keep"],
        module=model,
    )
    assert report.verdict == report.check("maps").verdict == "NOT TESTED", str(report)
    assert any("with a batch of 1" in line for line in report.not_tested)
