"""Columns, rows, pairs, roles, similar heads and findings of a run: routes, endpoints, the page."""

import threading
from dataclasses import replace
from importlib import import_module

import httpx
import numpy as np
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.by_hand import kept, shown, whole_maps
from tests.ui.conftest import until_said
from tests.ui.reruns import entry_of
from viz_encoder.analyses.findings import findings
from viz_encoder.analyses.similar_heads import similar_heads
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.tabs.explore import pairs
from viz_encoder.ui.tabs.explore.plain_findings import plain_findings

store = import_module("viz_encoder.ui.state.store")
FIELDS = ["kind", "layer", "head", "query", "key", "weight", "ratio", "sentence", "chip", "heads"]
SWITCHES = ["hide_special=true", "renormalize=true", "words=true"]


@pytest.fixture
def ask(site, key):
    return lambda path, run=key: httpx.get(f"{site}viz/run/{run}/{path}", timeout=60)


@pytest.fixture
def array(ask):
    """An array of the run."""

    def get(path) -> np.ndarray:
        answer = ask(path)
        assert answer.status_code == 200, answer.text
        assert answer.headers["cache-control"].startswith("private")
        shape = [int(part) for part in answer.headers["x-shape"].split(",")]
        return np.frombuffer(answer.content, "<f4").reshape(shape)

    return get


def test_a_column_by_route_and_endpoint(array, client, key, trace):
    expected = trace.attention(3, 5)[:, 2].numpy()
    assert np.abs(array("column?layer=3&head=5&key=2") - expected).max() <= 1e-6
    assert np.abs(client.predict(key, 3, "5", 2, api_name="/column") - expected).max() <= 1e-6
    most = trace.attention(3)[:, :, 4].amax(dim=0).numpy()
    assert np.abs(array("column?layer=3&head=max&key=4") - most).max() <= 1e-6


def test_a_column_of_the_map_as_it_is_shown(array, trace, monkeypatch):
    """The same cells that a map of these switches has, whatever the size of the parts."""
    monkeypatch.setattr(pairs, "ROWS", 4)
    animal = trace.tokens.index("animal")
    for flags in [*SWITCHES, "&".join(SWITCHES)]:
        whole = array(f"map?layer=3&head=5&{flags}")[:, animal - ("special" in flags)]
        got = array(f"column?layer=3&head=5&key={animal}&{flags}")
        assert got.shape == whole.shape and np.abs(got - whole).max() <= 1e-6, flags


def test_a_column_that_nobody_waits_for_stops(site, key, monkeypatch):
    """The work is endless; the server takes its next part only as long as somebody waits."""
    begun, ended = threading.Event(), threading.Event()

    def endless(*_):
        try:
            while True:
                yield np.zeros(1, np.float32)
                begun.set()
                ended.wait(0.01)  # work that takes its time
        finally:
            ended.set()

    monkeypatch.setattr(pairs, "column_blocks", endless)
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{site}viz/run/{key}/column?layer=0&head=0&key=0", timeout=0.5)
    assert begun.is_set() and ended.wait(20)


def test_the_rows_of_all_heads(array, trace):
    got = array("rows?layer=4&query=8")
    assert got.shape == (12, trace.n_tokens)
    assert np.abs(got - trace.attention(4)[:, 8].numpy()).max() <= 1e-6
    rows = trace.attention(4)[:, 8, kept(trace, special=False)].double().numpy()
    np.testing.assert_allclose(array("rows?layer=4&query=8&hide_special=true"), rows, rtol=2e-5)
    divided = array("rows?layer=4&query=8&hide_special=true&renormalize=true")
    np.testing.assert_allclose(divided, rows / rows.sum(axis=1, keepdims=True), rtol=2e-5)


def test_the_cell_of_every_head(ask, client, key, trace):
    maps = whole_maps(trace)
    expected = {"weights": maps[:, :, 10, 2], "means": maps[:, :, :, 2].mean(axis=2)}
    expected["ratios"] = expected["weights"] / expected["means"]
    answer = ask("pair?query=10&key=2")
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    for found in (answer.json(), client.predict(key, 10, 2, api_name="/pair")):
        assert set(found) == set(expected)
        for name, values in expected.items():
            assert np.allclose(found[name], values, rtol=2e-5, atol=1e-6), name


def test_a_masked_run_has_null_where_the_mask_forbids_the_pair(ask, client, key):
    causal = ["1" * (at + 1) + "0" * (14 - at) for at in range(15)]
    masked = client.predict(key, causal, api_name="/mask_run")["run"]["key"]
    found = ask("pair?query=1&key=3", masked).json()
    assert {value for name in ("weights", "ratios") for row in found[name] for value in row} == {
        None
    }
    assert all(value > 0 for row in found["means"] for value in row)  # later queries may look
    seen = ask("pair?query=3&key=1", masked).json()["weights"]
    assert None not in {value for row in seen for value in row}


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_the_cell_follows_the_switches(client, minilm, renormalize, words):
    text = "The woodpecker hammered unreadably"
    trace = vz.capture(minilm, text)
    run = client.predict(text, api_name="/run_text")["key"]
    found = client.predict(run, 3, 5, True, renormalize, words, api_name="/pair")
    groups = shown_tokens(trace, hide_special=True, words=words)
    row, column = (next(at for at, g in enumerate(groups) if token in g) for token in (3, 5))
    columns = shown(whole_maps(trace), groups, renormalize=renormalize)[..., column]
    assert np.allclose(found["weights"], columns[..., row], atol=2e-5)
    assert np.allclose(found["means"], columns.mean(axis=-1), atol=2e-5)


