"""Attention in any layout is judged token by token: right ones PASS by their maps, wrong FAIL."""

import pytest
import torch
import torch.nn.functional as F

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.layouts import (
    LAYOUTS,
    WINDOW,
    Layers,
    OfBatch,
    Sorted,
    batch,
    by_hand,
    sdpa,
)
from tests.audit.plants import Stack, banded, causal, near, own_mask, padding
from tests.slow import slow, slow_but
from viz_encoder.audit import AuditScope
from viz_encoder.audit.measure.changes import with_changed
from viz_encoder.audit.measure.setting import Case
from viz_encoder.trace.mask_parsing import GivenMasks


def own_window(valid):
    number = torch.arange(valid.shape[1]) // WINDOW
    return padding(valid) & (number[:, None] == number)


def meant_by(name):
    return (lambda valid: own_window(valid) & causal(valid)) if name == "windows" else banded(3)


def open_to_the_last(keep):
    """Every query may look at the last key of a window."""
    return keep | (torch.arange(keep.shape[2]) % WINDOW == WINDOW - 1)


def audits(make, intent):
    """By audit_mask, and of a batch of one's own."""
    yield vz.audit_mask(make().eval(), intent, d_model=8, scope=AuditScope(lengths=[10]))
    given = batch((6, 4, 9, 3), 9)
    yield vz.audit_batch(OfBatch(make(), intent).eval(), given, lambda one: intent(one["valid"]))


@pytest.mark.parametrize("attend", [sdpa, slow(by_hand)])
@pytest.mark.parametrize("name", slow_but(["windows"], LAYOUTS))
def test_a_right_layout_passes_by_its_maps_and_a_leak_in_it_is_seen(name, attend):
    intent, layout = meant_by(name), LAYOUTS[name](attend)
    for report in audits(lambda: Layers(layout), intent):
        assert report.verdict == report.check("maps").verdict == "PASS", str(report)
        assert "4 heads of 2 layers" in report.check("maps").evidence
    for report in audits(lambda: Layers(layout, open_to_the_last), intent):
        assert report.verdict == report.check("maps").verdict == "FAIL", str(report)
        found = report.check("maps")
        assert found.key % WINDOW == WINDOW - 1 and found.layer is not None


@pytest.mark.parametrize("by", ["length", "content"])
def test_what_is_sorted_inside_and_put_back_passes(by):
    for report in audits(lambda: Sorted(Layers(sdpa), by), banded(3)):
        assert report.verdict == report.check("maps").verdict == "PASS", str(report)
    for report in audits(lambda: Sorted(Layers(sdpa, torch.ones_like), by), banded(3)):
        assert report.check("maps").verdict == "FAIL", str(report)


def test_a_sample_that_looks_into_another_of_the_same_row_is_red():
    def across(q, k, v, keep):
        return sdpa(q, k, v, torch.ones_like(keep).tril())

    report = next(audits(lambda: Layers(LAYOUTS["one row"](across)), banded(3)))
    assert report.verdict == "FAIL", str(report)


ROWS, COLUMNS = 3, 5


def axial(along):
    """Each row of a grid by itself, or each column."""

    def layout(q, k, v, keep):
        def folded(one):
            grid = one.unflatten(2, (ROWS, COLUMNS))
            grid = grid if along == "rows" else grid.transpose(2, 3)
            return grid.transpose(1, 2).flatten(0, 1)

        n_lines = ROWS if along == "rows" else COLUMNS
        mixed = sdpa(*(folded(one) for one in (q, k, v)), None).unflatten(0, (-1, n_lines))
        mixed = mixed.transpose(1, 2)
        return (mixed if along == "rows" else mixed.transpose(2, 3)).flatten(2, 3)

    return layout


def same_row(valid):
    row = torch.arange(ROWS * COLUMNS) // COLUMNS  # an intent of these tokens alone
    return (row[:, None] == row).expand(len(valid), -1, -1)


def same_column(valid):
    column = torch.arange(ROWS * COLUMNS) % COLUMNS
    return (column[:, None] == column).expand(len(valid), -1, -1)


@pytest.mark.parametrize("swapped", [False, True])
def test_in_axial_attention_a_token_is_a_cell_of_the_grid(swapped):
    layers = [Layers(axial(along), n_layers=1).eval() for along in ("rows", "columns")]
    valid = torch.ones(4, ROWS * COLUMNS, dtype=torch.bool)
    report = vz.audit_mask(
        lambda x, keep: layers[1](layers[0](x, keep), keep),
        [same_column, same_row] if swapped else [same_row, same_column],
        same_column,
        d_model=8,
        inputs=vz.audit.AuditInputs(valid=valid),
    )
    assert report.verdict == report.check("maps").verdict == ("FAIL" if swapped else "PASS")
    assert report.check("maps").code == ("other_layer" if swapped else "")
    assert report.check("lengths").verdict == "NOT TESTED", str(report)


@pytest.mark.parametrize("n_differing", [1, 3])
def test_a_mask_of_five_axes_is_that_of_each_row_of_its_batch(n_differing):
    keep = torch.rand(2, n_differing, 1, 5, 5) > 0.4
    split = GivenMasks().split(keep.expand(2, 3, 1, 5, 5), n_axes=5)
    assert split.mask.shape[0] == 6
    for sample in range(2):
        for head in range(3):
            assert torch.equal(
                split.mask[3 * sample + head, 0], keep[sample, head % n_differing, 0]
            )


@pytest.mark.parametrize("seed", range(12))
def test_other_content_is_no_multiple_of_what_stands_there(seed):
    x = torch.randn(3, 7, 8, generator=torch.Generator().manual_seed(seed))
    valid = torch.ones(3, 7, dtype=torch.bool)
    change = with_changed(Case(x, valid, (), None), valid).x - x
    assert float(torch.cosine_similarity(change.flatten(), x.flatten(), dim=0).abs()) < 0.5


class Blocks(Stack):
    """Two queries a block, with the keys of the block before and after it, on an axis of blocks."""

    def __init__(self, *, masked):
        super().__init__(1)
        self.masked = masked

    def forward(self, x, valid):
        [layer], filling = self.layers, -x.shape[1] % 2
        q, k, v = (
            F.pad(layer.qkv(x), (0, 0, 0, filling)).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        )
        k, v = (F.pad(one, (0, 0, 2, 2)).unfold(2, 6, 2).mT for one in (k, v))
        q, keep = q.unflatten(2, (-1, 2)), F.pad(valid, (2, 2 + filling)).unfold(1, 6, 2)
        apart = torch.arange(2)[:, None] + 2 - torch.arange(6)
        keep = keep[:, None, :, None] & ((apart.abs() <= 2) | (not self.masked))
        keep = keep | ~keep.any(-1, keepdim=True)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=keep).flatten(2, 3)
        return x + layer.out(mixed[:, :, : x.shape[1]].transpose(1, 2).flatten(2))


def test_blocks_that_overlap_on_an_axis_of_their_own_are_judged():
    right, wrong = (audit(Blocks(masked=one), near, own_mask, n_layers=1) for one in (True, False))
    assert right.verdict == "PASS" and right.check("maps").verdict == "PASS", str(right)
    assert own(wrong) == ["maps"], str(wrong)
