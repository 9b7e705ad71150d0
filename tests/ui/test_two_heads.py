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


@pytest.mark.slow
def test_the_head_of_the_logit_lens_is_in_the_link(visit, client, folder):
    name = client.predict(str(folder), api_name="/open_model")["name"]
    opened: Opened = visit(kind="text", a=TEXT, model=name, tab="vectors", query=6)
    page = opened.page
    lens = "#viz-hidden-logit_lens"
    page.wait_for_selector(f"{lens}[data-painted*=':masked:']", timeout=60_000)
    tasks = page.locator("#viz-hidden-task option").evaluate_all("all => all.map(o => o.value)")
    assert tasks == ["masked", "tokens"] and "hidden.task" not in page.url
    page.select_option("#viz-hidden-task", "tokens")
    page.wait_for_selector(f"{lens}[data-painted*=':tokens:']")
    page.wait_for_url("**hidden.task=tokens*")
    page.reload()
    page.wait_for_selector(f"{lens}[data-painted*=':tokens:']", timeout=60_000)
    assert page.input_value("#viz-hidden-task") == "tokens"
    encoder = vz.load(folder, device="cpu")
    trace = vz.capture(encoder, TEXT)
    shares = []
    out = encoder.model.heads["tokens"].out
    for layer in range(trace.n_layers + 1):
        with torch.inference_mode():
            scores = out(encoder.model.final_norm(trace.hidden(layer)[6])).double().numpy()
        shares.append(np.exp(scores) / np.exp(scores).sum())
    labels = [("noun", "verb", "other")[int(each.argmax())] for each in shares]
    for layer, label in enumerate(labels):
        cell = page.locator(f".viz-hidden-logit-lens td[data-layer='{layer}'][data-place='6']")
        assert cell.locator("bdi").inner_text() == label
        assert cell.locator("small").inner_text() == f"{shares[layer].max():.2f}"
    page.select_option("#viz-hidden-task", "masked")
    page.wait_for_selector(f"{lens}[data-painted*=':masked:']")
    page.wait_for_function("!new URL(location).searchParams.has('hidden.task')")
