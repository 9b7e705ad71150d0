"""Every planted bug is caught by the check it names, its mended twin passes, right models pass."""

import inspect
import re

import pytest
import torch

from tests.audit.table import (
    CORRECT,
    DOCUMENT,
    OF_TORCH,
    SEEDS,
    SPECIMENS,
    head,
    is_caught,
    missed,
    of_correct,
    of_specimen,
    row_of,
)
from viz_encoder.audit import Verdict

VISIBLE = [identifier for identifier, one in SPECIMENS.items() if one.flagged_by]
DRAWS = range(2)  # the table takes more
MODELS = [
    (name, seed)
    for name in CORRECT
    for seed in range(5 if name in OF_TORCH else 2)  # those of transformers take longer
]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("identifier", VISIBLE)
def test_a_planted_bug_is_caught(identifier, seed):
    report = of_specimen(identifier, seed)
    assert is_caught(identifier, report), report
    assert all(check.verdict is not Verdict.ERROR for check in report.checks), report


@pytest.mark.parametrize("identifier", SPECIMENS)
def test_the_mended_line_passes(identifier):
    report = of_specimen(identifier, 0, True)
    assert report.verdict is Verdict.PASS, report


@pytest.mark.parametrize(("name", "seed"), MODELS)
def test_a_correct_model_passes_without_a_warning(name, seed):
    report = of_correct(name, seed)
    assert report.verdict is Verdict.PASS, report


def test_what_no_audit_can_see_passes_and_says_why():
    unseen = [one for one in SPECIMENS.values() if not one.flagged_by]
    assert [one.identifier for one in unseen] == ["H4-wrong-intent"]
    assert of_specimen("H4-wrong-intent", 0).verdict is Verdict.PASS
    assert unseen[0].missed


@pytest.mark.parametrize("identifier", SPECIMENS)
def test_the_lines_shown_are_lines_that_run(identifier):
    specimen = SPECIMENS[identifier]
    body = squeezed(inspect.getsource(specimen.make).partition("\ndef ")[2])
    assert squeezed(specimen.wrong) in body
    assert squeezed(specimen.right.partition("  #")[0]) in body


def squeezed(code: str) -> str:
    """Without the breaks and commas that formatting puts in."""
    return re.sub(r"\s+|,(?=\s*\))", "", code)


@pytest.mark.parametrize("identifier", SPECIMENS)
def test_a_seed_gives_one_model_and_mending_leaves_its_weights(identifier):
    def weights(seed, fixed=False):
        return dict(SPECIMENS[identifier].build(seed, fixed=fixed).model.named_parameters())

    first, again, mended, other = weights(0), weights(0), weights(0, True), weights(1)
    assert first.keys() == again.keys() == mended.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert all(torch.equal(first[name], mended[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_building_a_model_leaves_the_global_randomness_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for specimen in SPECIMENS.values():
        specimen.build(0)
    assert torch.equal(torch.get_rng_state(), before)


def test_every_section_has_its_specimens():
    sections = {identifier[0] for identifier in SPECIMENS}
    assert sections == set("ABCDEFH")
    assert len(SPECIMENS) >= 33
    assert len(CORRECT) >= 20
    texts = [(one.title, one.symptom, one.story) for one in SPECIMENS.values()]
    assert len(set(texts)) == len(texts)
    assert all(all(text) for text in texts)


def rows_of_document() -> dict[str, list[str]]:
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in cells if row[0] not in ("plant", "model")}


def test_the_document_says_what_the_audits_say():
    rows, every = rows_of_document(), f"{SEEDS} of {SEEDS}"
    assert list(rows) == [*SPECIMENS, *CORRECT]
    for identifier in SPECIMENS:
        assert tuple(rows[identifier][:4]) == row_of(identifier, 1).cells[:4]
        assert rows[identifier][4] == (every if identifier in VISIBLE else f"0 of {SEEDS}")
        assert rows[identifier][5] == every
    for name in CORRECT:
        assert rows[name][1] == every
    quiet = sum(int(rows[name][1].partition(" ")[0]) for name in CORRECT)
    audits = SEEDS * len(CORRECT)
    assert f"False alarms: {audits - quiet} in {audits} audits" in DOCUMENT.read_text()


def test_the_rest_of_the_document_is_as_the_table_writes_it():
    text, rows = DOCUMENT.read_text(), [row_of(one, 1) for one in SPECIMENS]
    written = head(rows, 1)
    versions = r"(?m)^Written by .*$"
    for line in re.sub(versions, "", written).splitlines():
        expected = line.replace("drawn 1 times", f"drawn {SEEDS} times")
        expected = expected.replace("of 1 draws", f"of {SEEDS} draws")
        assert expected in text, expected
    assert missed() in text
