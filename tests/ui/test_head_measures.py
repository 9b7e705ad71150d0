"""What is asked of whole heads one by one: shares of roles, and the heads most like one."""

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.conftest import until_said


@pytest.fixture(scope="module")
def maps(trace):
    return np.stack([trace.attention(at).double().numpy() for at in range(trace.n_layers)])


def ask(site, key, path):
    return httpx.get(f"{site}viz/run/{key}/{path}", timeout=60)


def js_distances(maps, layer, head):
    """√JSD in bits, from entropies."""

    def entropy(rows):
        return -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=-1)

    one = maps[layer, head][None, None]
    found = entropy((maps + one) / 2) - (entropy(maps) + entropy(one)) / 2
    return np.sqrt(np.clip(found, 0, None)).mean(axis=-1)


def test_similar_heads_by_route_and_endpoint(site, client, key, maps):
    expected = js_distances(maps, 3, 1)
    answer = ask(site, key, "similar?layer=3&head=1")
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    for found in (answer.json(), client.predict(key, 3, 1, api_name="/similar")):
        assert found["queries"] == maps.shape[2]
        apart = np.abs(np.array(found["distances"]) - expected)
        apart[3, 1] = 0  # the root of a rounding error
        assert apart.max() <= 2e-5 * expected.max()


def test_shares_of_roles_by_route_and_endpoint(site, client, key, maps):
    n = maps.shape[2]
    expected = {
        ("sink", 0): maps[2][..., [0, n - 1]].sum(axis=-1).mean(axis=-1),
        ("delimiter", 0): maps[2][..., n - 1].mean(axis=-1),
        ("offset", -2): np.diagonal(maps[2], -2, axis1=1, axis2=2).mean(axis=-1),
    }
    for (role, offset), shares in expected.items():
        answer = ask(site, key, f"role?role={role}&offset={offset}&layer=2").json()
        for found in (answer, client.predict(key, role, 2, offset, api_name="/role")):
            assert np.abs(np.array(found["shares"]) - shares).max() <= 2e-5
            assert found["queries"] == n - abs(offset)
    assert ask(site, key, "role?role=b_to_a&layer=2").json() == {
        "shares": [None] * 12,
        "queries": 0,
    }


def test_the_nearest_heads_are_listed_and_a_click_goes_there(shared, maps):
    page = shared(layer=3, head=1).page
    page.locator(".viz-similar").scroll_into_view_if_needed(timeout=60_000)
    page.wait_for_selector(".viz-similar[data-painted$=':3.1']", timeout=60_000)
    apart = js_distances(maps, 3, 1).ravel()
    near = [int(at) for at in np.argsort(apart, kind="stable") if at != 3 * 12 + 1][:5]
    expected = [f"{at // 12}.{at % 12}{apart[at]:.2f}" for at in near]
    page.locator(".viz-similar").scroll_into_view_if_needed()  # what is above it may have grown
    page.wait_for_selector(".viz-similar h3:has-text('Heads like 3.1')")
    assert page.locator("[data-similar]").all_inner_texts() == expected
    page.locator("[data-similar]").first.click()
    first = f"{near[0] // 12}.{near[0] % 12}"
    page.wait_for_selector(f'.viz-similar[data-painted$=":{first}"]')
    assert page.locator(".viz-similar h3").inner_text() == f"Heads like {first}"
    assert f"layer={near[0] // 12}&head={near[0] % 12}" in page.evaluate("location.href")


@pytest.mark.slow
def test_a_phrase_is_clicked_and_clicked_away(shared, trace):
    page = shared().page
    shares = vz.analyses.role_shares(trace, "sink").shares
    chip = page.locator(".viz-order-chips button", has_text="sink")
    chip.click()
    page.wait_for_selector(".viz-atlas-cell.viz-out")
    kept = page.locator(".viz-atlas-cell:not(.viz-out)").evaluate_all(
        "all => all.map(one => one.dataset.head)"
    )
    assert sorted(kept) == sorted(
        f"{a}.{b}" for a, b in zip(*np.nonzero(shares >= 0.5), strict=True)
    )
    said = page.locator(".viz-order-said").inner_text()
    assert said.startswith(f"{len(kept)} heads put at least 0.5 of their weight on the first token")
    assert chip.get_attribute("aria-pressed") == "true"
    chip.click()
    assert page.locator(".viz-atlas-cell.viz-out").count() == 0
    page.locator(".viz-order-chips button", has_text="pronouns").click()
    until_said(page, ".viz-order-said", "link")
    linked = vz.analyses.role_shares(trace, "pronoun").shares >= 0.5
    out = page.locator(".viz-atlas-cell.viz-out").count()
    assert out == linked.size - linked.sum() and 0 < linked.sum() < linked.size
