"""The Pooling tab of one input: its numbers by plain numpy, on the routes and on screen."""

import re

import httpx
import numpy as np
import pytest
import torch
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.checkpoints.cases.siglip import vision
from tests.checkpoints.parity import Case, save
from tests.ui.reruns import entry_of
from tests.ui.texts import SENTENCES
from viz_encoder.analyses.padding_drift import padding_drift
from viz_encoder.analyses.pooled import pooled
from viz_encoder.ui.tabs.vectors.results import pooled_plain

TEXT = SENTENCES[0]
NUMBERS = "#viz-vectors .viz-pool-chosen [data-number]"


def ask(site, path, status=200):
    response = httpx.get(f"{site}viz/{path}", timeout=60)
    assert response.status_code == status, response.text
    return response.json()


def states(trace, layer):
    return trace.hidden(layer).double().numpy()


@pytest.mark.parametrize("layer", [0, 3])
def test_the_route_gives_what_the_analysis_finds(site, key, trace, minilm, layer):
    found, expected = ask(site, f"run/{key}/pooled?layer={layer}"), pooled(minilm, trace)
    methods = {each["name"]: each for each in found["methods"]}
    assert tuple(methods) == expected.methods
    for place, name in enumerate(expected.methods):
        assert methods[name]["norm"] == pytest.approx(expected.norms[layer, place])
        assert methods[name]["numbers"] == expected.vectors[name].shape[1]
    mean = expected.methods.index("mean")
    cosines = np.array(found["cosines"], float)
    np.testing.assert_allclose(cosines, expected.cosines[layer], rtol=1e-6)
    to_mean = np.array([each["toMean"] for each in found["methods"]], float)
    np.testing.assert_array_equal(to_mean, cosines[:, mean])
    for name, shares in expected.shares.items():
        np.testing.assert_allclose(found["shares"][name], shares[layer], rtol=1e-6)
    assert sum(found["wins"]) == found["width"] == 384
    assert "learned query" in found["leftOut"]["attention"]


def test_padding_moves_each_method_as_the_analysis_says(site, key, minilm):
    found = ask(site, f"run/{key}/padding?padding=7")
    expected = padding_drift(minilm, TEXT, n_padding=7).rows
    told = {(row["method"], row["case"]): row for row in found["rows"]}
    for row in expected:
        assert told[row.method, row.case]["relative"] == pytest.approx(row.relative, abs=1e-6)
        assert told[row.method, row.case]["why"] == row.why
    worst = max(expected, key=lambda row: row.relative)
    assert found["worst"] == [worst.method, worst.case]


def test_two_texts_are_padded_as_a_pair(site, client, minilm):
    key = client.predict(TEXT, "It slept.", api_name="/run_text")["key"]
    found = client.predict(key, 3, api_name="/padding_drift")
    assert found["tokens"] == vz.capture(minilm, (TEXT, "It slept.")).n_tokens
    assert all(row["relative"] < 1e-5 for row in found["rows"] if row["case"] == "masked")


def test_faults_are_sentences(site, client, key):
    assert "There is no layer 7" in ask(site, f"run/{key}/pooled?layer=7", 404)["message"]
    assert "has expired" in ask(site, "run/nothing/pooled", 410)["message"]
    assert "has expired" in ask(site, f"run/{key}/pooled?learned=x", 404)["message"]
    for padding, says in (
        (5000, "do not fit"),
        ("x", "a whole number of at least 1"),
        (0, "at least 1"),
    ):
        with pytest.raises(AppError, match=says):
            client.predict(key, padding, api_name="/padding_drift")


@pytest.fixture
def tab(visit):
    def enter(**query):
        opened = visit(tab="vectors", **query)
        painted(opened.page, ":")
        return opened.page

    return enter


def painted(page, part):
    page.wait_for_selector(f"#viz-vectors .viz-pool-chosen[data-painted*='{part}']", timeout=60_000)


def drawn_padding(page, part):
    page.wait_for_selector(f".viz-pool-padding[data-painted*='{part}']", timeout=60_000)


