"""What cannot be done is said by the name that was given, with the cure that works."""

import copy
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder import analyses
from viz_encoder.corpora.examples import Example
from viz_encoder.errors import InputError, SelectionError, VizEncoderError
from viz_encoder.whole_file import write_beside

TEXT = "the keys to the cabinet [MASK] old"


@pytest.fixture(scope="module")
def trace(grammar):
    return vz.capture(grammar, TEXT)


def test_a_run_in_another_precision_is_measured(grammar, trace):
    double = vz.load("grammar", dtype=torch.float64)
    wide = vz.capture(double, TEXT)
    expected = analyses.value_weighted(double, wide, 1, 0).norms
    for encoder, run in ((grammar, wide), (double, trace), (grammar, trace)):
        assert abs(analyses.value_weighted(encoder, run, 1, 0).norms - expected).max() < 1e-5


def test_a_head_takes_states_and_mask(trace):
    given = trace.output[None], trace.valid[None], "pooler"
    for head in (lambda a: a, lambda a, b, c: a, nn.Identity()):
        says = "head cannot be called with hidden states and mask"
        refused(InputError, says, vz.pool, *given, head=head)
    found = vz.pool(*given, head=lambda a, *more: a[:, 1])
    assert torch.equal(found[0], trace.output[1])


def test_a_run_of_nan_says_so(grammar, trace):
    broken = copy.deepcopy(grammar)
    broken.model.get_parameter("layers.1.attn.q.weight").data[0] = torch.nan
    # A kernel may hand NaN on just as we do, or not; here the run has them and the model has none.
    nan = torch.full_like(trace.output, torch.nan)
    states = (*trace.hidden_states[:2], *(nan for _ in trace.hidden_states[2:]))
    with pytest.raises(SelectionError, match="This run holds NaN, first in its block 1"):
        analyses.predictions(grammar, replace(trace, hidden_states=states, output=nan))
    with pytest.raises(SelectionError, match="grammar now gives NaN, first in its projection in l"):
        analyses.predictions(broken, trace)


def test_what_runs_parts_of_a_model_is_refused_in_its_knock(grammar):
    other = vz.load("grammar").model
    for call in (
        vz.effect,
        partial(vz.patch, other="the key to the cabinet [MASK] old"),
        vz.attribute,
    ):
        ablated = vz.ablate(grammar.model.layers[1], {(0, 0): "zero"})
        with pytest.raises(SelectionError, match=r"cannot be used inside vz\.ablate"), ablated:
            call(grammar, TEXT)
        with vz.ablate(other, {(1, 0): "zero"}):
            other(torch.tensor([[1, 2]]))
            call(grammar, TEXT)


def test_a_mask_is_called_as_it_was_given(grammar):
    for given in ([[1, 1]], [[0, 0, 0]], [[[1, 1, 1]]]):
        with pytest.raises(InputError, match="attention_mask") as fault:
            vz.capture(grammar, torch.tensor([[1, 2, 3]]), attention_mask=torch.tensor(given))
        assert "valid" not in str(fault.value)


def test_an_empty_choice_is_refused(grammar, trace):
    padded = vz.capture(grammar, ["the keys", TEXT])[0]
    for call, words in (
        (lambda: analyses.predictions(grammar, trace, tokens=[]), "tokens is empty"),
        (lambda: analyses.role_shares(trace, "next", layers=[]), "layers is empty"),
        (lambda: analyses.predictions(grammar, padded, tokens=[8]), "Token 8 is padding"),
        (lambda: analyses.block_step(grammar, trace, 1, 2, removed=[(9, 9)]), "removed layer 9"),
        (lambda: analyses.heads_step(grammar, trace, 1, 2, removed=[(0, 9)]), "removed head 9"),
        (lambda: vz.effect(grammar, TEXT, measure="logit", other="is"), 'measure="masked"'),
        (lambda: vz.Trace.load(""), "path is empty"),
        (lambda: grammar.save(""), "folder is empty"),
    ):
        refused(VizEncoderError, words, call)


def test_one_token_has_no_neighbor(grammar):
    one = vz.capture(grammar, torch.tensor([[1]]))
    with pytest.raises(SelectionError, match="This run has one token, so none is 1 away"):
        analyses.role_shares(one, "next")


def test_a_text_without_tokens_is_refused(minilm):
    for text in ("\u200b", "\u200b\u200d \ufeff", "\x00"):
        with pytest.raises(InputError, match="finds no tokens in this text"):
            vz.capture(minilm, text)


def test_a_fault_of_what_is_written_keeps_its_words(tmp_path):
    def write(path):
        raise SelectionError("There is no head 99; choose 0 to 3.")

    with pytest.raises(SelectionError, match=r"^There is no head 99"):
        write_beside(write, tmp_path / "out.csv")


def test_brackets_do_not_cross():
    one = Example(0, 0, 1.0, 0, ("a b c",), 2, 2, "c", "c", (4, 5), (4, 5))
    assert one.marked == "a b [{c}]"
    assert replace(one, query_span=(0, 1)).marked == "[a] b {c}"


def test_typed_padding_says_which_is_which(grammar):
    words, padding = r"\[PAD] keys \[PAD]", "[PAD]"
    notes = vz.capture(grammar, f"{words} {padding}").notes
    assert any(note.startswith("Tokens 1, 3 are [PAD] as an ordinary token") for note in notes)
    assert any("it is moved behind [SEP]" in note for note in notes)
    assert not any("own special token" in note for note in notes)
