"""Two checkpoints of one shape: measured by the command, subtracted on the Corpus tab."""

import csv

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import until_said
from tests.ui.test_corpus import TEXTS, opened
from viz_encoder.cli import main
from viz_encoder.corpora import HeadTable

opened = opened  # a fixture


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The files of two checkpoints, and the same tables read."""
    folder = tmp_path_factory.mktemp("checkpoints")
    with (folder / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in TEXTS)])
    encoder = vz.load("grammar", device="cpu")
    encoder.save(folder / "step-1000")
    with torch.no_grad():  # a little further
        encoder.model.layers[2].attn.q.weight[:8] *= 1.02
    encoder.save(folder / "step-2000")
    files = [folder / f"{name}.json" for name in ("step-1000", "step-2000")]
    for file in files:
        given = ["corpus", str(folder / "texts.csv"), "--model", str(file.with_suffix(""))]
        assert main([*given, "--device", "cpu", "-o", str(file)]) == 0
    return files, [HeadTable.load(file) for file in files]


def test_only_the_layers_from_the_change_on_differ(tables):
    _, (before, after) = tables
    change = np.abs(after["entropy"].mean - before["entropy"].mean)
    assert (change[:2] == 0).all() and (change[2] > 0).any()
    assert before.about.digest != after.about.digest


@pytest.mark.slow
def test_the_page_subtracts_one_from_the_other(opened, tables):
    page, (files, (before, after)) = opened.page, tables
    for file in files:
        page.set_input_files("#viz-corpus-file", str(file))
        until_said(page, ".viz-corpus-over", file.stem)
    page.select_option("#viz-corpus-statistic", "entropy")
    other = page.locator("#viz-corpus-other option", has_text="step-1000")
    page.select_option("#viz-corpus-other", other.get_attribute("value"))
    page.wait_for_selector(".viz-corpus-changes tbody tr")
    change = after["entropy"].mean - before["entropy"].mean
    cells = page.eval_on_selector_all(
        ".viz-corpus-cell", "all => all.map((c) => [c.dataset.value, c.children[1].textContent])"
    )
    np.testing.assert_allclose([float(value) for value, _ in cells], change.ravel(), atol=1e-12)
    for (_, text), value in zip(cells, change.ravel(), strict=True):
        sign = "" if round(abs(value), 3) == 0 else "+" if value > 0 else "−"
        assert text == f"{sign}{abs(value):.3f}"
    order = np.argsort(-np.abs(change), axis=None, kind="stable")[:10]
    heads = page.eval_on_selector_all(
        ".viz-corpus-changes tbody tr", "all => all.map((row) => row.dataset.head)"
    )
    assert heads == [f"{at // 4}.{at % 4}" for at in order]
    said = page.inner_text(".viz-corpus-over")
    assert said.startswith("texts.csv (3 texts, step-2000), minus texts.csv (3 texts, step-1000).")
    first = change.ravel()[order[0]]
    assert abs(first) < 0.1 and f"({first:+.4f})".replace("-", "−") in page.inner_text(
        ".viz-corpus-finding"
    )
