"""The command ends with 0, 1 or 2, and prints what it found."""

import argparse
import json

import pytest

from viz_encoder.audit.command import add_audit

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
