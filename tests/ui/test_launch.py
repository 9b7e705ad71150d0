"""launch: the page opens on a run from anywhere, and is gone when it is closed."""

import httpx
import pytest
import torch
from gradio_client import Client

import viz_encoder as vz
from viz_encoder.errors import InputError
from viz_encoder.ui.launch import launch


@pytest.fixture(scope="module")
def trace():
    """A run of a model that is none of ours."""
    torch.manual_seed(4)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 3).eval()
    padding = torch.tensor([[False] * 5 + [True] * 2])
    with torch.no_grad(), vz.record(model) as recording:
        model(torch.randn(1, 7, 16), src_key_padding_mask=padding)
    return recording.trace(tokens=["one", "two", "three", "four", "five", "[PAD]", "[PAD]"])


def test_the_page_opens_on_a_recorded_run(chromium, trace, capsys):
    page = launch(trace, port=0)
    try:
        assert page.url in page._repr_html_()
        tab = chromium.new_page()
        tab.goto(page.url)
        tab.wait_for_selector(".viz-map[data-painted]")
        tab.click(".viz-more > summary")
        tab.wait_for_selector(".viz-atlas[data-painted]")
        assert tab.locator(".viz-atlas-cell").count() == 12
        assert [word.inner_text() for word in tab.locator(".viz-word").all()][:2] == ["one", "two"]
        shown = tab.evaluate("Array.from(window.vizTab.map.tiles[0].values)")
        expected = trace.attention(0, 0).flatten()
        for value, weight in zip(shown, expected.tolist(), strict=True):
            assert value == pytest.approx(weight, abs=1e-6) or (value != value and weight == 0)
        tab.wait_for_selector("#viz-proof.viz-good")
        tab.reload()
        tab.wait_for_selector(".viz-map[data-painted]")
        tab.get_by_text("These results are of a saved run of TransformerEncoder;").wait_for()
        tab.close()
    finally:
        page.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.url)


@pytest.mark.parametrize(("reads", "first"), [(True, "my own"), (False, "all-MiniLM-L6-v2")])
def test_an_encoder_of_your_own_is_offered_and_runs_first_if_it_reads_texts(reads, first):
    own = vz.load("grammar", device="cpu")
    card = type(own.card)("my own", "made here")
    page = launch(type(own)(own.model, own.reader if reads else None, card), port=0)
    try:
        names = Client(page.url, verbose=False).predict(api_name="/models")
        assert names == ["my own", "all-MiniLM-L6-v2", "scene", "grammar", "everyday"]
        found = httpx.get(f"{page.url}viz/first").json()
        assert found["model"] == first and "animal" in found["link"]["a"]
    finally:
        page.close()


@pytest.mark.slow
def test_it_ends_though_a_page_is_open(chromium, trace, capfd):
    page = launch(trace, port=0)
    tab = chromium.new_page()
    tab.goto(page.url)
    tab.wait_for_selector(".viz-map[data-painted]")
    page.close()
    tab.close()
    assert not page._thread.is_alive()
    assert "Traceback" not in capfd.readouterr().err


def test_what_cannot_be_opened_is_said(trace):
    with pytest.raises(InputError, match="type Linear; it must be a Trace"):
        launch(torch.nn.Linear(1, 1))
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    with torch.no_grad(), vz.record(attention) as recording:
        attention(torch.randn(1, 3, 8), torch.randn(1, 5, 8), torch.randn(1, 5, 8))
    with pytest.raises(InputError, match="cross-attention"):
        launch(recording.trace(cross=True), port=0)
