"""A painted mask in some layers and heads alone: what runs, what is judged, said, linked, shown."""

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import until_said
from tests.ui.test_masks import RAN, TEXT, bits, painted_mask, panels, post, speckled
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.tabs.masks.requests import typed_scope

SCOPE, WORDS = "3-5:1,4", "layers 3–5, heads 1 and 4"
HEADS = [(layer, head) for layer in (3, 4, 5) for head in (1, 4)]
NOTE = f"A custom mask was applied only to {WORDS}. All other heads ran without it."


@pytest.fixture(scope="module")
def trace(minilm, plain):
    mask = torch.from_numpy(speckled(plain.n_tokens))
    return vz.capture(minilm, TEXT, mask=dict.fromkeys(HEADS, mask))


@pytest.mark.parametrize(
    ("layers", "heads", "code"),
    [
        *[("", "", ""), ("all", " ", ""), ("0 - 5", "0-11", ""), ("2", "", "2"), ("", "7", ":7")],
        *[("3–5", "4, 1, and 1,", SCOPE), ("0 1 2;5", "0 , 2-9", "0-2,5:0,2-9")],
        *[("9-12", "", "no layers 9–12"), ("5-3", "", "5-3 counts down"), ("", ", 0", "of heads")],
        *[("0,,1", "", "“0,,1” is not a list"), ("x", "", "“x” is"), (",", "", "“,” is")],
    ],
)
def test_a_scope_is_typed_as_people_write_lists(plain, layers, heads, code):
    try:
        read = typed_scope(layers, heads, plain).code
    except SelectionError as fault:
        read = str(fault)
    assert read == code or (" " in code and code in read)


def test_the_mask_runs_in_its_scope(site, key, plain, trace):
    mask = speckled(plain.n_tokens)
    found = post(site, key, f"run?scope={SCOPE}", bits(mask)).json()
    run = found["run"]
    assert found["sentence"] == (
        f"0 leaks in the 6 heads that the mask applies to ({WORDS}): every forbidden weight is "
        "exactly 0."
    )
    assert found["scope"] == {"code": SCOPE, "words": WORDS, "heads": 6}
    judged = [[value is not None for value in row] for row in found["leak"]]
    assert [(i, j) for i, row in enumerate(judged) for j, is_so in enumerate(row) if is_so] == HEADS
    assert run["masked"] == f"{(~mask).sum()} of 225 pairs forbidden, in {WORDS}"
    assert run["notes"][-1] == NOTE and run["link"]["scope"] == SCOPE
    for layer, head in ((3, 1), (3, 2), (5, 4), (0, 1)):
        intended, passed, observed, *wrong = panels(site, run["key"], layer, head)
        inside = (layer, head) in HEADS
        np.testing.assert_array_equal(intended > 0, mask if inside else np.ones_like(mask))
        np.testing.assert_array_equal(passed > 0, mask if inside else np.ones_like(mask))
        np.testing.assert_allclose(observed, trace.attention(layer, head).numpy(), atol=1e-6)
        assert not np.any(wrong)  # nothing leaks, nothing is lost
    same = plain.attention(3, 2).numpy()
    np.testing.assert_array_equal(panels(site, run["key"], 3, 2)[2], same)
    np.testing.assert_allclose(
        found["moved"][6],
        (trace.output - plain.output).norm(dim=1) / plain.output.norm(dim=1),
        rtol=1e-4,
    )
    assert not np.any(found["moved"][:4])
    offered = httpx.get(f"{site}viz/run/{run['key']}/mask/offered").json()
    assert offered["scope"] == SCOPE and offered["plain"]["link"].get("scope") is None


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("run?scope=9-12", "There are no layers 9–12: this model has 6 layers"),
        (f"snippet?kind=transformers&scope={SCOPE}", f"for a mask on {WORDS} only, use vz."),
    ],
)
def test_a_wrong_scope_is_refused_in_a_sentence(site, key, path, says):
    answer = post(site, key, path, bits(np.ones((15, 15), dtype=bool)))
    assert answer.status_code in (404, 422)
    assert says in answer.json()["message"] and answer.json()["message"].endswith(".")