def test_the_page_shows_these_numbers_and_the_models_own_pooling_first(tab, trace):
    page = tab()
    own = ".viz-pool-methods [data-method=declared]"
    assert page.get_attribute(f"{own} button", "aria-pressed") == "true"
    assert page.inner_text(f"{own} button") == "the model’s own"
    said = page.locator("#viz-vectors [aria-label=Methods] [role=status]")
    words = "mean, then normalized to length 1"
    assert (
        f"The chosen row is the model's own pooling, as sentence-transformers computes it: {words}."
        in said.inner_text()
    )
    hidden = states(trace, 6)
    mean = hidden.mean(axis=0)
    cells = page.locator(".viz-pool-methods [data-method=mean] td").all_inner_texts()
    assert cells[1:] == ["384", f"{np.linalg.norm(mean):.3f}", "1.0000"]
    shares = [row @ mean / len(hidden) / (mean @ mean) for row in hidden]
    shown = page.eval_on_selector_all(NUMBERS, "all => all.map((one) => one.dataset.number)")
    assert [float(text.replace("−", "-")) for text in shown] == pytest.approx(shares, abs=6e-4)
    page.click(".viz-pool-methods [data-method=max]")
    page.wait_for_function("location.search.includes('pool.method=max')")
    page.go_back()
    page.wait_for_selector(f"{own}.viz-chosen-row")
    page.go_forward()
    page.wait_for_selector(".viz-pool-methods [data-method=max].viz-chosen-row")
    assert said.inner_text() == (f"The chosen row is “max”, not the model's own pooling: {words}.")
    wins = np.bincount(hidden.argmax(axis=0), minlength=len(hidden))
    first = int(np.argmax(wins))
    sentence = f"{first} “{trace.tokens[first]}” wins {wins[first]} of 384 dimensions"
    assert sentence in page.inner_text("#viz-vectors .viz-pool-top")
    drawn_padding(page, ":6:16")
    assert page.locator(".viz-pool-worst").count() == 1
    page.locator(".viz-hidden .viz-slider").fill("0")
    painted(page, ":0:")
    page.fill("#viz-pool-padding", "3")
    drawn_padding(page, ":0:3")
    page.click("[data-cell='max:zeroed'] button")
    assert "Zero is larger" in page.inner_text(".viz-pool-padding .viz-readout")


def test_a_model_that_declares_nothing_says_so(site, client):
    made = client.predict("the keys are old", "", "grammar", api_name="/run_text")
    found = ask(site, f"run/{made['key']}/pooled")
    assert found["own"] == "" and "declared" not in {each["name"] for each in found["methods"]}
    assert "grammar declares no pooling" in found["leftOut"]["declared"]


def test_a_learned_query_of_the_model_shows_where_it_looks(tmp_path):
    reference = save(Case("x", "siglip_vision_model", vision(), None, kind="image"), tmp_path)
    encoder = vz.load(tmp_path, device="cpu")
    pixels = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    entry = entry_of(vz.capture(encoder, encoder.read(pixels))[0], encoder)
    with torch.no_grad():
        hidden, head = reference(pixels).last_hidden_state, reference.head
        _, weights = head.attention(head.probe, hidden, hidden)  # a mean over its heads
    assert pooled_plain(entry)["looks"] == pytest.approx(weights[0, 0].tolist(), abs=2e-6)


def leads(page):
    """The sentences in sight."""
    every = "all => all.filter((one) => one.offsetParent).map((one) => one.textContent)"
    return page.eval_on_selector_all("#viz-vectors .viz-lead", every)


def test_each_of_four_questions_has_its_sentence_and_a_link(visit, minilm, trace):
    page = visit(kind="text", a=TEXT, tab="vectors", folded=True).page
    painted(page, ":6:")
    page.wait_for_selector("#viz-hidden-similarity[data-painted]")
    hidden = states(trace, 6)
    mean = hidden.mean(axis=0)
    shares = hidden @ mean / len(hidden) / (mean @ mean)
    most = [f"{share:.0%} “{trace.tokens[at]}”" for at, share in most_of(shares)]
    (said,) = leads(page)
    assert said.startswith("The tokens grow alike: mean cosine ")
    assert said.endswith(f"The sentence vector is {most[0]}, {most[1]} and {most[2]}.")
    page.click("button[data-part=padding]")
    drawn_padding(page, ":6:16")
    (said,) = leads(page)
    drift = vz.analyses.padding_drift(minilm, TEXT, n_padding=16)
    worst = max(drift.rows, key=lambda row: row.relative)
    assert said.startswith(f"No mask: “{worst.method}” moves by {worst.relative:.2f} of its")
    page.click("button[data-part=two]")
    page.wait_for_selector(".viz-pairs[data-painted]", timeout=60_000)
    other = states(vz.capture(minilm, TEXT.replace("tired", "wide")), 6)
    pooled = {"max": np.max, "mean": np.mean}
    alike = {name: cosine(by(hidden, axis=0), by(other, axis=0)) for name, by in pooled.items()}
    assert leads(page)[0].startswith("Against texts on different topics, these two are most ")
    for name, value in alike.items():
        one = page.locator(".viz-pairs-by button", has_text=re.compile(f"^{name} "))
        assert one.inner_text().startswith(f"{name} {value:.2f}, any two ")
    said = leads(page)
    page.click(".viz-pairs-by >> text=/^max /")  # of which the cosine is no sum: it stays, and why
    page.wait_for_selector(".viz-pairs >> text=The pooling max cannot be split")
    assert leads(page) == said
    assert not page.is_visible("#viz-set-lines")
    page.click("button[data-part=set]")
    page.wait_for_selector("#viz-set-lines", state="visible")
    assert leads(page) == [] and not page.is_visible(".viz-hidden .viz-slider")
    page.wait_for_url("**pool.part=set*")
    # Its answer is on its way; Gradio tells the console of a stream that a reload breaks.
    page.wait_for_selector("#viz-set .viz-pool[data-painted]", timeout=60_000)
    page.reload()
    page.wait_for_selector("#viz-set-lines", state="visible", timeout=60_000)
    assert page.get_attribute("button[data-part=set]", "aria-pressed") == "true"


def most_of(shares):
    return [(at, shares[at]) for at in np.argsort(-shares)[:3]]


def cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)
