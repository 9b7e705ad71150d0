"""Positions off and causal attention, on the weights as they were trained."""

from copy import deepcopy

import pytest
import torch

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.parity import inputs_of, save
from tests.ui.reruns import changed_run
from viz_encoder import effects
from viz_encoder.effects.word_order import switched
from viz_encoder.errors import SelectionError
from viz_encoder.model import attention
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.explore.outcomes import proof_plain
from viz_encoder.ui.tabs.learn.token_numbers import NumbersAsked, token_numbers

TEXT, SWAPPED = "the cat sat on the mat", "the mat sat on the cat"
MASKED = "the keys to the cabinet [MASK] old"


@pytest.fixture
def runner():
    return Runner(Models("cpu"), TraceStore())


def text_key(runner, text=MASKED):
    return runner.text("grammar", text)["key"]


def test_without_positions_swapped_words_swap_their_vectors(minilm):
    there, back = (effects.changed(minilm, text, ["p"]) for text in (TEXT, SWAPPED))
    places = [0, 1, 6, 3, 4, 5, 2, 7]
    assert [there.tokens[at] for at in places] == list(back.tokens)
    apart = (there.output[places] - back.output).abs().max() / back.output.abs().max()
    assert float(apart) <= 2e-6
    plain = [vz.capture(minilm, text).output for text in (TEXT, SWAPPED)]
    assert float((plain[0][places] - plain[1]).abs().max()) > 0.1  # with positions they differ
    assert any("not how this model was trained" in note for note in there.notes)


def test_a_table_that_is_off_is_a_table_of_zeros(minilm):
    zeroed = deepcopy(minilm)
    with torch.no_grad():
        zeroed.model.embed.position.zero_()
    expected, found = vz.capture(zeroed, TEXT), effects.changed(minilm, TEXT, ["p"])
    assert torch.equal(found.hidden(0), expected.hidden(0))
    assert torch.equal(found.output, expected.output)


@pytest.mark.parametrize("name", ["ModernBERT", "T5", "DINOv3"])
def test_no_turn_and_no_number_by_distance(name, tmp_path, monkeypatch):
    case = next(case for case in CASES if case.name.startswith(name))
    save(case, tmp_path)
    encoder = vz.load(tmp_path, device="cpu", **({"part": case.part} if case.part else {}))
    inputs = inputs_of(case, encoder)[0]
    off = vz.capture(switched(encoder, positions=False), inputs)[0]
    with_them = vz.capture(encoder, inputs)[0]
    if name == "T5":
        with torch.no_grad():
            encoder.model.relative.zero_()
    else:
        monkeypatch.setattr(attention, "rotate", lambda x, angles: x)
    expected = vz.capture(encoder, inputs)[0]
    assert torch.allclose(off.output, expected.output, atol=2e-6)
    if off.n_tokens > 1:
        assert not torch.allclose(off.output, with_them.output, atol=1e-3)


def test_causal_is_the_triangle(grammar):
    n = vz.capture(grammar, MASKED).n_tokens
    expected = vz.capture(grammar, MASKED, mask=torch.ones(n, n, dtype=torch.bool).tril())
    found = effects.changed(grammar, MASKED, ["c"])
    assert torch.equal(found.output, expected.output)
    assert all(float(found.attention(layer).triu(1).max()) == 0 for layer in range(4))


def test_the_weights_are_the_same_memory_and_stay_as_they_were(minilm):
    before = {name: each.clone() for name, each in minilm.model.state_dict().items()}
    both = switched(minilm, positions=False, causal=True)
    shared = dict(both.model.named_parameters())
    assert set(before) - set(shared) == {"embed.position"}
    for name, each in shared.items():
        assert each.data_ptr() == minilm.model.get_parameter(name).data_ptr()
    effects.changed(minilm, TEXT, ["p", "c"])
    assert minilm.config.positions == "learned" and not minilm.config.causal
    assert all(torch.equal(before[name], each) for name, each in minilm.model.state_dict().items())


def test_nothing_to_switch_is_said(minilm):
    off = switched(minilm, positions=False, causal=True)
    with pytest.raises(SelectionError, match="has no positions that could be switched off"):
        switched(off, positions=False)
    with pytest.raises(SelectionError, match="is causal as it is"):
        switched(off, causal=True)


def test_switches_go_with_other_changes(grammar):
    found = effects.changed(grammar, MASKED, ["p", "h3.0", "t1"])
    off = switched(grammar, positions=False)
    expected = effects.changed(off, MASKED, ["h3.0", "t1"])
    assert torch.equal(found.output, expected.output)


def test_a_switched_run_is_shown_like_any_changed_run(runner):
    key = text_key(runner)
    made = changed_run(runner, key, ["p", "c", "h2.1"])
    told, entry = runner.again(made), runner.store.get(made)
    words = {each["code"]: each["words"] for each in told["changed"]["changes"]}
    assert words["p"] == "positions off, not how it was trained"
    assert words["c"] == "causal, not how it was trained"
    proof = proof_plain(entry)
    assert proof["passed"] and "later one" in proof["sentence"] and "W_O" in proof["sentence"]
    numbers = token_numbers(entry, NumbersAsked(2, 0, 6, 2, 0))
    assert numbers["missing"] == {} and numbers["agrees"] < 2e-6
    embedding = numbers["embedding"]
    assert embedding["position"] is None and "No positions" in embedding["says"]
    assert numbers["attention"]["allowed"] == [1] * 7 + [0] * 2
