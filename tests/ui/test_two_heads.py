"""A model with two prediction heads: the logit lens reads the chosen one, and the link holds it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import Opened
from viz_encoder.config import HeadConfig

TEXT = "the keys to the cabinet [MASK] old"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The masked-word model with a second head of random weights, which labels each token."""
    encoder = vz.load("grammar", device="cpu")
    labeler = HeadConfig(task="tokens", n_out=3, labels=("noun", "verb", "other"))
    config = replace(encoder.config, prediction_heads=(*encoder.config.prediction_heads, labeler))
    torch.manual_seed(0)
    model = vz.Encoder(config)
    model.load_state_dict(encoder.model.state_dict(), strict=False)
    folder = tmp_path_factory.mktemp("models") / "two"
    replace(encoder, model=model.eval()).save(folder)
    return folder


def test_the_lens_reads_the_head_that_is_asked_for(folder):
    encoder = vz.load(folder, device="cpu")
    trace, out = vz.capture(encoder, TEXT), encoder.model.heads["tokens"].out
    (drawn, *_) = vz.figures.logit_lens(encoder, trace, task="tokens").data
    for layer in range(trace.n_layers + 1):
        with torch.inference_mode():
            scores = out(encoder.model.final_norm(trace.hidden(layer)[6])).double().numpy()
        shares = np.exp(scores) / np.exp(scores).sum()
        assert drawn.text[layer][6] == ("noun", "verb", "other")[int(shares.argmax())]
        assert drawn.z[layer][6] == pytest.approx(shares.max(), abs=2e-5)


@pytest.mark.slow
def test_the_head_of_the_logit_lens_is_in_the_link(visit, client, folder):
    name = client.predict(str(folder), api_name="/open_model")["name"]
    opened: Opened = visit(kind="text", a=TEXT, model=name, tab="vectors", query=6)
    page = opened.page
    lens, chosen = ".viz-hidden-more .viz-figure[data-painted*='task={}']", "[data-control=task]"
    page.wait_for_selector(lens.format("masked"), timeout=60_000)
    tasks = page.locator(f"{chosen} option").evaluate_all("all => all.map(o => o.value)")
    assert tasks == ["masked", "tokens"] and "hidden.task" not in page.url
    page.select_option(chosen, "tokens")
    page.wait_for_selector(lens.format("tokens"))
    page.wait_for_url("**hidden.task=tokens*")
    page.reload()
    page.wait_for_selector(lens.format("tokens"), timeout=60_000)
    assert page.input_value(chosen) == "tokens"
    page.select_option(chosen, "masked")
    page.wait_for_selector(lens.format("masked"))
    page.wait_for_function("!new URL(location).searchParams.has('hidden.task')")
