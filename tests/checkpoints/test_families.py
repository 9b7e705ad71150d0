"""Every family of the table against transformers, and each wrong setting of it is seen."""

import json

import pytest

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.parity import TOLERANCE, change_config, compare, keep_only, save
from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.errors import CheckpointError

OF_TRANSFORMERS = [case.name for case in CASES if case.save is None]
NAMED = {case.name: case for case in CASES}
WRONG = [(case.name, key) for case in CASES for key in case.wrong]


@pytest.mark.parity
@pytest.mark.parametrize("name", NAMED)
def test_it_equals_the_reference(tmp_path, name):
    case = NAMED[name]
    reference = save(case, tmp_path)
    apart = compare(case, vz.load(tmp_path, device="cpu", part=case.part), reference)
    assert apart.worst <= TOLERANCE * case.loose, apart


@pytest.mark.parity
@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_settings_that_config_json_leaves_out(tmp_path, name):
    case = NAMED[name]
    reference = save(case, tmp_path)
    before = json.loads((tmp_path / "config.json").read_text())
    keep_only(tmp_path, type(reference.config)().to_dict())
    assert len(json.loads((tmp_path / "config.json").read_text())) < len(before)
    apart = compare(case, vz.load(tmp_path, device="cpu", part=case.part), reference)
    assert apart.worst <= TOLERANCE * case.loose, apart


@pytest.mark.parity
@pytest.mark.parametrize(("name", "key"), WRONG)
def test_a_wrong_setting_is_seen(tmp_path, name, key):
    """Each axis counts: loaded with one wrong, the checkpoint is refused or the numbers differ."""
    case = NAMED[name]
    reference = save(case, tmp_path)
    change_config(tmp_path, {key: case.wrong[key]}, case.part)
    try:
        encoder = vz.load(tmp_path, device="cpu", part=case.part)
        apart = compare(case, encoder, reference)
    except (CheckpointError, AssertionError):  # refused, or other shapes than the reference's
        return
    assert apart.worst > 3 * TOLERANCE * case.loose, apart


def test_every_family_has_a_case():
    assert {case.model_type for case in CASES} >= set(FAMILIES) - {"viz_encoder"}