def test_small_maps_are_of_what_is_kept(array, trace):
    maps = whole_maps(trace)[2]
    for hide, renormalize, words in ((True, False, False), (False, True, True), (True, True, True)):
        asked = f"hide_special={hide}&renormalize={renormalize}&words={words}"
        groups = shown_tokens(trace, hide_special=hide, words=words)
        wanted = shown(maps, groups, renormalize=renormalize)
        np.testing.assert_allclose(array(f"thumbnails?layer=2&{asked}"), wanted, atol=2e-5)


def test_similar_heads_and_shares_of_roles(ask, client, key, trace):
    expected = similar_heads(trace, 3, 1)
    answer = ask("similar?layer=3&head=1")
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    for found in (answer.json(), client.predict(key, 3, 1, api_name="/similar")):
        assert found["queries"] == trace.n_tokens
        np.testing.assert_allclose(found["distances"], expected.distances, atol=1e-5)
    for role, offset in (("sink", 0), ("offset", -2)):
        shares = vz.analyses.role_shares(trace, role, offset=offset, layers=(2,)).shares[0]
        told = ask(f"role?role={role}&offset={offset}&layer=2").json()
        for found in (told, client.predict(key, role, 2, offset, api_name="/role")):
            np.testing.assert_allclose(found["shares"], shares, atol=2e-5)
            assert found["queries"] == trace.n_tokens - abs(offset)
    none = {"shares": [None] * 12, "queries": 0}
    assert ask("role?role=b_to_a&layer=2").json() == none


def test_findings_are_those_of_the_run(ask, client, key, trace):
    expected = findings(trace)
    answer = ask("findings")
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    for found in (answer.json(), client.predict(key, api_name="/findings")):
        assert found["sentence"] == expected.sentence and len(found["found"]) == len(expected) == 6
        for plain, finding in zip(found["found"], expected, strict=True):
            assert list(plain) == FIELDS
            for field in FIELDS[:5] + FIELDS[7:9]:
                assert plain[field] == getattr(finding, field), field
            assert plain["weight"] == pytest.approx(finding.weight, abs=2e-5)
            assert plain["ratio"] == pytest.approx(finding.ratio, rel=2e-4)
            assert [tuple(place) for place in plain["heads"]] == list(finding.heads)


def test_findings_are_computed_once_and_asked_again_after_a_failure(trace, monkeypatch):
    entry, calls = entry_of(trace), []

    def counted(trace):
        calls.append(trace)
        if len(calls) == 1:
            raise MemoryError
        return findings(trace)

    monkeypatch.setattr(store, "findings", counted)
    with pytest.raises(MemoryError):
        entry.findings()
    first = entry.findings()
    assert entry.findings() is first and len(calls) == 2


def test_what_is_read_from_right_to_left_stays_isolated_and_no_sign_is_hidden(minilm):
    """The sentence keeps its own isolation; what turns text in a token is written out."""
    turned = findings(vz.capture(minilm, "ذهب الولد إلى المدرسة في الصباح الباكر"))
    found = plain_findings(turned)
    assert "“\u2068" in found["sentence"] and "\u2069”" in found["sentence"]
    assert "\u2068" in found["found"][0]["chip"]
    said = {"sentence": "Head 0.0 links “\u202eit” to “a”", "chip": "0.0 \u202eit → a"}
    plain = plain_findings(type(turned)((replace(turned.found[0], **said),)))
    assert "\u202e" not in plain["sentence"] + plain["found"][0]["chip"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("column?layer=0&head=0&key=15", "There is no key 15; choose 0 to 14."),
        ("column?layer=6&head=0&key=0", "There is no layer 6"),
        ("column?layer=0&head=12&key=0", "There is no head 12"),
        ("rows?layer=0&query=-1", "There is no query -1"),
        ("rows?layer=9&query=0", "There is no layer 9"),
        ("pair?query=0&key=3&hide_special=true", "Query 0 is a special"),
        ("pair?query=3&key=0&hide_special=true", "Key 0 is a special"),
    ],
)
def test_what_is_not_there_is_said(ask, path, says):
    answer = ask(path)
    assert answer.status_code == 404 and says in answer.json()["message"]


def test_a_run_that_is_not_there(ask, client):
    answer = ask("findings", "nonsense")
    assert answer.status_code == 410 and "This run has expired" in answer.json()["message"]
    with pytest.raises(AppError, match="This run has expired"):
        client.predict("nonsense", api_name="/findings")


def test_the_nearest_heads_are_listed_and_a_click_goes_there(shared, trace):
    page = shared(layer=3, head=1).page
    page.locator(".viz-similar").scroll_into_view_if_needed(timeout=60_000)
    page.wait_for_selector(".viz-similar[data-painted$=':3.1']", timeout=60_000)
    apart = similar_heads(trace, 3, 1).distances.ravel()
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
def test_a_hidden_token_is_said_and_its_finding_shows_it_again(visit):
    page = visit(query=0, key=3, hide=1).page
    until_said(page, ".viz-pair", "special tokens are hidden")
    assert page.locator(".viz-pair-line").count() == 0
    assert "“[CLS]” is chosen but hidden." in page.inner_text(".viz-finding")
    assert page.inner_text(".viz-pair h3") == "Which heads link [CLS] → didn"
    assert page.locator(".viz-pair").bounding_box()["height"] < 100  # no room for a list
    page.get_by_role("button", name="3.1 it → animal").click()
    page.wait_for_selector(".viz-pair-line")
    assert page.is_checked("#viz-hide")
    chip = page.get_by_role("button", name="first token ([CLS])")
    chip.press("Enter")
    page.wait_for_selector(".viz-pair[data-painted*=':all:']")
    assert not page.is_checked("#viz-hide")
    assert page.inner_text(".viz-pair h3") == "Which heads link it → [CLS]"
    assert "of its attention" in page.inner_text(".viz-finding")
    assert chip.evaluate("chip => chip === document.activeElement")
