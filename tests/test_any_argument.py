"""Anything for any public argument: a result, or a sentence of ours, and never a raw error.

Public functions are found by themselves. One whose valid arguments cannot be told from their names
has a line in `CALLS`; whatever a function that a person gives does itself is theirs.
"""

import inspect
import itertools
import math
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.shape_checks import shapes_checked
from viz_encoder import audit
from viz_encoder.bundled import asset
from viz_encoder.config import EncoderConfig, HeadConfig
from viz_encoder.inputs.items import Item
from viz_encoder.ui import launch as launching

TEXT = "the key to the cabinets [MASK] on the table"
PLURAL = "the keys to the cabinets [MASK] on the table"
READ_AS_GIVEN = {EncoderConfig, HeadConfig, audit.AuditInputs, audit.AuditScope, vz.Encoder}
OF_OURS = {"shown_partners", "columns", "measure"}  # of results: for us, or without arguments
RUN_BY_US = {"progress", "call", "cut", "untouched", "intent", "make_mask", "make", "head", "log"}

GRAMMAR = vz.load("grammar", device="cpu")
TRACE, OTHER = (vz.capture(GRAMMAR, text) for text in (TEXT, PLURAL))
PICTURE = vz.capture(vz.load("scene", device="cpu"), asset("examples/digit.png"))
SMALL = EncoderConfig(n_layers=1, n_heads=2, d_model=8, d_ff=8, vocab_size=9, max_positions=9)
LAYER = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
MODULE = nn.TransformerEncoder(LAYER, 1, enable_nested_tensor=False).eval()
BATCH = torch.zeros(2, 5, 8)
ITEMS = [Item(text, text[-1:]) for text in ("the key", "a key", "the keys", "a keys")]


def everyone(batch: torch.Tensor) -> torch.Tensor:
    """An intent: all may attend to all."""
    return torch.ones(len(batch), batch.shape[1], batch.shape[1], dtype=torch.bool)


EFFECT = vz.effect(GRAMMAR, TEXT)
NAMED = {  # a valid value, by the parameter's name
    **{"trace": TRACE, "other": OTHER, "reference": OTHER, "masked": TRACE, "plain": TRACE},
    **{"encoder": GRAMMAR, "layer": 0, "state": 0, "head": 0, "query": 2, "key": 3, "token": 2},
    **{"text": TEXT, "texts": TEXT, "inputs": TEXT, "source": TEXT, "sources": [TEXT]},
    **{"rows": slice(0, 4), "keys": slice(0, 4), "traces": [TRACE, OTHER], "role": "previous"},
    **{"items": ITEMS, "method": "mean", "labels": ["a", "a", "b"], "vectors": np.eye(3)},
    **{"intent": everyone, "model": MODULE, "module": MODULE, "batch": BATCH, "config": SMALL},
    **{"path": Path("run.safetensors"), "folder": Path("saved"), "task": "masked"},
    **{"codes": ["h0.0"], "heads": "all"},
    **{"clean": TEXT, "cuts": {}, "call": lambda model: model(BATCH)},
    **{"name": "previous", "item": 0, "effect": EFFECT},
    **{"attribution": vz.attribute(GRAMMAR, TEXT), "first": TEXT, "second": PLURAL},
}
CALLS: dict[str, dict[str, Any]] = {  # by the function, what those names do not tell
    "analyses.attention_pooling": {"items": ITEMS, "steps": 2, "seeds": [0]},
    "analyses.mask_leaks": {"intent": everyone(BATCH.new_zeros(1, TRACE.n_tokens))[0]},
    "analyses.mask_panels": {"intent": everyone(BATCH.new_zeros(1, TRACE.n_tokens))[0]},
    "analyses.padding_drift": {"n_padding": 2},
    "figures.patch_overlay": {"trace": PICTURE},
    "load": {"model": "grammar", "device": "cpu"},
    "pool": {"hidden": TRACE.output, "valid": TRACE.valid},
    "audit_mask": {"d_model": 8},
    "assert_mask": {"d_model": 8, "seed": 0, "make_mask": None},
    "corpus": {"items": [TEXT], "measures": ["statistics"]},
    "patch": {"other": PLURAL},
    "Attribution.load": {"path": Path("found.safetensors")},
    "effects.joint": {"heads": [(0, 0)]},
    "effects.links": {"links": [(0, None, 2, 3)]},
    "effects.prove": {"cuts": {(0, 0): "zero"}},
}
RESULTS = (  # whose methods are public as well
    vz.analyses.pair(TRACE, 1, 2),
    vz.analyses.compare(TRACE, OTHER),
    vz.analyses.token_pairs(TRACE, OTHER),
    vz.analyses.similar_heads(TRACE, 0, 0),
    vz.analyses.collection(GRAMMAR, ITEMS),
    EFFECT,
    vz.attribute(GRAMMAR, TEXT),
    vz.attribute_pair(GRAMMAR, TEXT, PLURAL),
)


