"""What hiding each token does to the answer, when somebody asks, against vz.effects.tokens."""

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder import effects

SENTENCE = "the keys to the cabinet [MASK] old"
NODE = ".viz-knocked-out"


def lines(page):
    rows = page.locator(".viz-knocked-table tbody tr").all()
    return {
        int(row.get_attribute("data-token")): [
            cell.inner_text() for cell in row.locator("td").all()
        ]
        for row in rows
    }


@pytest.fixture
def opened(visit):
    page = visit(kind="text", model="grammar", a=SENTENCE).page
    ask(page, 9)
    return page


def ask(page, n_tokens):
    button = page.locator(f"{NODE} button", has_text=f"Hide each of the {n_tokens} tokens")
    button.wait_for(timeout=60_000)
    button.click()
    page.wait_for_selector(f"{NODE}[data-painted]", timeout=120_000)


def test_shares_and_the_answer_without_each_token(opened):
    grammar = vz.load("grammar")
    found = effects.tokens(grammar, SENTENCE)
    shown = vz.attribute(grammar, SENTENCE).tokens
    table = lines(opened)
    assert {2, 3, 5, 7, 8} <= set(table)
    assert list(table) == sorted(table, key=lambda at: -shown[at])
    for at, (share, without, then) in table.items():
        assert float(share) == pytest.approx(float(shown[at]), abs=6e-5)
        assert float(without) == pytest.approx(float(found.pair[at, 0]), abs=6e-5)
        assert then == ("" if found.answers[at] == "are" else f"then “{found.answers[at]}”")
    said = opened.inner_text(f"{NODE} [role=status]")
    assert said.startswith("“old” has the largest share; hiding “to” changes the answer most")


@pytest.mark.slow
def test_it_follows_the_answer_that_is_chosen(opened):
    opened.select_option("#viz-explain-label", "is")
    opened.wait_for_selector(f"{NODE}:not([data-painted])")
    ask(opened, 9)
    found = effects.tokens(vz.load("grammar"), SENTENCE, answer="is")
    for at, (_, without, _) in lines(opened).items():
        np.testing.assert_allclose(float(without), found.pair[at, 0], rtol=6e-3, atol=6e-5)
    opened.select_option("#viz-explain-task", "pooled")
    opened.wait_for_selector(NODE, state="hidden")


@pytest.mark.slow
def test_a_picture_has_many_tokens_to_hide(visit):
    page = visit(kind="image", model="scene", example="a wide scene").page
    ask(page, 151)
    assert len(lines(page)) >= 4
