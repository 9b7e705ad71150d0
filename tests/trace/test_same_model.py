"""What takes a model and a run refuses a run of other weights, and no run that the model made."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.slow import slow_but
from viz_encoder import analyses
from viz_encoder.config import HeadConfig, Norm, NormPlacement, Positions, Task
from viz_encoder.effects import changed
from viz_encoder.errors import SelectionError, TraceError, VizEncoderError
from viz_encoder.trace.same_model import require_made_by

IDS = [5, 9, 2, 6, 5, 3]
PLACES = {"layer": 1, "head": 0, "query": 2, "key": 1}
OWN_PART = ("embedding_step", "projection_step", "heads_step", "block_step", "block_parts")
WITH_BOTH = {
    name: getattr(analyses, name)
    for name in dir(analyses)
    if {"encoder", "trace"} <= set(inspect.signature(getattr(analyses, name)).parameters)
}
CHANGES = (["p"], ["c"], ["h1.2", "t3"], [f"h1.{head}" for head in range(4)])
DESIGNS = {
    "post-norm": {},
    "pre-norm, rotary": {
        "norm_placement": NormPlacement.PRE,
        "final_norm": True,
        "norm": Norm.RMS,
        "positions": Positions.NONE,
        "rotary_base": 10_000.0,
    },
    "relative": {"positions": Positions.NONE, "relative_buckets": 8, "relative_distance": 16},
}


def made(seed=0, **axes):
    """A random encoder with a head, by its seed."""
    torch.manual_seed(seed)
    sizes = {"n_layers": 3, "n_heads": 4, "d_model": 32, "d_ff": 48, "vocab_size": 20}
    heads = (HeadConfig(task=Task.MASKED, n_out=20),)
    model = vz.Encoder(vz.EncoderConfig(**sizes, **axes, prediction_heads=heads)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return vz.load(model)


def asked(name, encoder, trace):
    """The analysis, at a place in the middle of the run where it takes one."""
    takes = inspect.signature(WITH_BOTH[name]).parameters
    places = {each: PLACES[each] for each in takes if each in PLACES and each != "head"}
    places |= {"head": 0} if name == "projection_step" else {}
    more = {"other": trace} if name == "token_pairs" else {}
    return WITH_BOTH[name](encoder=encoder, trace=trace, **places, **more)


def test_all_of_them_are_known():
    """What is new here must refuse, too: the tests below run through all that take both."""
    assert len(WITH_BOTH) == 12 and {*OWN_PART} < {*WITH_BOTH}


@pytest.mark.parametrize("design", slow_but(["post-norm"], DESIGNS))
@pytest.mark.parametrize("name", WITH_BOTH)
def test_a_run_of_another_model_of_the_same_sizes_is_refused(name, design):
    one, other = (made(seed, **DESIGNS[design]) for seed in (1, 2))
    trace = vz.capture(one, IDS)
    asked(name, one, trace)
    with pytest.raises(VizEncoderError, match="recomputed, differs from what ran by"):
        asked(name, other, trace)


@pytest.mark.parametrize("name", sorted({*WITH_BOTH} - {*OWN_PART, "residual_change"}))
@pytest.mark.parametrize("design", slow_but(["pre-norm, rotary"], DESIGNS))
def test_every_weight_that_ran_counts(name, design):
    """A row of each matrix, each norm and the table by distance, wherever they are changed.

    All analyses ask one function, which one of them tries with every weight.
    """
    encoder = made(**DESIGNS[design])
    trace = vz.capture(encoder, IDS)
    for weight_name, weight in encoder.model.named_parameters():
        ran = not weight_name.startswith(("embed.", "heads."))
        if not ran or (name != "value_weighted" and weight_name != "layers.1.ff.up.weight"):
            continue
        kept = weight.detach().clone()
        weight.data[:1] += 0.05 * kept.abs().max() + 0.01  # torch counts no change of .data
        with pytest.raises(SelectionError, match="does not have the weights that made this run"):
            asked(name, encoder, trace)
        weight.data.copy_(kept)
    asked(name, encoder, trace)


def test_what_a_step_shows_is_held_against_the_run():
    """Steps answer for their own part: W_O and the network of a block, q, k, v, the embedding."""
    encoder = made()
    trace = vz.capture(encoder, IDS)
    parts = {
        "embedding_step": ["embed.tokens.word.weight", "embed.position", "embed.norm.bias"],
        "projection_step": [f"layers.1.attn.{part}.weight" for part in "qkv"],
        "heads_step": ["layers.1.attn.o.weight", "layers.1.attn.o.bias"],
        "block_step": ["layers.1.attn.o.weight", "layers.1.ff.up.bias", "layers.1.ff_norm.weight"],
    }
    parts["block_parts"] = parts["residual_change"] = parts["block_step"]
    for name, weights in parts.items():
        for weight in weights:
            data = encoder.model.get_parameter(weight).data
            kept = data.clone()
            data.mul_(1.05)
            with pytest.raises(TraceError, match="recomputed, differs from what ran"):
                asked(name, encoder, trace)
            data.copy_(kept)
        asked(name, encoder, trace)


def test_runs_of_the_model_are_taken(tmp_path):
    """Padded, masked in one head, without positions, from a file, in half precision."""
    for axes in DESIGNS.values():
        encoder = made(**axes)
        runs = vz.capture(encoder, [IDS, IDS[:3]])
        mask = torch.ones(6, 6, dtype=torch.bool).tril()
        runs.append(vz.capture(encoder, IDS, mask={(1, 2): mask}))
        runs += [changed(encoder, IDS, codes) for codes in CHANGES]
        for number, trace in enumerate(runs):
            trace.save(tmp_path / f"{number}.safetensors")
            for run in (trace, vz.Trace.load(tmp_path / f"{number}.safetensors")):
                require_made_by(encoder, run)
        half = vz.load(encoder.model, dtype=torch.bfloat16)
        require_made_by(half, vz.capture(half, IDS))
        with pytest.raises(SelectionError, match="Capture the input again"):
            require_made_by(half, runs[0])


def test_a_run_inside_an_ablation_is_one_of_its_model_and_says_so(tmp_path):
    """Zeros are known by their place, a mean by what the layer gave; the notes name both."""
    encoder, mean = made(), torch.full((8,), 0.3)
    for cut in ("zero", mean):
        with vz.ablate(encoder.model, {(1, 2): cut}):
            trace = vz.capture(encoder, IDS)
            require_made_by(encoder, trace)
        assert trace.removed == (((1, 2),) if cut == "zero" else ())
        assert sum("Head 1.2 was removed by ablate" in note for note in trace.notes) == 1
        assert analyses.predictions(encoder, trace, tokens=[1]).guesses
        encoder.model.get_parameter("layers.2.ff.up.bias").data.add_(0.5)
        with pytest.raises(SelectionError, match="block 2"):
            require_made_by(encoder, trace)
        encoder.model.get_parameter("layers.2.ff.up.bias").data.sub_(0.5)
        trace.save(tmp_path / "run.safetensors")
        for part in (
            "attn.o.weight",
            "ff.down.bias",
            "attn_norm.bias",
            "ff_norm.weight",
            "attn.v.bias",
        ):
            weight = encoder.model.get_parameter(f"layers.1.{part}").data
            kept = weight.clone()
            weight.mul_(3)
            for run in (trace, vz.Trace.load(tmp_path / "run.safetensors")):
                with pytest.raises(SelectionError, match=r"layer 1|block 1"):
                    require_made_by(encoder, run)
            weight.copy_(kept)
    with vz.ablate(encoder.model.layers[1], {(0, 2): "zero"}):
        require_made_by(encoder, vz.capture(encoder, IDS))
    zero = changed(encoder, IDS, ["h1.2"])
    with vz.ablate(encoder.model, {(1, 2): "zero"}):
        ablated = vz.capture(encoder, IDS)
    norms = [analyses.value_weighted(encoder, each, 1).norms for each in (zero, ablated)]
    assert np.array_equal(*norms) and not norms[0][2].any()
    assert not vz.capture(encoder, IDS).notes[1:] and not vz.capture(encoder, IDS).removed


def test_a_run_that_went_wrong_is_still_one_of_its_model():
    encoder = made()
    encoder.model.get_parameter("layers.1.ff.up.weight").data[0, 0] = torch.nan
    trace = vz.capture(encoder, IDS)
    require_made_by(encoder, trace)
    with pytest.raises(SelectionError, match="block 1"):
        require_made_by(made(), trace)


def test_a_large_value_that_is_carried_along_hides_nothing():
    """Pre-norm models have numbers of 1,000 in the residual stream, beside which W_O adds 0.1."""
    encoder = made(norm_placement=NormPlacement.PRE, final_norm=True)
    encoder.model.get_parameter("embed.norm.bias").data[3] += 3000.0
    trace = vz.capture(encoder, IDS)
    require_made_by(encoder, trace)
    encoder.model.get_parameter("layers.1.attn.o.weight").data.mul_(1.01)
    for name in ("value_weighted", "block_parts", "block_step", "heads_step"):
        with pytest.raises(VizEncoderError, match="recomputed, differs"):
            asked(name, encoder, trace)


def test_a_run_without_hidden_states_is_refused():
    encoder = made()
    trace = vz.capture(encoder, IDS)
    for kept in ((), trace.hidden_states[:-1]):
        with pytest.raises(SelectionError, match="hidden states, which tell whether"):
            analyses.value_weighted(encoder, replace(trace, hidden_states=kept), 0)


def test_a_removed_head_adds_nothing():
    """The run with a head removed is read as it ran: by hand, with that head's columns of W_O 0."""
    encoder = made()
    trace = changed(encoder, IDS, ["h1.2"])
    assert trace.removed == ((1, 2),)
    encoder.model.get_parameter("layers.1.attn.o.weight").data[:, 16:24] = 0.0
    by_hand = vz.capture(encoder, IDS)
    whole = made()
    for compute in (analyses.value_weighted, analyses.value_weighted_sum):
        found, expected = compute(whole, trace, 1).norms, compute(encoder, by_hand, 1).norms
        assert np.abs(found - expected).max() <= 1e-6 * expected.max() and expected.max() > 0
    found, expected = (
        analyses.residual_change(*each) for each in ((whole, trace), (encoder, by_hand))
    )
    for part in ("attention", "feed_forward"):
        one, other = getattr(found, part), getattr(expected, part)
        assert np.abs(one - other).max() <= 2e-5 * other.max()


@pytest.mark.parametrize("name", ["predictions", "logit_lens"])
def test_other_heads_are_refused(name, tmp_path):
    """No hidden state depends on them, so the run keeps what tells them apart."""
    encoder = made()
    trace = vz.capture(encoder, IDS)
    trace.save(tmp_path / "run.safetensors")
    for run in (trace, vz.Trace.load(tmp_path / "run.safetensors")):
        for _, weight in encoder.model.heads.named_parameters():
            kept = weight.detach().clone()
            weight.data[:1] += 0.01
            with pytest.raises(
                SelectionError, match=r"prediction heads of .* do not have the weights"
            ):
                asked(name, encoder, run)
            weight.data.copy_(kept)
        asked(name, encoder, run)
        asked(name, encoder, replace(run, origin=replace(run.origin, heads="")))
