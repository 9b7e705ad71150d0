"""A [PAD] typed on the page is padding in every run that is made of the text."""

import json

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.slow import slow
from tests.ui.reruns import changed_run
from tests.ui.test_masks import bits, panels, post
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.ui.state.attributed import outcome_of
from viz_encoder.ui.state.built import Built
from viz_encoder.ui.state.padding import Padding
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.source import Source
from viz_encoder.ui.state.store import TraceStore

MODEL = "all-MiniLM-L6-v2"
TYPED = "I [PAD] love deep learning [PAD] [PAD]"
VALID = [True, True, False, True, True, True, True, False, False]
WITHOUT = ~torch.tensor(VALID)


@pytest.fixture(scope="module")
def runner(models):
    return Runner(models, TraceStore())


@pytest.fixture(scope="module")
def told(runner):
    return runner.text(MODEL, TYPED)


def test_the_run_is_that_of_capture_and_its_notes_say_so(runner, told, minilm):
    trace, expected = runner.store.get(told["key"]).trace, vz.capture(minilm, TYPED)
    assert told["valid"] == VALID and told["tokens"] == list(expected.tokens)
    assert torch.equal(trace.output, expected.output)
    assert told["notes"][0].startswith("3 of 9 tokens are padding, because [PAD] was typed")
    assert not trace.attention(3)[:, :, WITHOUT].any()


def test_a_link_and_a_saved_run_bring_it_back(runner, told, tmp_path):
    fresh = Runner(runner.models, TraceStore())
    again = restore(fresh, {**told["link"], "run": "gone"})
    assert again["valid"] == VALID and again["link"]["a"] == TYPED
    runner.store.get(told["key"]).trace.save(tmp_path / "run.safetensors")
    opened = runner.saved(str(tmp_path / "run.safetensors"))
    assert opened["hasModel"] and opened["valid"] == VALID
    assert runner.store.get(opened["key"]).why_alone == ""


def test_what_is_taken_away_leaves_it_padding(runner, told):
    key = changed_run(runner, told["key"], ["h2.1"])
    trace = runner.store.get(key).trace
    assert trace.valid.tolist() == VALID and not trace.attention(4)[:, :, WITHOUT].any()
    assert outcome_of(runner.store.get(key)).sentence


@pytest.mark.parametrize("side", [slow("end"), "start"])
def test_padding_beside_it_is_open_until_a_mask_comes_and_the_typed_stays_closed(
    runner, told, minilm, side
):
    key = runner.rerun(told["key"], "pad it", pad=Padding(side, 2))
    trace = runner.store.get(key).trace
    added = [False, False]
    valid = [*VALID, *added] if side == "end" else [*added, *VALID]
    assert trace.valid.tolist() == valid
    ids = torch.nn.functional.pad(minilm.read(TYPED).values, (0, 2) if side == "end" else (2, 0))
    typed = torch.tensor([[*VALID, True, True] if side == "end" else [True, True, *VALID]])
    expected = vz.capture(minilm, ids, valid=typed)
    for layer in (0, 5):
        found, wanted = trace.attention(layer), expected.attention(layer)
        assert (found - wanted)[:, typed[0]].abs().max() <= 2e-5
    assert not trace.attention(2)[:, :, ~typed[0]].any()
    assert float(trace.attention(2)[:, :, ~torch.tensor(valid) & typed[0]].min()) > 0


@pytest.mark.parametrize("side", ["end", "start"])
def test_the_code_of_a_masked_run_pads_as_the_run_did(site, client, side):
    key = client.predict(TYPED, "", MODEL, api_name="/run_text")["key"]
    run = post(site, key, f"padded?code={side}:2").json()
    name = {"end": "padding-right", "start": "padding-left"}[side]
    mask = PRESETS[name].mask(11, padding=2).numpy()
    made = post(site, run["key"], "run", bits(mask)).json()["run"]
    assert sum(made["valid"]) == sum(VALID)
    given = json.dumps({"name": name, "sizes": {"padding": 2}})
    code = post(site, run["key"], f"snippet?kind=vz.capture&made={given}", bits(mask)).text
    left: dict = {}
    exec(compile(code, "snippet", "exec"), left)
    real = np.array(made["valid"])
    found, shown = left["trace"].attention(5, 6).numpy(), panels(site, made["key"], 5, 6)[2]
    np.testing.assert_allclose(found[real], shown[real], atol=1e-6)
    assert not found[real][:, ~real].any()


def test_an_encoder_of_one_s_own_masks_it_too(runner):
    built = Built.of({"V": 40, "d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 8, "T": 16})
    recipe = Recipe(Source.text("the cat [PAD] sat [PAD]"), built)
    told = runner.again(runner.run(recipe))
    assert told["tokens"] == ["[CLS]", "the", "cat", "[PAD]", "sat", "[SEP]", "[PAD]"]
    assert told["valid"] == [True, True, True, False, True, True, False]
