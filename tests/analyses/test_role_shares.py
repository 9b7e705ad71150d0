"""Role shares against sums over whole maps in numpy, and against heads that are known."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.by_hand import whole_maps
from tests.refusals import refused
from viz_encoder.analyses.findings import role_shares
from viz_encoder.errors import SelectionError
from viz_encoder.trace import head_rows

TIRED = "The animal didn't cross the street because it was too tired"
WOMAN = "the old woman saw the king because she was tired"
PAIR = ("A man is playing a guitar.", "Someone plays an instrument.")


@pytest.fixture(scope="module")
def run(minilm):
    return vz.capture(minilm, PAIR)


@pytest.mark.parametrize("text", [TIRED, PAIR])
def test_kinds_of_keys_are_sums_of_columns(minilm, text):
    trace = vz.capture(minilm, text)
    maps, special = whole_maps(trace), np.array(trace.sample.special)
    point = np.array([not any(c.isalnum() for c in token) for token in trace.tokens]) & ~special
    later = special.copy()
    later[0] = False
    kinds = {"first": [0], "delimiter": later, "sink": special, "punctuation": point}
    for role, keys in kinds.items():
        expected = maps[..., keys].sum(axis=-1).mean(axis=-1)
        found = role_shares(trace, role)
        assert np.abs(found.shares - expected).max() <= 2e-5 and expected.max() > 0.01
        assert found.n_queries == trace.n_tokens


@pytest.mark.parametrize("in_blocks", [False, True])
def test_offsets_are_means_of_diagonals_over_real_tokens(minilm, monkeypatch, in_blocks):
    trace = vz.capture(minilm, [WOMAN, f"{WOMAN}, and {TIRED}"])[0]
    n, real = trace.n_tokens, int(trace.valid.sum())
    assert real < n
    maps = whole_maps(trace)[:, :, :real, :real]
    if in_blocks:
        monkeypatch.setattr(head_rows, "BLOCK_BYTES", 4 * n * 3)  # three rows
    named = [("previous", 0, -1), ("next", 0, 1), ("same", 0, 0)]
    for role, given, offset in (*named, ("offset", -2, -2), ("offset", 0, 0), ("offset", 3, 3)):
        found = role_shares(trace, role, offset=given)
        bands = np.diagonal(maps, offset, axis1=2, axis2=3)
        assert np.abs(found.shares - bands.mean(axis=-1)).max() <= 2e-5, (role, given)
        assert found.offset == offset and found.n_queries == real - abs(offset)


def linked(trace, pronoun: str, targets: list[str]) -> np.ndarray:
    """The rule once more, of a text with one pronoun, its content words named by hand."""
    maps, query = whole_maps(trace), trace.tokens.index(pronoun)
    found = np.zeros(maps.shape[:2])
    for place in np.ndindex(found.shape):
        row, means = maps[place][query], maps[place].mean(axis=0)
        key = int(row.argmax())
        named = trace.tokens[key] in targets and key < query
        found[place] = named and row[key] >= 2 * means[key]
    return found


def test_pronouns_follow_the_rule(minilm):
    trace = vz.capture(minilm, TIRED)
    found = role_shares(trace, "pronoun")
    assert np.array_equal(found.shares, linked(trace, "it", ["animal", "cross", "street"]))
    assert found.n_queries == 1 and found.shares[3, 1] == 1 and found.shares[5, 11] == 0


def test_the_heads_of_grammar_that_find_who_she_is(grammar):
    trace = vz.capture(grammar, WOMAN)
    found = role_shares(trace, "pronoun")
    assert np.array_equal(found.shares, linked(trace, "she", ["old", "woman", "saw", "king"]))
    she, woman = trace.tokens.index("she"), trace.tokens.index("woman")
    known = vz.analyses.pair(trace, she, woman)
    assert known.ranked(1) == ((2, 3),) and known.ratios[2, 3] < 2  # it looks there from everywhere
    assert known.ratios[1, 1] > 6 and known.ratios[1, 2] > 9
    assert [found.shares[place] for place in ((1, 1), (1, 2), (2, 3))] == [1, 1, 0]


@pytest.mark.parametrize("text", [WOMAN, "copy : a b c d = a b c d"])
def test_shares_are_those_that_findings_tell(grammar, text):
    trace = vz.capture(grammar, text)
    roles = [one for one in vz.analyses.findings(trace, n=30) if one.kind not in ("link", "unlike")]
    offsets = {"5 before": -5, "2 before": -2, "3 before": -3, "4 before": -4}
    assert roles
    for one in roles:
        offset = next((at for said, at in offsets.items() if said in one.sentence), 0)
        if one.kind == "offset" and not offset:
            continue
        shares = role_shares(trace, one.kind, offset=offset).shares
        assert shares[one.layer, one.head] == pytest.approx(one.weight, abs=2e-5)
        assert shares[one.layer, one.head] == shares.max()


def test_a_piece_of_a_word_is_no_pronoun_and_a_text_without_any_has_no_share(minilm):
    found = role_shares(vz.capture(minilm, "It rained. She and her dog waited."), "pronoun")
    assert found.n_queries == 3
    none = role_shares(vz.capture(minilm, "The dog waited."), "pronoun")
    assert none.n_queries == 0 and np.isnan(none.shares).all()
    assert np.isnan(role_shares(vz.capture(minilm, TIRED), "b_to_a").shares).all()


def test_one_layer_is_that_of_all(run):
    every, one = role_shares(run, "sink"), role_shares(run, "sink", layers=(4,))
    assert np.array_equal(one.shares[0], every.shares[4]) and one.layers == (4,)
    frame = one.to_frame()
    assert list(frame) == ["layer", "head", "share"] and set(frame["layer"]) == {4}


def test_what_there_is_not_is_said(run):
    refused(SelectionError, "choose an offset from", role_shares, run, "offset", offset=99)