@pytest.mark.parametrize(("scope", "masked"), [("3-5", [3, 4, 5]), (SCOPE, []), ("", range(6))])
def test_reach_goes_through_heads_that_run_without_the_mask(client, key, plain, scope, masked):
    n = plain.n_tokens
    window = PRESETS["window"].mask(n).numpy()
    rows = ["".join("01"[int(cell)] for cell in row) for row in window]
    after = client.predict(key, rows, scope, api_name="/mask_reach")
    known = np.eye(n, dtype=np.int64)
    for layer in range(6):
        step = window if layer in masked else np.ones_like(window)
        known = ((step | np.eye(n, dtype=bool)).astype(np.int64) @ known > 0).astype(np.int64)
        assert after[layer] == ["".join(map(str, row)) for row in known]


def test_the_endpoint_takes_a_scope(client, key, plain):
    rows = ["".join("01"[int(cell)] for cell in row) for row in speckled(plain.n_tokens)]
    found = client.predict(key, rows, "ignored", SCOPE, api_name="/mask_run")
    assert f"6 of the 6 heads that the mask applies to ({WORDS}) leak:" in found["sentence"]
    assert found["extra"] == [0, 0, 0, *[int((~speckled(plain.n_tokens)).sum())] * 3]


def test_a_link_brings_the_scope_back(runner):
    link = {"kind": "text", "model": "all-MiniLM-L6-v2", "a": TEXT, "ran": "causal"}
    made = restore(runner, {**link, "run": "gone", "scope": SCOPE})
    assert made["masked"] == f"causal, 105 of 225 pairs forbidden, in {WORDS}"
    assert made["link"] == {**link, "scope": SCOPE, "run": made["key"]}
    maps = runner.store.get(made["key"]).trace
    assert not maps.attention(3, 1).triu(1).any() and maps.attention(3, 2).triu(1).any()
    for wrong in ("9-12", "nonsense"):
        left = restore(runner, {**link, "scope": wrong})
        assert left["masked"] == ""
        assert left["notes"][-1].endswith("; the run is shown without a mask.")


def test_a_scope_is_typed_run_linked_and_there_again(masks):
    page = masks(layer=3, head=1)
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("vizMasks.mask.summary().forbidden === 105")
    page.fill("#viz-mask-layers", "9–12")
    assert page.is_disabled("#viz-mask-run")  # until it is read, too
    assert page.text_content("#viz-mask-code") == ""  # none for another scope than what is typed
    fault = "There are no layers 9–12: this model has 6 layers, numbered from 0 to 5."
    page.wait_for_selector(f"#viz-mask-scope-fault:text-is('{fault}')")
    assert page.is_disabled("#viz-mask-run") and page.text_content("#viz-mask-code") == ""
    page.fill("#viz-mask-layers", "3 – 5")
    page.locator("#viz-mask-heads").press_sequentially("1, 4")
    said = f"The mask applies to 6 of 72 heads: {WORDS}. All others run without it."
    page.wait_for_selector(f".viz-mask-scope .viz-caption:text-is('{said}')")
    assert page.is_hidden("#viz-mask-scope-fault")
    page.wait_for_selector("[aria-label=Code][data-painted='vz.capture']")
    until_said(page, "#viz-mask-code", "head in")
    disabled = page.eval_on_selector_all(
        "#viz-mask-target option", "all => all.filter(o => !o.disabled).map(o => o.value)"
    )
    assert disabled == ["vz.capture"]
    page.click("#viz-mask-run")
    page.wait_for_selector(RAN, timeout=60_000)
    assert f"0 leaks in the 6 heads that the mask applies to ({WORDS})" in page.inner_text(
        "#viz-mask-sentence"
    )
    outside = page.eval_on_selector_all(
        ".viz-leak-cell:not([data-value=''])", "all => all.map(c => c.dataset.head)"
    )
    assert outside == [f"{layer}.{head}" for layer, head in HEADS]
    causal = torch.ones(15, 15).tril().bool()
    page.wait_for_url("**masks.scope=3-5*")
    page.click("#viz-mask-everywhere")
    page.wait_for_function("vizTab.run.key === vizMasks.result.run.key")
    page.wait_for_url("**scope=3-5*")
    page.wait_for_function("!new URL(location).searchParams.has('masks.scope')")
    page.reload()
    page.wait_for_selector(RAN, timeout=60_000)
    assert page.input_value("#viz-mask-heads") == "1,4"
    np.testing.assert_array_equal(painted_mask(page), causal.numpy())
    assert page.evaluate("vizTab.run.masked") == f"causal, 105 of 225 pairs forbidden, in {WORDS}"
    page.fill("#viz-mask-heads", "")  # another scope than the one that ran
    page.wait_for_selector("text=The pictures below are of the run before")
    page.wait_for_url("**masks.scope=3-5*")
