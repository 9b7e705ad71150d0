"""record() against transformers' own eager maps, model by model; docs/record.md is its table."""

from pathlib import Path

import pytest
import torch

from tests.slow import slow
from tests.trace.zoo import CASES, SOME, Case
from viz_encoder.trace import record

torch.set_num_threads(1)
TABLE = Path(__file__).parents[2] / "docs" / "record.md"
KINDS = {"sdpa": "q, k, v, mask", "softmax": "the maps themselves, v"}


def tensors_of(output):
    return [x for x in output.values() if isinstance(x, torch.Tensor)]


def row(case, calls):
    """The line of the table that this run earns."""
    first = calls[0]
    seen = KINDS[first.kind] if first.attention.bias is None else "q, k, v, mask, bias"
    n_self = sum(not call.cross for call in calls)
    cross = f" + {len(calls) - n_self} cross" if n_self < len(calls) else ""
    return f"| {case.name} | {first.kind} | {seen} | {n_self}{cross} | `{first.block}` |"


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_maps_are_those_of_the_eager_model(case: Case):
    model, eager = case.build("sdpa" if case.kind == "sdpa" else "eager"), case.build("eager")
    inputs, valid = case.read()
    with torch.no_grad():
        plain = model(**inputs)
        with record(model) as recording:
            output = model(**inputs)
        reference = eager(**inputs, output_attentions=True, output_hidden_states=True)
    assert len(tensors_of(plain)) == len(tensors_of(output)) > 0
    assert all(map(torch.equal, tensors_of(plain), tensors_of(output)))
    maps = getattr(reference, case.maps)
    states = reference["encoder_hidden_states" if case.within else "hidden_states"]
    for sample in range(len(valid)):
        trace = recording.trace(sample=sample, within=case.within)
        real = valid[sample].expand(trace.n_tokens)
        assert trace.n_layers == len(maps) == 3
        for layer, expected in enumerate(maps):
            apart = (trace.attention(layer) - expected[sample])[:, real].abs().max()
            assert apart <= 5e-6, f"layer {layer}, sample {sample}: {apart:.1e}"
            near = (trace.hidden(layer) - states[layer][sample])[real].abs().max()
            assert near <= 1e-4, f"hidden state {layer}, sample {sample}: {near:.1e}"
        assert trace.proof.passed, trace.proof.sentence
        assert trace.valid.tolist() == real.tolist()
        assert (trace.layers[0].maps is not None) == (case.kind == "softmax")
        assert any("kept exactly as they ran" in note for note in trace.notes) == (
            case.kind == "softmax"
        )
    assert row(case, recording.calls) in TABLE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_wrong_pairing_of_layers_would_be_seen():
    """The models are uneven enough: another layer's map is far off, in every one of them."""
    for case in CASES:
        inputs, _ = case.read()
        with torch.no_grad():
            maps = getattr(case.build("eager")(**inputs, output_attentions=True), case.maps)
        assert min(float((maps[0] - other).abs().max()) for other in maps[1:]) > 0.1, case.name


@pytest.mark.parametrize("name", ["T5 (whole)", slow("BART encoder"), slow("Whisper encoder")])
def test_cross_attention(name):
    case = next(case for case in CASES if case.name == name)
    model, eager = case.build("sdpa"), case.build("eager")
    inputs, _ = case.read()
    with torch.no_grad(), record(model) as recording:
        model(**inputs)
    with torch.no_grad():
        reference = eager(**inputs, output_attentions=True)
    cross = recording.trace(cross=True, sample=1)
    decoder = recording.trace(within="decoder", sample=1)
    for layer in range(2):
        expected = reference.cross_attentions[layer][1]
        assert (cross.attention(layer) - expected).abs().max() <= 5e-6
        expected = reference.decoder_attentions[layer][1]
        assert (decoder.attention(layer) - expected).abs().max() <= 5e-6
    assert cross.layers[0].cross and not decoder.layers[0].cross
    assert cross.n_tokens == 5 and len(cross.key_tokens) == cross.layers[0].k.shape[1]
    assert cross.proof.passed and decoder.proof.passed


@pytest.mark.parametrize("dtype", [torch.bfloat16, slow(torch.float16)])
@pytest.mark.parametrize("name", ["BERT", slow("Llama"), slow("T5 encoder")])
def test_half_precision(name, dtype):
    case = next(case for case in CASES if case.name == name)
    model = case.build("sdpa").to(dtype)
    inputs, _ = case.read()
    with torch.no_grad():
        plain = model(**inputs)
        with record(model) as recording:
            output = model(**inputs)
    assert torch.equal(plain.last_hidden_state, output.last_hidden_state)
    trace = recording.trace(sample=1)
    assert trace.layers[0].q.dtype == dtype and trace.attention(0).dtype == torch.float32
    assert trace.proof.passed, trace.proof.sentence


@pytest.mark.parametrize("name", [slow("BERT"), "Llama", slow("MPNet")])
def test_half_precision_by_hand(name):
    """Weights in bfloat16 sum to 1 only so far; Llama's softmax is wider than its product."""
    case = next(case for case in CASES if case.name == name)
    model = case.build("eager").to(torch.bfloat16)
    inputs, _ = case.read()
    with torch.no_grad(), record(model) as recording:
        model(**inputs)
    trace = recording.trace(sample=1)
    assert trace.layers[0].maps is not None and trace.origin.dtype == "bfloat16"
    assert trace.proof.passed, trace.proof.sentence


@pytest.mark.parametrize("name", ["BERT", slow("T5 encoder"), slow("Llama"), "MPNet", slow("BEiT")])
def test_gradients_are_bit_for_bit_the_same_in_training(name):
    case = next(case for case in CASES if case.name == name)
    model = case.build("eager" if case.kind == "softmax" else "sdpa").train()
    inputs, _ = case.read()

    def gradients():
        torch.manual_seed(3)
        model.zero_grad()
        model(**inputs).last_hidden_state.square().sum().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    plain = gradients()
    with record(model) as recording:
        recorded = gradients()
    assert len(plain) == len(recorded) > 10
    assert all(map(torch.equal, plain, recorded))
    trace = recording.trace()
    assert not any(layer.q.requires_grad for layer in trace.layers)
    dropped = name in ("BERT", "MPNet", "T5 encoder")
    assert any("Dropout of 0.1" in note for note in trace.notes) == dropped
    assert (trace.proof.error is None) == dropped
