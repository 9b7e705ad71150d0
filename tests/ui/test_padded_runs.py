"""Padding presets run a batch with real [PAD]: what runs and leaks, and what links and code say."""

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import described, until_said
from tests.ui.test_masks import RAN, TEXT, at, bits, painted_mask, panels, post
from tests.ui.texts import LABELS
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore

LONGER = TEXT + " And so was I."


@pytest.fixture(scope="module")
def padded(minilm):
    """The text as row 0 of a batch with a longer one, by the model's own way of padding."""
    return vz.capture(minilm, [TEXT, LONGER])[0]


def padding_of(padded, plain) -> int:
    return padded.n_tokens - plain.n_tokens


def test_real_padding_runs_as_in_a_batch_with_a_longer_text(site, key, plain, padded):
    count = padding_of(padded, plain)
    assert count > 2
    run = post(site, key, f"padded?code=end:{count}").json()
    assert run["tokens"] == list(padded.tokens) and run["tokens"][-1] == "[PAD]"
    assert run["valid"] == padded.valid.tolist() and run["masked"] == ""
    assert run["special"][-count:] == [True] * count
    even = run["vocabulary"]["statistics"]["entropy"]["even"]  # of the real tokens
    assert even == pytest.approx(np.log(plain.n_tokens), abs=1e-6)
    mask = PRESETS["padding-right"].mask(padded.n_tokens, padding=count).numpy()
    found = post(site, run["key"], "run", bits(mask)).json()
    assert found["sentence"].startswith("0 leaks in 72 heads")
    for layer, head in ((0, 3), (5, 11)):
        observed = panels(site, found["run"]["key"], layer, head)[2]
        expected = padded.attention(layer, head).numpy()[: plain.n_tokens]
        np.testing.assert_allclose(observed[: plain.n_tokens], expected, atol=1e-6)
        assert not observed[:, -count:].any()
    assert found["alone"].startswith("The real tokens come out as they do without padding: their")
    assert found["run"]["link"]["pad"] == f"end:{count}"


@pytest.mark.parametrize("mistake", ["ignored", "transposed"])
def test_a_mistake_attends_to_real_padding(site, key, minilm, plain, mistake):
    run = post(site, key, "padded?code=end:3").json()
    mask = PRESETS["padding-right"].mask(18, padding=3)
    found = post(site, run["key"], f"run?mistake={mistake}", bits(mask.numpy())).json()
    ids = torch.cat([minilm.read(TEXT).values, torch.zeros(1, 3, dtype=torch.long)], dim=1)
    passed = {"ignored": torch.ones_like(mask), "inverted": ~mask, "transposed": mask.T}[mistake]
    wrong = vz.capture(minilm, ids, valid=torch.ones_like(ids).bool(), mask=passed.clone())
    weights = wrong.attention(2, 7).double().numpy()
    forbidden = np.where(mask.numpy(), 0, weights)[:15]  # real queries
    assert found["leak"][2][7] == pytest.approx(forbidden.max(), abs=1e-6)
    apart = (wrong.output[:15] - plain.output).norm(dim=1) / plain.output.norm(dim=1)
    assert f"differ by up to {float(apart.max()):.2g} of their length." in found["alone"]


def test_padding_at_the_start_moves_the_positions(site, key, minilm, plain):
    run = post(site, key, "padded?code=start:2").json()
    assert run["tokens"] == ["[PAD]"] * 2 + list(plain.tokens)
    mask = PRESETS["padding-left"].mask(17, padding=2)
    found = post(site, run["key"], "run", bits(mask.numpy())).json()
    ids = torch.cat([torch.zeros(1, 2, dtype=torch.long), minilm.read(TEXT).values], dim=1)
    ran = vz.capture(minilm, ids, valid=torch.ones_like(ids).bool(), mask=mask)
    observed = panels(site, found["run"]["key"], 4, 2)[2]
    np.testing.assert_allclose(observed, ran.attention(4, 2).numpy(), atol=1e-6)
    apart = (ran.output[2:] - plain.output).norm(dim=1) / plain.output.norm(dim=1)
    assert float(apart.max()) > 0.01
    assert (
        f"differ by up to {float(apart.max()):.2g} of their length. Padding at the start"
        in (found["alone"])
    )
    mask[3, 4] = False  # a mask of more than the padding says nothing of the text alone
    assert post(site, run["key"], "run", bits(mask.numpy())).json()["alone"] == ""