class Odd:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


JUNK = (
    *(None, True, 1, -1, 7, 1.7, math.nan, 1 + 2j, 10**30, 10**5000, b"x", Path("no.x"), Odd()),
    *("", "x", "\0", "\ud800", TEXT, [], [1], [None], ["a"], (1, 2), {}, {1: 2}, slice(5, 1)),
    *(slice("a"), lambda *given, **named: None, int, np.zeros(3), np.zeros((2, 2)), np.int64(3)),
    *(np.array([]), np.array([None]), torch.zeros(2, 2, dtype=torch.bool), torch.tensor(1.5)),
    *(torch.empty(0), torch.zeros(2, 3, 4), torch.tensor([math.nan] * 4), torch.float32),
    *(TRACE, PICTURE, GRAMMAR, MODULE, [TRACE], math.inf, -99, [1.5, "a"], {"a": None}),
)


def found() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, method and configuration."""
    for module in (vz, vz.analyses, vz.figures, vz.effects, audit):
        for name in sorted(vars(audit) if module is audit else dir(module)):
            one = getattr(module, name)
            a_class = inspect.isclass(one)
            if name.startswith("_") or not callable(one) or (a_class and one not in READ_AS_GIVEN):
                continue
            if module in (vz, vz.analyses, vz.figures) or not hasattr(vz, name):
                yield f"{module.__name__}.{name}".removeprefix("viz_encoder."), one
    yield from {"HeadConfig": HeadConfig, "read": GRAMMAR.read, "save": GRAMMAR.save}.items()
    for owner in (TRACE, *RESULTS):
        for name, one in vars(type(owner)).items():
            method = isinstance(one, staticmethod) or inspect.isfunction(one)
            if method and name[0] != "_" and name not in OF_OURS:
                yield f"{type(owner).__name__}.{name}", getattr(owner, name)


FOUND = dict(found())


def valid(name: str) -> dict[str, Any]:
    """Arguments with which the function works."""
    told = CALLS.get(name, {})
    for one in inspect.signature(FOUND[name]).parameters.values():
        named = one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if named and one.default is one.empty and one.name not in told:
            told = {**told, one.name: NAMED[one.name]}
    return told


def run(name: str, arguments: dict[str, Any]) -> None:
    """Call it, enter a context, begin what is walked through."""
    with warnings.catch_warnings(), shapes_checked(False):
        warnings.simplefilter("ignore")
        result = FOUND[name](**arguments)
        if isinstance(result, AbstractContextManager):
            with result:
                MODULE(BATCH)
        elif isinstance(result, Iterator):
            next(result, None)


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """A folder of its own, no network, and no server."""

    def refuse(*given: Any) -> None:
        raise OSError("there is no network here")

    def not_served(*given: Any) -> None:
        raise vz.VizEncoderError("Nothing is served here.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(launching, "listen", not_served)
    TRACE.save("run.safetensors")
    NAMED["attribution"].save("found.safetensors")


# Each call of these runs a model many times: `make test` gives them a third of the values.
LONG = ("assert_mask", "attribute", "attribute_pair", "audit_batch", "audit_mask")
TRIED = [pytest.param(name, JUNK[:: 3 if name in LONG else 1], id=name) for name in sorted(FOUND)]
WHOLE = [pytest.param(name, JUNK, id=f"{name}, all", marks=pytest.mark.slow) for name in LONG]


@pytest.mark.parametrize(("name", "values"), [*TRIED, *WHOLE])
def test_any_argument_is_taken_or_refused_in_a_sentence(name, values):
    arguments = valid(name)
    if name != "launch":
        run(name, arguments)
    parameters = [*dict.fromkeys([*inspect.signature(FOUND[name]).parameters, *arguments])]
    read = [each for each in parameters if each not in ("args", "options")]

    for junk, parameter in itertools.product(values, read):
        if parameter in RUN_BY_US and (junk is int or isinstance(junk, nn.Module)):
            continue
        try:
            run(name, {**arguments, parameter: junk})
        except vz.VizEncoderError as fault:
            assert str(fault), parameter
        except Exception as fault:
            raise AssertionError(f"{name}({parameter}=…) of {type(junk)}") from fault
