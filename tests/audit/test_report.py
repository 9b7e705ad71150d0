"""The report as text, JSON and an error, and the command that writes it."""

import argparse
import json

import pytest

import viz_encoder as vz
from tests.audit.audits import audit
from tests.audit.plants import NoMaps, Stack, causal, padding
from viz_encoder.audit import Check, MaskReport, Verdict
from viz_encoder.audit.command import add_audit

SMALL = {"d_model": 8, "n_layers": 2}


@pytest.fixture(scope="module")
def failing():
    return vz.audit_mask(Stack(), causal, lambda valid: ~causal(valid), **SMALL)


@pytest.fixture(scope="module")
def passing():
    return vz.audit_mask(Stack(), causal, **SMALL)


def test_a_red_report_raises_with_its_own_text(failing):
    with pytest.raises(AssertionError) as caught:
        vz.assert_mask(Stack(), causal, lambda valid: ~causal(valid), **SMALL)
    assert "Pass ~mask" in str(caught.value) and isinstance(caught.value, vz.VizEncoderError)


def test_what_passes_is_handed_back(passing):
    assert vz.assert_mask(Stack(), padding, **SMALL).ok and passing.ok


def test_the_first_failure_is_shown_and_the_rest_folded_into_it(failing):
    text = str(failing)
    assert f"fix:   {failing.check('maps').cure}" in text.replace("\n" + 20 * " ", "\n")
    assert [check.name for check in failing.failed] == ["maps"]
    assert "by the same fault" in text and text.count("  FAIL") == 1
    followers = [check for check in failing.checks if check.follows_from]
    assert {check.follows_from for check in followers} == {"maps"}
    assert failing.sentence.startswith(failing.check("maps").evidence)


def test_json_says_the_same(failing, passing):
    found = json.loads(failing.to_json())
    assert found["verdict"] == "FAIL" and found["sentence"] == failing.sentence
    maps = next(check for check in found["checks"] if check["name"] == "maps")
    kept = ("layer", "head", "sample", "query", "key", "code", "evidence")
    assert all(maps[name] == getattr(failing.check("maps"), name) for name in kept)
    assert json.loads(passing.to_json())["not_tested"] == list(passing.not_tested)


def test_numbers_that_json_lacks_are_written_as_words():
    check = Check(Verdict.FAIL, "It differs.", amount=float("inf"))
    report = MaskReport(Verdict.FAIL, "It differs.", (check,))
    assert json.loads(report.to_json())["checks"][0]["amount"] == "inf"


def test_what_was_not_tested_is_listed(passing):
    text = "\n".join(passing.not_tested)
    for word in ("KV cache", "dtypes", "Pooling", "documents", "12 and 49", "intent itself"):
        assert word in text and word in str(passing)


def test_every_check_is_in_the_report_once(passing):
    names = [check.name for check in passing.checks]
    assert len(names) == len(set(names)) == 28 and all(c.evidence for c in passing.checks)


def test_the_picture_shows_what_was_passed(failing):
    shot = failing.pictures[0]
    assert (shot.intended != shot.passed).sum() == 0  # read as "1 = ignored" it is the intent
    assert shot.passed_as == "True = ignored" and shot.leaks.any()
    assert shot.observed.shape == shot.intended.shape == (7, 7)


@pytest.mark.parametrize("used", [True, False])
def test_a_mask_by_which_tokens_see_their_own_kind_is_used(used):
    inner = Stack().eval()

    def run(x, valid):  # padding sees padding
        kind = valid if used else valid | True
        return inner(x, kind[:, :, None] == kind[:, None, :])

    found = audit(run, padding, lambda valid: valid, module=inner).check("mask_used")
    assert ("not used" in found.evidence) is not used, found
    assert (found.verdict == "PASS") is used


def test_what_is_said_of_unseen_maps_names_no_class_of_ours():
    report = audit(NoMaps().eval(), padding)
    told = report.check("maps").evidence
    assert "Whole" not in str(report) and "of your model was captured" in told, told
    assert "record()" not in told


MODEL = """
import torch
from tests.audit.plants import Stack, causal, padding
import viz_encoder as vz

def right():
    return {"model": Stack(), "intent": causal, "d_model": 8, "n_layers": 2}

def wrong():
    return {**right(), "make_mask": padding}

def report():
    return vz.audit_mask(**right())

def asserting():
    return vz.assert_mask(**wrong())

def nothing():
    return 3

def misspelt():
    return {**right(), "modle": 1}

def raising():
    raise ValueError("first line\\nsecond line")

def asking(path):
    return right()

value = 3
"""


def run(*arguments):
    parser = argparse.ArgumentParser()
    add_audit(parser.add_subparsers(required=True))
    given = parser.parse_args(["audit", *arguments])
    try:
        given.run(given)
    except SystemExit as end:
        return end.code
    return 0


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    (tmp_path / "masks_of_mine.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "broken_masks.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "status"), [("right", 0), ("report", 0), ("wrong", 1), ("asserting", 1)]
)
def test_the_status_is_the_verdict(name, status, capsys):
    assert run(f"masks_of_mine:{name}") == status
    assert capsys.readouterr().out.startswith("FAIL: " if status else "PASS: ")


def test_json_goes_out_and_into_a_file(tmp_path, capsys):
    assert run("masks_of_mine:wrong", "--json", "-o", "report.json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert printed["verdict"] == "FAIL"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("masks_of_mine", "module:function"),
        ("no_such_module_here:right", "There is no module"),
        ("masks_of_mine:absent", "no function 'absent'"),
        ("masks_of_mine:value", "no function 'value'"),
        ("masks_of_mine:nothing", "returned int"),
        ("masks_of_mine:misspelt", "'modle' is not a keyword"),
        ("masks_of_mine:raising", "masks_of_mine:raising raised ValueError: first line second"),
        ("masks_of_mine:asking", "it must take none"),
        ("broken_masks:right", "raised ZeroDivisionError"),
    ],
)
def test_a_wrong_call_ends_with_2(target, words, capsys):
    assert run(target) == 2
    printed = capsys.readouterr().err
    assert words in printed and printed.count("\n") == 1