def test_a_padded_run_is_offered_with_the_run_alone(site, key):
    run = post(site, key, "padded?code=end:3").json()
    mask = PRESETS["padding-right"].mask(18, padding=3).numpy()
    made = post(site, run["key"], "run?scope=2", bits(mask)).json()["run"]["key"]
    told = httpx.get(f"{site}viz/run/{made}/mask/offered").json()
    assert told["alone"]["key"] == key and told["plain"]["key"] == run["key"]
    assert told["made"] == {"name": "padding-right", "sizes": {"padding": 3}}
    pads = {each["name"]: each["pads"] for each in told["presets"]}
    assert pads["padding-right"] == "end" and pads["padding-left"] == "start"
    assert set(pads.values()) == {"", "end", "start"} and not pads["causal"]
    again = post(site, made, "padded?code=start:1").json()  # of the text alone, not of the padded
    assert again["tokens"][:2] == ["[PAD]", "[CLS]"] and len(again["tokens"]) == 16
    assert post(site, made, "padded?code=end:0").json()["key"] == key


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("end:600", "this run has 615 tokens; the model reads 512"),
        ("middle:2", "'middle:2' is not a padding code; write end:2 or start:2"),
        ("end:-1", "is not a padding code"),
    ],
)
def test_padding_that_cannot_be_is_a_sentence(site, key, code, says):
    answer = post(site, key, f"padded?code={code}")
    assert answer.status_code == 422 and says in answer.json()["message"]


def test_pictures_have_no_padding(site, digit):
    told = httpx.get(f"{site}viz/run/{digit}/mask/offered").json()
    assert not any(each["pads"] for each in told["presets"])
    answer = post(site, digit, "padded?code=end:2")
    assert answer.status_code == 422 and "Only texts are padded" in answer.json()["message"]


def test_a_link_brings_padding_back(runner):
    link = {"kind": "text", "model": "all-MiniLM-L6-v2", "a": TEXT, "ran": "padding-right"}
    made = restore(runner, {**link, "run": "gone", "pad": "end:2"})
    assert made["tokens"][-2:] == ["[PAD]", "[PAD]"] and made["valid"][-3:] == [True, False, False]
    assert made["masked"] == "padding at the end, 34 of 289 pairs forbidden"
    assert made["link"] == {**link, "pad": "end:2", "run": made["key"]}
    for wrong in ("end:900", "nonsense"):
        left = restore(runner, {**link, "pad": wrong})
        assert left["masked"] == "" and len(left["tokens"]) == 15
        assert left["notes"][-1].endswith("; the run is shown without a mask.")
    plain = runner.rerun(made["key"], "see it", mask=None)
    runner.store.get(plain).expires = -1.0  # long ago: it runs again, padded
    again = runner.store.get(runner.rerun(made["key"], "see it", mask=None))
    alone = {name: part for name, part in link.items() if name != "ran"}
    assert again.recipe.to_link() == {**alone, "run": "", "pad": "end:2"}
    assert again.trace.valid.tolist() == made["valid"]
    unmasked = restore(Runner(runner.models, TraceStore()), again.recipe.to_link())
    assert unmasked["tokens"] == made["tokens"] and unmasked["masked"] == ""


def test_changes_of_a_link_are_of_the_padded_text_or_are_left_out(runner):
    link = {"kind": "text", "model": "all-MiniLM-L6-v2", "a": TEXT, "pad": "start:2", "cut": "t4"}
    unmasked = restore(runner, {**link, "ran": "large"})  # whose mask no link could hold
    assert unmasked["notes"][-1].endswith("; the run is shown without a mask.")
    hidden = f"\u201c{unmasked['tokens'][4]}\u201d hidden from all"
    assert unmasked["tokens"][:3] == ["[PAD]", "[PAD]", "[CLS]"]
    assert unmasked["changed"]["changes"] == [{"code": "t4", "words": hidden}]
    unpadded = restore(runner, {**link, "pad": "nonsense"})
    assert unpadded["changed"] is None and len(unpadded["tokens"]) == 15
    assert unpadded["notes"][-1].endswith("; the run is shown unchanged.")


