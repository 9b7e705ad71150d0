"""Whether two traces are of one run: rounding passes, and every other difference is named."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.effects.changed_capture import changed
from viz_encoder.ui.state.saved_run import why_another_run

TEXT = "the keys to the cabinet [MASK]"


@pytest.fixture(scope="module")
def run(grammar):
    return vz.capture(grammar, TEXT)


def with_layer(trace, number, **parts):
    layers = list(trace.layers)
    layers[number] = replace(layers[number], **parts)
    return replace(trace, layers=tuple(layers))


def test_a_run_again_and_one_rounded_otherwise_are_the_same(grammar, run, tmp_path):
    run.save(tmp_path / "run.safetensors")
    assert why_another_run(vz.Trace.load(tmp_path / "run.safetensors"), run) == ""
    exact = vz.load("grammar", device="cpu")
    exact.model.double()
    assert why_another_run(vz.capture(exact, TEXT), run) == ""


@pytest.mark.parametrize("part", ["q", "k", "v"])
@pytest.mark.parametrize(("share", "same"), [(0.5e-5, True), (2e-5, False)])
def test_numbers_may_differ_by_rounding_only(run, part, share, same):
    old = getattr(run.layers[2], part)
    new = old.double().numpy().copy()
    new.flat[7] += share * np.abs(old.double().numpy()).max()
    why = why_another_run(with_layer(run, 2, **{part: torch.from_numpy(new)}), run)
    assert (why == "") is same
    assert same or why.startswith("its numbers differ by up to 2e-5 of the largest")


def test_states_count_too_and_nan_is_no_number(run):
    last = run.hidden_states[-1].clone()
    last[1, 1] += 1
    for other in (
        replace(run, hidden_states=(*run.hidden_states[:-1], last)),
        replace(run, output=last.fill_(float("nan"))),
    ):
        assert why_another_run(other, run).startswith("its numbers differ by up to")


def test_a_mask_is_seen_even_where_it_changes_nothing(grammar, run):
    n = run.n_tokens
    weights = run.attention(1, 0).numpy()
    query, key = divmod(int(weights.argmin()), n)  # the link that carries least
    cut = changed(grammar, TEXT, [f"l1.0:{query}-{key}"])
    everything = vz.capture(grammar, TEXT, mask=torch.ones(n, n, dtype=torch.bool))
    for other in (cut, everything):
        assert why_another_run(other, run) == "it ran with a mask of its own"
        assert why_another_run(run, other) == "it ran with a mask of its own"
    assert why_another_run(cut, changed(grammar, TEXT, [f"l1.0:{query}-{key}"])) == ""
    padding = replace(run, valid=torch.arange(n) > 0)
    assert why_another_run(padding, run) == "it ran with a mask of its own"


def test_sizes_and_scale_are_seen(grammar, run):
    assert why_another_run(replace(run, layers=run.layers[:3]), run) == "its sizes are others"
    fewer = replace(run, hidden_states=run.hidden_states[:3])
    assert why_another_run(fewer, run) == "its sizes are others"
    biased = with_layer(run, 0, bias=torch.zeros(1, 1, 1))
    assert why_another_run(biased, run) == "its sizes are others"
    assert "divided by another number" in why_another_run(with_layer(run, 0, scale=1.0), run)
