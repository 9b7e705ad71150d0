"""A saved run that is opened: its model is asked only where it gives that very run again."""

from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import of_another_model, serving
from tests.ui.reruns import changed_run
from tests.ui.texts import LABELS
from viz_encoder.bundled import asset
from viz_encoder.effects.changed_capture import changed
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state.attributed import outcome_of
from viz_encoder.ui.state.examples import PICTURES
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.explore.outcomes import offered

TEXT = "the keys to the cabinet [MASK]"
PAIR = ("the keys", "to the cabinet [MASK]")


@pytest.fixture
def opened(runner, tmp_path):
    """Save a trace and open the file; what the page is told, and what the server keeps."""

    def save_and_open(trace):
        trace.save(tmp_path / "run.safetensors")
        told = runner.saved(str(tmp_path / "run.safetensors"))
        return told, runner.store.get(told["key"])

    return save_and_open


@pytest.mark.parametrize("source", [TEXT, PAIR], ids=["text", "pair"])
def test_a_run_of_a_model_that_is_here_can_be_changed(runner, opened, grammar, source):
    saved = vz.capture(grammar, source)
    told, entry = opened(saved)
    assert told["hasModel"] and offered(entry)["missing"] == ""
    assert torch.equal(entry.trace.layers[1].q, saved.layers[1].q)  # the file's own numbers
    key = changed_run(runner, told["key"], ["h3.2"])
    expected = changed(grammar, source, ["h3.2"]).output.double().numpy()
    found = runner.store.get(key).trace.output.double().numpy()
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()
    plain, made = outcome_of(runner.store.get(key)), outcome_of(entry, as_changes(["h3.2"]))
    assert plain.sentence == made.sentence


def test_its_link_runs_it_again_on_a_server_that_never_saw_the_file(runner, opened, grammar):
    for source, link in (
        (TEXT, {"kind": "text", "model": "grammar", "a": TEXT}),
        (PAIR, {"kind": "pair", "model": "grammar", "a": PAIR[0], "b": PAIR[1]}),
    ):
        told, entry = opened(vz.capture(grammar, source))
        assert told["link"] == link
        elsewhere = Runner(runner.models, TraceStore())
        again = restore(elsewhere, told["link"])["key"]
        trace = elsewhere.store.get(again).trace
        assert torch.allclose(trace.output, entry.trace.output, atol=1e-6)


def test_a_picture_is_run_as_it_was_cut_up(opened):
    scene = vz.load("scene", device="cpu")
    for name in PICTURES.values():
        told, entry = opened(vz.capture(scene, Path(asset(name))))
        assert told["hasModel"] and entry.inputs is not None
        again = vz.capture(scene, entry.inputs)[0]
        assert torch.equal(again.output, entry.trace.output)
        # No link holds a person's own picture.
        assert told["link"] == {
            **{"kind": "image", "model": "scene"},
            **{"from": "file", "run": told["key"]},
        }


def masked(encoder):
    n = vz.capture(encoder, TEXT).n_tokens
    return vz.capture(encoder, TEXT, mask=torch.ones(n, n, dtype=torch.bool).tril())


def retrained(encoder):
    other = vz.load("grammar", device="cpu")
    with torch.no_grad():
        next(other.model.parameters()).mul_(1.001)
    return vz.capture(other, TEXT)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (masked, "This is not the run that grammar gives for its input: it ran with a mask"),
        (lambda e: changed(e, TEXT, ["h3.2"]), "its numbers differ by up to"),
        (lambda e: changed(e, TEXT, ["t2"]), "it ran with a mask of its own; run the text"),
        (lambda e: changed(e, TEXT, ["m2"]), "it reads other tokens from the text"),
        (lambda e: vz.capture(e, [TEXT, "the keys"])[1], "it reads other tokens from the text"),
        (retrained, "its numbers differ by up to"),
        (lambda e: of_another_model(vz.capture(e, TEXT)), "The model of this run is not loaded"),
        (
            lambda e: vz.capture(e, e.read(TEXT).values[0]),
            "The run holds no text or picture that grammar could read again; to make changes to "
            "it, run the model in Python.",
        ),
        (
            lambda e: replace(
                vz.capture(e, TEXT), origin=vz.capture(e, TEXT).origin.__class__("scene")
            ),
            "The model of this run is not loaded",
        ),
    ],
    ids=["mask", "head", "hidden", "masked", "padded", "weights", "elsewhere", "ids", "kind"],
)
def test_another_run_than_the_models_own_says_why(opened, grammar, made, says):
    told, entry = opened(made(grammar))
    assert not told["hasModel"] and entry.encoder is None and entry.inputs is None
    missing = offered(entry)["missing"]
    assert says in missing and missing.endswith(".")
    assert told["link"]["from"] == "file"


def test_a_server_that_is_started_on_a_run_has_its_model_too(grammar):
    for trace, here in ((vz.capture(grammar, TEXT), True), (masked(grammar), False)):
        with serving(make_app(ServerSettings(device="cpu"), trace)) as site:
            told = httpx.get(f"{site}viz/first", timeout=60).json()
        assert (told["hasModel"], told["tokens"]) == (here, list(trace.tokens))


NAMED = "#viz-saved .file-preview"  # the box with a file's name in it


@pytest.mark.slow
def test_the_box_names_the_file_only_while_its_run_is_shown(visit, minilm, tmp_path):
    vz.capture(minilm, "Saved on another machine").save(path := tmp_path / "run.safetensors")
    opened = visit()
    page = opened.painted()
    opened.open_saved(path)
    page.wait_for_url("**a=Saved**")
    assert "run" in page.inner_text(NAMED)
    page.fill("#viz-text-a textarea", " ")  # refused, so the run of the file stays
    page.click("#viz-run")
    page.wait_for_selector("#viz-notice .viz-alert")
    assert page.locator(NAMED).count() == 1  # in the form, which the run has folded
    page.fill("#viz-text-a textarea", "typed here")
    page.click("#viz-run")
    page.wait_for_url("**a=typed**")
    page.wait_for_selector(NAMED, state="detached")
    assert page.input_value("#viz-text-a textarea") == "typed here"
    before = page.evaluate("vizTab.run.key")
    page.set_input_files("#viz-saved input[type=file]", path)  # the box takes the next file
    page.wait_for_function("(old) => vizTab.run.key !== old", arg=before)
    assert page.locator(NAMED).count() == 1
    page.get_by_role("button", name=LABELS[1]).click()
    page.wait_for_selector(NAMED, state="detached")