def with_padding(page):
    """Choose padding of three tokens; returns its mask."""
    page.select_option("#viz-mask-preset", "padding-right")
    page.wait_for_function("vizMasks.mask.n === 17")
    page.fill("[data-size=padding]", "3")
    page.wait_for_function("vizMasks.mask.n === 18")
    mask = PRESETS["padding-right"].mask(18, padding=3).numpy()
    np.testing.assert_array_equal(painted_mask(page), mask)
    return mask


def test_a_padding_preset_puts_real_padding_beside_the_text(masks):
    page = masks(width=390)
    key = page.evaluate("vizTab.run.key")
    with_padding(page)
    page.mouse.move(*at(page, 2, 16))
    said = "Query 2 “animal” may not attend to key 16 “[PAD]”."
    page.wait_for_function(
        "said => document.querySelector('.viz-mask-said').textContent === said", arg=said
    )
    by_key = "nn.MultiheadAttention, key_padding_mask"
    page.select_option("#viz-mask-target", by_key)
    page.wait_for_selector(f"[aria-label=Code][data-painted='{by_key}']")
    assert "(key < n_tokens - 3)" in page.text_content("#viz-mask-code")
    page.click("#viz-mask-run")
    page.wait_for_selector(RAN, timeout=60_000)
    assert page.inner_text("#viz-mask-alone").startswith("The real tokens come out as they do wit")
    page.select_option("#viz-mask-mistake", "ignored")
    page.click("#viz-mask-run")
    until_said(page, "#viz-mask-alone", "come out differently")
    assert page.evaluate("vizTab.run.key") == key
    page.click("#viz-mask-everywhere")
    page.wait_for_function("vizTab.run.tokens.length === 18")
    assert page.evaluate("vizTab.run.tokens.slice(15)") == ["[PAD]"] * 3
    page.wait_for_url("**pad=end*")


def test_the_masks_tab_opens_on_padding_that_is_not_masked(visit, minilm, plain):
    ids = torch.cat([minilm.read(TEXT).values, torch.zeros(1, 2, dtype=torch.long)], dim=1)
    ran = vz.capture(minilm, ids, valid=torch.ones_like(ids).bool())
    weights = np.stack([ran.attention(layer).numpy() for layer in range(6)])
    leak = weights[:, :, :15, 15:]
    layer, head, query, key = np.unravel_index(leak.argmax(), leak.shape)
    page = visit(tab="masks").page
    page.wait_for_selector(".viz-masks[data-painted]", timeout=60_000)
    assert (leak.max(axis=(2, 3)) > 0).all()
    assert page.inner_text("#viz-mask-sentence") == (
        f"If padding is not masked, all 72 heads look at it: up to {leak.max():.2f} of a query's "
        f"attention goes to it (head {layer}.{head}, from query {query} “{plain.tokens[query]}” "
        f"to key {15 + key} “[PAD]”)."
    )
    moved = (ran.output[:15] - plain.output).norm(dim=1) / plain.output.norm(dim=1)
    assert f"by up to {moved.max():.2g} of their length" in page.inner_text("#viz-mask-alone")
    page.wait_for_selector(
        f"[aria-label='Intended, passed and observed'][data-painted$=':{layer}:{head}']"
    )
    assert "masks." not in page.url
    held = []
    page.route("**/mask/padded?**", lambda route: held.append(route))
    for label in reversed(LABELS):
        with page.expect_request("**/mask/padded?**"):
            page.get_by_role("button", name=label).click()
    with page.expect_response("**/mask/padded?**") as answer:
        held[0].fulfill(body="")  # of the run that was left
    answer.value.finished()
    described(page)  # what came was read
    assert "is not shown" not in page.inner_text("#viz-masks")
    page.evaluate("vizTab.selection.set({ layer: 1, head: 2 })")  # a person is quicker
    held[1].continue_()
    page.unroute("**/mask/padded?**")
    page.wait_for_selector("[aria-label='Intended, passed and observed'][data-painted$=':1:2']")
    page.click("#viz-mask-mend")
    page.wait_for_function(
        "document.querySelector('#viz-mask-sentence').textContent.startsWith('0 leaks in 72')"
    )
    assert page.is_hidden("#viz-mask-mend")
    page.select_option("#viz-mask-preset", "none")
    page.wait_for_url("**masks.mask=none**")
    page.reload()
    page.wait_for_selector(".viz-masks[data-painted]", timeout=60_000)
    assert page.evaluate("vizMasks.mask.n") == 15 and painted_mask(page).all()
