"""Every family of the table against transformers, and each wrong setting of it is seen."""

import json
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import viz_encoder as vz
from tests.checkpoints.cases import CASES, FIRST, KINDS
from tests.checkpoints.parity import (
    TOLERANCE,
    Asked,
    Case,
    ask,
    change_config,
    compare,
    keep_only,
    save,
)
from tests.checkpoints.table import NONE
from tests.slow import slow, slow_but
from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.config import HeadPool
from viz_encoder.errors import CheckpointError
from viz_encoder.trace.prediction_heads import choose_head, tasks

OF_TRANSFORMERS = [case.name for case in CASES if case.save is None]
NAMED = {case.name: case for case in CASES}
WRONG = [
    (slow if case.name not in KINDS else pytest.param)(case.name, key)
    for case in CASES
    for key in case.wrong
]


@dataclass(frozen=True)
class Saved:
    """A case's checkpoint on disk, made once, and what the reference says."""

    folder: Path
    usual: dict[str, Any]  # the defaults of the reference's own config
    asked: list[Asked]

    def copy(self, folder: Path) -> Path:
        """Its files in another folder, to be changed there."""
        return Path(shutil.copytree(self.folder, folder / "model"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The checkpoint of a case by its name."""

    @cache
    def make(name: str) -> Saved:
        case, folder = NAMED[name], tmp_path_factory.mktemp("checkpoint")
        reference = save(case, folder)
        usual = {} if case.save is not None else type(reference.config)().to_dict()
        return Saved(folder, usual, ask(case, loaded(case, folder), reference))

    return make


def loaded(case: Case, folder: Path) -> vz.checkpoints.LoadedEncoder:
    return vz.load(folder, device="cpu", part=case.part)


@pytest.mark.parity
@pytest.mark.parametrize("name", slow_but({*FIRST.values(), *KINDS}, NAMED))
def test_it_equals_the_reference(saved, name):
    case, found = NAMED[name], saved(name)
    apart = compare(loaded(case, found.folder), found.asked)
    assert apart.worst <= TOLERANCE * case.loose, apart


@pytest.mark.parametrize("name", slow_but(KINDS, NAMED))
def test_a_score_splits_exactly(saved, name):
    """Over tokens and biases, which are random here, so that each that is forgotten shows."""
    case, found = NAMED[name], saved(name)
    encoder = loaded(case, found.folder)
    biased = any(name.endswith("bias") for name, _ in encoder.model.layers.named_parameters())
    asks = [{"of": "state", "token": 0}, {"of": "pooled"}]
    if known := tasks(encoder):
        each = choose_head(encoder, known[0]).pool is HeadPool.EACH
        asks.append({"of": "answer", "token": 0 if each else None})
    for question in asks:
        for one in vz.attribute(encoder, found.asked[-1].inputs, **question):
            assert one.unexplained <= 1e-5
            assert (abs(one.biases) > 1e-4 * abs(one.tokens).sum()) or not biased


@pytest.mark.parity
@pytest.mark.parametrize("name", slow_but(["BERT", "DINOv3"], OF_TRANSFORMERS))
def test_settings_that_config_json_leaves_out(tmp_path, saved, name):
    case, found = NAMED[name], saved(name)
    folder = found.copy(tmp_path)
    before = json.loads((folder / "config.json").read_text())
    keep_only(folder, found.usual)
    assert len(json.loads((folder / "config.json").read_text())) < len(before)
    apart = compare(loaded(case, folder), found.asked)
    assert apart.worst <= TOLERANCE * case.loose, apart


@pytest.mark.parity
@pytest.mark.parametrize(("name", "key"), WRONG)
def test_a_wrong_setting_is_seen(tmp_path, saved, name, key):
    """Each axis counts: loaded with one wrong, the checkpoint is refused or the numbers differ."""
    case, found = NAMED[name], saved(name)
    folder = found.copy(tmp_path)
    change_config(folder, {key: case.wrong[key]}, case.part)
    try:
        apart = compare(loaded(case, folder), found.asked)
    except (CheckpointError, AssertionError):  # refused, or other shapes than the reference's
        return
    assert apart.worst > 3 * TOLERANCE * case.loose, apart


def test_every_family_has_a_case():
    assert {case.model_type for case in CASES} >= set(FAMILIES) - {"viz_encoder"}


def test_the_table_in_the_docs_has_every_case():
    text = (Path(__file__).parents[2] / "docs" / "families.md").read_text()
    listed = re.findall(r"^\| (.+?) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", text, re.MULTILINE)
    rows = [row for row in listed if row[0] != "checkpoint"]
    assert [row[:2] for row in rows] == [(case.name, case.model_type) for case in CASES]
    figures = [figure for row in rows for figure in row[2:] if figure != NONE]
    assert max(map(float, figures)) <= TOLERANCE
    assert f"seen: {len(WRONG)} of {len(WRONG)}" in text
