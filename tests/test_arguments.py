"""What a person gives: which values are taken for an annotation, and what is said of all others."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor

import viz_encoder as vz
from viz_encoder.analyses.column import column
from viz_encoder.analyses.overview import row as row_of
from viz_encoder.arguments import Count, OneOf, above, below, public, read_argument, read_token
from viz_encoder.config import EncoderConfig, Task
from viz_encoder.errors import ConfigError, InputError, SelectionError, TraceError

TEXT = "the key to the cabinets [MASK] on the table"
ANALYSES, FIGURES = vz.analyses, vz.figures


class Shade(Enum):
    """Two names."""

    DARK = "dark"
    LIGHT = "light"


@pytest.mark.parametrize(
    ("hint", "value", "read"),
    [
        (int, np.int64(3), 3),
        (int, torch.tensor(3), 3),
        (int, np.array(3, dtype=np.uint8), 3),
        (float, 3, 3.0),
        (float, np.float32(0.5), 0.5),
        (bool, np.True_, True),
        (int | None, None, None),
        (int | str, "3", "3"),
        (Sequence[int], range(3), (0, 1, 2)),
        (Sequence[int], np.array([4, 5]), (4, 5)),
        (Sequence[int], 7, (7,)),
        (Sequence[str], "mean", ("mean",)),
        (Sequence[int | Sequence[int]], [1, [2, 3]], (1, (2, 3))),
        (Sequence[tuple[int, int]], (3, 0), ((3, 0),)),
        (Mapping[int, str], {np.int64(1): "a"}, {1: "a"}),
        (Literal["auto"] | bool, "auto", "auto"),
        (Shade, "dark", Shade.DARK),
        (str | Path, Path("a"), Path("a")),
        (slice, slice(np.int64(1), None), slice(1, None)),
        (Annotated[str, OneOf(("mean", "max"))], "max", "max"),
        (Any, "x", "x"),
    ],
)
def test_what_is_meant_is_taken(hint, value, read):
    found = read_argument("it", value, hint)
    assert found == read and type(found) is type(read)


@pytest.mark.parametrize(
    ("hint", "value", "says"),
    [
        (int, 1.7, "it is 1.7; it must be a whole number."),
        (int, 3.0, "it is 3.0; it must be a whole number."),
        (int, True, "it is True; it must be a whole number."),
        (int, np.True_, "it is True; it must be a whole number."),
        (int, "3", "it is '3'; it must be a whole number."),
        (int, float("nan"), "it is nan; it must be a whole number."),
        (int, torch.tensor([3]), "it is int64 1; it must be a whole number."),
        (
            int,
            10**30,
            "it is a number of more than 30 digits; it must be a whole number below 2^63.",
        ),
        (int, object(), "it is of type object; it must be a whole number."),
        (Count, 0, "it is 0; it must be a whole number of at least 1."),
        (Annotated[float, above(0), below(1)], 1, "it is 1; it must be a number below 1."),
        (float, float("inf"), "it is inf; it must be a number."),
        (bool, 1, "it is 1; it must be True or False."),
        (str, b"x", "it is b'x'; it must be a text."),
        (Task, "speech", "it is 'speech'; choose one of masked, classify, tokens, replaced, pool."),
        (Sequence[int], [1, "a"], "it holds 'a'; each must be a whole number."),
        (Sequence[int], {1: 2}, "it is {1}; it must be a whole number, or a list of them."),
        (Callable[[int, int], None], lambda one: None, "it must be a function of 2 arguments."),
        (Float[np.ndarray, "layer head"], np.zeros(3), "a numpy array of float (layer, head)."),
        (Bool[Tensor, "query key"], torch.zeros(2, 2), "a tensor of bool (query, key)."),
        (Path, 5, "it is 5; it must be a path."),
    ],
)
def test_all_else_is_refused_in_a_sentence(hint, value, says):
    with pytest.raises(vz.VizEncoderError) as fault:
        read_argument("it", value, hint)
    assert str(fault.value).endswith(says)


def test_arrays_are_taken_from_what_holds_the_same_numbers():
    hint = Float[np.ndarray, " d_model"]
    for given in ([1, 2], torch.tensor([1.0, 2.0], requires_grad=True), np.array([1, 2])):
        found = read_argument("query", given, hint)
        assert found.dtype.kind == "f" and found.tolist() == [1, 2]
    mask = read_argument("mask", np.eye(2, dtype=bool), Bool[Tensor, "query key"])
    assert isinstance(mask, Tensor) and mask.tolist() == [[True, False], [False, True]]


def test_a_public_function_reads_what_it_is_given_and_nothing_else():
    @public(fault=ConfigError)
    def call(one: int, *rest: Any, two: Count = 0, plain=None) -> tuple[Any, ...]:
        return one, rest, two, plain

    assert call(np.int64(2), "a", plain=3) == (2, ("a",), 0, 3)  # a default is taken as it is
    with pytest.raises(ConfigError, match="two is 0; it must be a whole number of at least 1"):
        call(1, two=0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        call(1, three=3)


NAMES = ("[CLS]", "the", "key", "▁Keys", "##s", "the")


@pytest.mark.parametrize(
    ("token", "at"), [(2, 2), (np.int64(2), 2), ("key", 2), ("KEY", 2), ("keys", 3), ("s", 4)]
)
def test_a_token_is_found_by_number_or_name(token, at):
    assert read_token(token, NAMES) == at


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("the", "Tokens 1, 5 are all 'the'; give the number of the one you mean."),
        ("dog", "There is no token 'dog'; the tokens are [CLS], the, key, ▁Keys, ##s, the."),
        (6, "There is no token 6; choose 0 to 5, or a token's name."),
        (-7, "There is no token -7; choose 0 to 5, or a token's name."),
        (4, "Token 4 is padding; choose a real token."),
    ],
)
def test_a_token_that_is_not_meant_is_refused(token, says):
    with pytest.raises(SelectionError) as fault:
        read_token(token, NAMES, valid=[True] * 4 + [False] * 2)
    assert str(fault.value) == says


@pytest.fixture(scope="module")
def trace(grammar):
    """A run of a text with one [MASK]."""
    return vz.capture(grammar, TEXT)


def test_names_stand_for_tokens_wherever_one_is_asked_for(grammar, trace):
    calls: tuple[Callable[[Any, Any], Any], ...] = (
        lambda query, _: ANALYSES.rollout(trace, query).rows,
        lambda query, key: ANALYSES.pair(trace, query, key).weights,
        lambda query, _: row_of(trace, 1, 0, query).weights,
        lambda query, _: ANALYSES.attention_step(trace, 1, 0, query).weights,
        lambda _, key: column(trace, 1, "mean", key).weights,
        lambda query, _: ANALYSES.nearest_tokens(trace, query, 2).cosines,
        lambda query, _: ANALYSES.block_step(grammar, trace, 1, query).heads.outs,
        lambda query, key: ANALYSES.projection_step(grammar, trace, 1, 0, query, key).k,
        lambda query, _: ANALYSES.heads_step(grammar, trace, 1, query).outs,
        lambda query, _: ANALYSES.embedding_step(grammar, trace, query).out,
        lambda query, _: ANALYSES.logit_lens(grammar, trace, tokens=[query]).shares,
        lambda query, _: ANALYSES.predictions(grammar, trace, tokens=[query])[0].shares,
        lambda query, _: vz.attribute(grammar, trace, of="state", token=query).tokens,
        lambda query, key: ANALYSES.compare(trace, trace).cell(query, key).now,
        lambda query, _: ANALYSES.compare(trace, trace).row(query),
        lambda query, _: np.array(FIGURES.rollout(trace, query=query).data[-1].z),
        lambda query, _: FIGURES.projection(trace, token=query).data[-1].x,
        lambda query, _: FIGURES.value_weighted_depth(grammar, trace, query=query).data[-1].z,
        lambda query, _: vz.effect(grammar, TEXT, measure="state", at=query).values,
    )
    assert (trace.tokens.index("key"), trace.tokens.index("cabinets")) == (2, 5)
    for call in calls:
        assert np.array_equal(call("key", "cabinets"), call(2, 5), equal_nan=True)


def test_what_is_swapped_or_near_is_said_with_the_way_out(grammar, trace):
    with vz.record(grammar.model) as recording:
        grammar.model(torch.tensor([[3, 4, 5]]))
    for call, says in (
        (lambda: ANALYSES.findings(recording), "call recording.trace(…) first"),
        (
            lambda: ANALYSES.predictions(trace, grammar),
            "swapped; write predictions(encoder, trace).",
        ),
        (lambda: ANALYSES.rollout(2, trace), "swapped; write rollout(trace, query)."),
        (lambda: ANALYSES.findings([trace]), "a Trace; give one of the list."),
        (lambda: ANALYSES.findings(TEXT), "a Trace, from vz.capture(encoder, text)"),
        (lambda: ANALYSES.predictions(torch.nn.Linear(2, 2), trace), "what vz.load(model) returns"),
        (lambda: vz.effect(grammar, trace), "give the text that it was captured from"),
        (lambda: vz.record(grammar), "give its model, such as encoder.model."),
    ):
        with pytest.raises((InputError, TraceError)) as fault:
            call()
        assert says in str(fault.value)


def test_natural_calls_are_taken(grammar, trace):
    assert vz.load(grammar.model, None).config == grammar.config
    assert len(vz.read_set(["the key", "the keys"])) == 2
    assert ANALYSES.predictions(grammar.model, trace)[0].token == 6
    inputs = grammar.read(TEXT)
    assert grammar.read(inputs) is inputs
    read = vz.attribute(grammar, inputs)[0].tokens
    assert np.array_equal(vz.attribute(grammar, TEXT).tokens, read)


def test_what_was_wrong_in_silence_is_said(grammar, trace, tmp_path):
    module = torch.nn.Linear(2, 2)
    for call, says in (
        (lambda: ANALYSES.predictions(grammar, trace, n=0), "n is 0"),
        (lambda: vz.record(grammar.model, eager="maybe"), "eager is 'maybe'"),
        (lambda: EncoderConfig(n_layers=12, global_layers=(99,)), "no global layer 99"),
        (lambda: trace.save(""), "path is empty"),
        (lambda: vz.effect(grammar, TEXT, other="is"), "other is “is”, which is the model's own"),
        (lambda: ANALYSES.between_runs(trace), "at least two runs"),
        (
            lambda: vz.audit_batch(module, None, lambda batch: batch["x"]),
            "intent(batch) raised Typ",
        ),
        (
            lambda: vz.pool(trace.output, trace.valid, "pooler", head=lambda one, two: None),
            "head gave None",
        ),
    ):
        with pytest.raises(vz.VizEncoderError) as fault:
            call()
        assert says in str(fault.value)


def test_findings_of_nan_weights_say_so():
    encoder = vz.load(EncoderConfig(n_layers=2, n_heads=2, d_model=8, d_ff=8, vocab_size=30))
    encoder.model.layers[1].attn.q.weight.data[4:] = torch.nan
    found = ANALYSES.findings(vz.capture(encoder, torch.tensor([3, 4, 5, 6])))
    assert found.unread == ((1, 1),)
    assert found.sentence.startswith("The weights of head 1.1 are NaN, so nothing can be said")
