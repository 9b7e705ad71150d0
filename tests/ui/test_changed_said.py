"""What the page says of a changed run: the row before, and a text whose [MASK] was deleted."""

import re

import pytest

import viz_encoder as vz
from tests.ui.texts import MASKED

TEXT, MODEL = MASKED
KEY = re.compile(r"key (\d+) “([^”]+)” ([\d.e-]+)")
ROW = "[...document.querySelectorAll('*')].find(e => !e.children.length && / looks most at /"


def row_said(page, ends: str) -> str:
    """The sentence on the row, once it is the one that is waited for."""
    there = f"{ROW}.test(e.textContent) && /{ends}/.test(e.textContent))"
    return page.wait_for_function(f"{there}?.textContent").json_value()


@pytest.mark.slow
def test_the_row_of_a_changed_run_says_what_it_was(visit, grammar):
    opened = visit(kind="text", a=TEXT, model=MODEL, cut="t2", layer=3, head=0, query=6, key=1)
    plain = vz.capture(grammar, TEXT)
    changed = vz.effects.changed(grammar, TEXT, ["t2"])
    said = row_said(opened.page, "; was ")
    assert said.startswith("query 6 “[MASK]” looks most at key ")
    for part, trace in zip(said.split("; was "), (changed, plain), strict=True):
        row = trace.attention(3, 0)[6]
        found = KEY.findall(part.removeprefix("query 6 “[MASK]” looks most at "))
        assert [int(at) for at, _, _ in found] == row.argsort(descending=True)[:3].tolist()
        for at, name, weight in found:
            assert name == trace.tokens[int(at)]
            assert float(weight) == pytest.approx(float(row[int(at)]), rel=0.01, abs=6e-5)
    opened.page.click("#viz-restore")
    assert "key 2 “keys” 1.0000" in row_said(opened.page, "“keys” 1.0000, [^;]*$")


@pytest.mark.slow
def test_a_text_whose_mask_is_deleted_is_compared_without_any_fault(visit):
    opened = visit(kind="text", a=TEXT, model=MODEL, cut="d6")
    page = opened.painted()
    page.wait_for_selector(".viz-changed[data-painted]", timeout=60_000)
    said = page.inner_text(".viz-changed-said")
    assert "there is no answer left to read; the pooled vector changes by" in said
    assert opened.faults == []
