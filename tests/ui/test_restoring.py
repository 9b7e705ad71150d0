"""What a link brings back on a server that has let its run go, and what it says where it cannot."""

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import of_another_model
from viz_encoder.bundled import asset
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.ui.state.attributed import outcome_of
from viz_encoder.ui.state.examples import PICTURES
from viz_encoder.ui.state.painted_mask import (
    MOST_CHARACTERS,
    PaintedMask,
    mask_code,
    mask_from_code,
)
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.tabs.explore.outcomes import proof_plain

TEXT = "The cat sat on the mat"
LINK = {"kind": "text", "model": "all-MiniLM-L6-v2", "a": TEXT}


def masked(n, seed=0):
    return torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) > 0.4


@pytest.mark.parametrize("n", [1, 5, 8, 13, 40, 100])
def test_a_mask_goes_through_a_link_and_back(n):
    for mask in (masked(n), torch.ones(n, n, dtype=torch.bool).tril(), ~masked(n, 1)):
        code = mask_code(mask)
        assert 0 < len(code) <= MOST_CHARACTERS and code.replace("-", "_").isascii()
        assert torch.equal(mask_from_code(code, n), mask)
    assert mask_code(torch.ones(9, 9, dtype=torch.bool).tril()) == "causal"


def test_a_mask_too_large_for_a_link_is_named_so():
    large = PaintedMask(mask_code(masked(300)))
    assert large.to_link() == {"ran": "large"}
    assert torch.equal(large.over(300, 6, 12).intent, masked(300))
    band = torch.arange(512)
    near = (band[:, None] - band).abs() <= 7
    assert mask_code(near)  # large, but told in few words
    assert torch.equal(mask_from_code(mask_code(near), 512), near)


def test_a_code_that_is_no_mask_is_refused():
    good = mask_code(masked(13))
    for code in ("", "z.", "z.!!", "nonsense", good[:-4], good[2:], "z." + "A" * 2000):
        with pytest.raises(SelectionError, match="The mask in this link cannot be read"):
            mask_from_code(code, 13)
    with pytest.raises(SelectionError, match="does not fit the 14 tokens"):
        mask_from_code(good, 14)
    with pytest.raises(SelectionError, match="over 4,096"):
        mask_from_code("causal", 5000)


def test_an_expired_run_is_made_again_with_its_mask(runner, minilm):
    n = vz.capture(minilm, TEXT).n_tokens
    mask = masked(n) | torch.eye(n, dtype=torch.bool)
    link = {**LINK, "run": "gone", "ran": mask_code(mask)}
    made = restore(runner, link)
    assert "pairs forbidden" in made["masked"] and made["notes"] == []
    assert made["link"] == {**link, "run": made["key"]}
    assert made["swap"] is None and made["example"] is False
    ours = vz.capture(minilm, TEXT, mask=mask).attention(3, 2).numpy()
    found = runner.store.get(made["key"]).trace.attention(3, 2).numpy()
    np.testing.assert_allclose(found, ours, atol=1e-6)
    again = restore(runner, made["link"])
    assert again["key"] == made["key"]  # held: nothing runs
    planted = restore(runner, {**link, "mistake": "ignored"})
    assert "ignores it" in planted["masked"] and planted["link"]["mistake"] == "ignored"


def test_a_link_brings_a_mask_and_changes_back_together(runner, minilm):
    n = vz.capture(minilm, TEXT).n_tokens
    mask = masked(n) | torch.eye(n, dtype=torch.bool)
    link = {**LINK, "ran": mask_code(mask), "cut": "h3.0,l2.1:4-2,t5"}
    found = restore(runner, link)
    assert found["link"] == {**link, "run": found["key"]} and found["masked"]
    assert [each["code"] for each in found["changed"]["changes"]] == link["cut"].split(",")
    entry = runner.store.get(found["key"])
    hidden = mask.clone()
    hidden[:, 5] = False
    masks = dict.fromkeys(range(6), hidden)
    cut = hidden.clone()
    cut[4, 2] = False
    masks[2, 1] = cut
    with vz.effects.ablate(minilm.model, {(3, 0): "zero"}):
        expected = vz.capture(minilm, TEXT, mask=masks)
    np.testing.assert_allclose(entry.trace.output, expected.output, atol=2e-6)
    assert proof_plain(entry)["passed"] is True
    plain = runner.store.get(found["changed"]["plain"])  # the same without the changes alone
    assert plain.masked is not None and torch.equal(plain.masked.intent, mask)
    before = vz.capture(minilm, TEXT, mask=mask).output
    moved = float(((expected.output - before).norm(dim=1) / before.norm(dim=1)).mean())
    assert outcome_of(entry).moved == pytest.approx(moved, rel=1e-4)


