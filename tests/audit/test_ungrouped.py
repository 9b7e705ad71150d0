"""The keywords of audit_mask before they were grouped still work, and say what to write instead."""

import json

import pytest
import torch

import viz_encoder as vz
from tests.audit.plants import Stack, causal, padding
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.audit.ungrouped import UNGROUPED, accepts_ungrouped

SMALL = {"d_model": 8, "n_layers": 2}


VALID = torch.arange(9) < torch.tensor([[6], [9], [4]])
OLD_AND_NEW = [
    ({"inputs": print}, {"inputs": {"make": print}}),
    ({"vocab_size": 11}, {"inputs": {"vocab_size": 11}}),
    ({"pad_id": 1}, {"inputs": {"pad_id": 1}}),
    ({"valid": VALID}, {"inputs": {"valid": VALID}}),
    ({"positions": "both"}, {"inputs": {"padding_side": "both"}}),
    ({"lengths": (5, 11)}, {"scope": {"lengths": (5, 11)}}),
    ({"window": 3}, {"scope": {"window": 3}}),
    ({"max_positions": 16}, {"scope": {"max_positions": 16}}),
    ({"dtype": torch.bfloat16}, {"scope": {"dtype": torch.bfloat16}}),
    ({"documents": True}, {"scope": {"documents": True}}),
    ({"pooled": max}, {"scope": {"pooled": max}}),
    ({"step": pow}, {"scope": {"step": pow}}),
    ({"variants": {"twin": max}}, {"scope": {"variants": {"twin": max}}}),
    (
        {"valid": VALID, "lengths": (5, 11), "window": None},
        {"inputs": {"valid": VALID}, "scope": {"lengths": (5, 11), "window": None}},
    ),
]
KINDS = {"inputs": AuditInputs, "scope": AuditScope}


@accepts_ungrouped
def given_to(**given):
    return given


@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW, ids=lambda given: "-".join(given))
def test_an_old_keyword_comes_in_its_group_and_the_warning_names_it(old, new):
    with pytest.warns(DeprecationWarning) as warned:
        found = given_to(d_model=8, **old)
    assert found.pop("d_model") == 8
    assert {name: type(group) for name, group in found.items()} == {n: KINDS[n] for n in new}
    for name, fields in new.items():
        assert vars(found[name]) == vars(KINDS[name](**fields))
    (warning,) = warned
    text = str(warning.message)
    for name, fields in new.items():
        said = ", ".join(f"{field}=…" for field in fields)
        assert f"{name}={KINDS[name].__name__}({said})" in text
    assert all(f"{name}=" in text.partition(" write ")[0] for name in old)
    assert warning.filename == __file__ and "next version" in text


def test_a_report_is_the_same_either_way():
    with pytest.warns(DeprecationWarning):
        before = vz.audit_mask(Stack(), causal, padding, **SMALL, lengths=(5, 9), positions="both")
    inputs, scope = AuditInputs(padding_side="both"), AuditScope(lengths=(5, 9))
    now = vz.audit_mask(Stack(), causal, padding, **SMALL, inputs=inputs, scope=scope)
    assert now.verdict == "FAIL"
    assert json.loads(before.to_json())["checks"] == json.loads(now.to_json())["checks"]


def test_the_new_form_warns_of_nothing():
    given = {"inputs": AuditInputs(pad_id=1), "scope": AuditScope(window=3), "seed": 1}
    assert given_to(**given) == given and given_to(inputs=None) == {"inputs": None}


def test_every_old_keyword_is_tried():
    assert {name for old, _ in OLD_AND_NEW for name in old} == set(UNGROUPED)


def test_old_and_new_may_stand_together():
    with pytest.warns(DeprecationWarning):
        scope = given_to(scope=AuditScope(dtype=torch.bfloat16), window=3)["scope"]
    assert (scope.dtype, scope.window) == (torch.bfloat16, 3)


def test_assert_mask_takes_them_and_names_its_caller():
    with pytest.warns(DeprecationWarning, match="lengths=") as warned:
        assert vz.assert_mask(Stack(), padding, **SMALL, lengths=(5,)).ok
    assert [warning.filename for warning in warned] == [__file__]


def test_what_was_never_a_keyword_is_refused():
    with pytest.raises(TypeError, match="'modle'"):
        vz.audit_mask(Stack(), padding, **SMALL, modle=1)