def test_a_new_text_has_no_mask(runner):
    found = restore(runner, {**LINK, "ran": "causal", "cut": "d2"})
    assert found["masked"] and found["changed"] is None
    assert "gives the text new tokens" in found["notes"][-1]
    assert found["notes"][-1].endswith("the run is shown unchanged.")


def test_a_mask_that_cannot_be_had_leaves_the_run_and_says_so(runner):
    for ran, says in (("large", "too large for its link"), ("z.xx", "cannot be read")):
        found = restore(runner, {**LINK, "ran": ran})
        assert found["masked"] == "" and len(found["tokens"]) == 8
        assert says in found["notes"][-1]
        assert found["notes"][-1].endswith("; the run is shown without a mask.")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"kind": "image", "model": "scene", "run": "gone"}, "cannot hold a picture"),
        ({"kind": "text", "model": "m", "run": "gone", "from": "file"}, "open its file again"),
        ({"kind": "text", "model": "m", "run": "gone"}, "too long for a link; paste it again"),
    ],
)
def test_what_a_link_cannot_hold_is_said(runner, query, says):
    with pytest.raises(SelectionError, match="has expired on the server") as told:
        restore(runner, query)
    assert says in str(told.value) and str(told.value).endswith("other choices are kept.")


def test_a_saved_run_and_a_long_text_say_what_they_came_from(runner, minilm, tmp_path):
    of_another_model(vz.capture(minilm, TEXT)).save(tmp_path / "run.safetensors")
    saved = runner.saved(str(tmp_path / "run.safetensors"))
    assert saved["link"]["from"] == "file" and saved["link"]["run"] == saved["key"]
    long = runner.text("all-MiniLM-L6-v2", "word " * 900)
    assert long["link"] == {"kind": "text", "model": "all-MiniLM-L6-v2", "run": long["key"]}
    assert restore(runner, long["link"])["key"] == long["key"]


def test_a_run_is_opened_beside_the_shown_one(site, minilm, tmp_path):
    trace = vz.capture(minilm, TEXT)
    trace.save(tmp_path / "run.safetensors")
    content = (tmp_path / "run.safetensors").read_bytes()
    saved = httpx.post(f"{site}viz/open/saved", content=content, timeout=60).json()
    linked = httpx.post(f"{site}viz/open/link", json=LINK, timeout=60).json()
    for found in (saved, linked):
        assert found["tokens"] == list(trace.tokens)
        row = httpx.get(f"{site}viz/run/{found['key']}/row?layer=2&head=3&query=4")
        weights = np.frombuffer(row.content, "<f4")
        np.testing.assert_allclose(weights, trace.attention(2, 3)[4].numpy(), atol=1e-6)
    for path, sent, says in (
        ("link", b"[]", "not the link of a run"),
        ("link", b'{"kind": 3}', "not the link of a run"),
        ("link", b"{", "not the link of a run"),
        ("link", b" " * 70_000, "at most"),
        ("saved", b"nothing", "The file"),
    ):
        answer = httpx.post(f"{site}viz/open/{path}", content=sent, timeout=60)
        assert answer.status_code == 404 and says in answer.json()["message"]


def test_a_text_that_is_none_is_refused(runner):
    with pytest.raises(InputError):
        restore(runner, {**LINK, "a": 3})


def test_a_link_to_another_kind_is_refused(runner):
    with pytest.raises(SelectionError, match="This link asks for 'video'; a link opens text, pair"):
        restore(runner, {"kind": "video", "a": TEXT})
    with pytest.raises(SelectionError, match="There is no example picture 'bogus'"):
        restore(runner, {"kind": "image", "example": "bogus"})


def test_a_mask_over_a_picture_is_passed(runner):
    scene = vz.load("scene", device="cpu")
    name, picture = next(iter(PICTURES.items()))
    link = {"kind": "image", "model": "scene", "example": name, "ran": "causal"}
    trace = runner.store.get(restore(runner, link)["key"]).trace
    n = trace.n_tokens
    ran = vz.capture(scene, asset(picture), mask=torch.ones(n, n).tril() > 0)
    assert n == 101 and torch.equal(trace.attention(3), ran.attention(3))
