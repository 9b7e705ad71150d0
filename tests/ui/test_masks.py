"""The Masks tab and its routes: what is painted is what runs, and each number is numpy's."""

import io
import json

import httpx
import numpy as np
import pytest
import torch
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.ui.conftest import open_tab
from tests.ui.texts import SENTENCES
from viz_encoder.analyses.change import mask_effect
from viz_encoder.audit.mask_input.conventions import Convention, from_bool
from viz_encoder.audit.mask_input.mask_code import mask_code
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.trace.mask_scope import MaskScope
from viz_encoder.ui.state.painted_mask import Mistake, bits_code

TEXT = SENTENCES[0]
RAN = "[aria-label='Run with the mask'][data-painted]"


def bits(mask) -> bytes:
    return np.packbits(np.asarray(mask, dtype=bool)).tobytes()


def cells(content: bytes, *shape: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(content, np.uint8))[: np.prod(shape)].reshape(shape) > 0


def post(site, key, path, body=b""):
    return httpx.post(f"{site}viz/run/{key}/mask/{path}", content=body, timeout=60)


def panels(site, key, layer, head) -> np.ndarray:
    answer = httpx.get(f"{site}viz/run/{key}/mask/panels?layer={layer}&head={head}")
    shape = [int(part) for part in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def speckled(n: int) -> np.ndarray:
    """A mask with no symmetry, every token seeing at least itself."""
    return (np.random.default_rng(3).random((n, n)) < 0.5) | np.eye(n, dtype=bool)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"name": "none"}, lambda q, k: q >= 0),
        ({"name": "padding-right", "sizes": {"padding": 3}}, lambda q, k: k < 12),
        ({"name": "padding-left", "sizes": {"padding": 3}}, lambda q, k: k >= 3),
        ({"name": "causal"}, lambda q, k: k <= q),
        ({"name": "window", "sizes": {"reach": 1}}, lambda q, k: abs(q - k) <= 1),
        ({"name": "prefix", "sizes": {"prefix": 4}}, lambda q, k: k <= q or k < 4),
        ({"name": "documents", "sizes": {"length": 6}}, lambda q, k: q // 6 == k // 6),
        ({"lengths": [2, 9]}, lambda q, k: (q > 1) + (q > 10) == (k > 1) + (k > 10)),
    ],
)
def test_presets_come_as_bits(site, key, plain, given, rule):
    n = plain.n_tokens
    answer = post(site, key, "preset", json.dumps(given).encode())
    expected = [[bool(rule(q, k)) for k in range(n)] for q in range(n)]
    np.testing.assert_array_equal(cells(answer.content, n, n), expected)


def test_what_is_offered_has_words(site, key):
    found = httpx.get(f"{site}viz/run/{key}/mask/offered").json()
    assert [each["name"] for each in found["presets"]] == list(PRESETS)
    assert [each["words"] for each in found["conventions"]] == [each.words for each in Convention]
    assert found["missing"] == "" and found["plain"] is None


def test_the_painted_mask_is_the_one_that_runs(site, key, minilm, plain):
    n = plain.n_tokens
    mask = speckled(n)
    found = post(site, key, "run", bits(mask)).json()
    assert found["sentence"] == "0 leaks in 72 heads: every forbidden weight is exactly 0."
    assert not np.any(found["leak"]) and not np.any(found["extra"]) and found["empty"] == []
    ours = vz.capture(minilm, TEXT, mask=torch.from_numpy(mask))
    intended, passed, observed, leaking, lost = panels(site, found["run"]["key"], 3, 5)
    np.testing.assert_array_equal(intended > 0, mask)
    np.testing.assert_array_equal(passed > 0, ours.mask[0].numpy())
    np.testing.assert_allclose(observed, ours.attention(3, 5).numpy(), atol=1e-6)
    assert not observed[~mask].any() and not leaking.any() and not lost.any()
    moved = mask_effect(ours, plain)
    np.testing.assert_allclose(found["moved"], moved.moved, rtol=1e-4, atol=1e-6)
    assert found["pooled"]["mean"]["cosine"] == pytest.approx(moved.pooled["mean"][0], abs=1e-6)


@pytest.mark.parametrize(
    ("mistake", "ran"),
    [
        ("ignored", np.ones_like),
        ("inverted", np.logical_not),
        ("transposed", np.transpose),
        ("other", lambda mask: np.roll(mask, 1, axis=1)),
    ],
)
def test_a_planted_mistake_leaks_what_numpy_says(site, key, minilm, plain, mistake, ran):
    n = plain.n_tokens
    mask = speckled(n)
    wrong = ran(mask).copy()
    asked = bits_code(torch.from_numpy(wrong)) if mistake == "other" else mistake
    found = post(site, key, f"run?mistake={asked}", bits(mask)).json()
    assert found["mistake"] == asked
    trace = vz.capture(minilm, TEXT, mask=torch.from_numpy(wrong))
    forbidden = np.where(mask, 0, trace.attention(4).double().numpy())
    np.testing.assert_allclose(found["leak"][4], forbidden.max(axis=(1, 2)), atol=1e-6)
    np.testing.assert_allclose(found["mass"][4], forbidden.sum(axis=2).mean(axis=1), atol=1e-6)
    assert set(found["extra"]) == {int((wrong & ~mask).sum())}
    assert set(found["missing"]) == {int((mask & ~wrong).sum())}
    _, passed, observed, leaking, lost = panels(site, found["run"]["key"], 2, 4)
    np.testing.assert_array_equal(passed > 0, wrong)
    np.testing.assert_array_equal(leaking > 0, (observed > 0) & ~mask)
    np.testing.assert_array_equal(lost > 0, mask & ~wrong)
    planted = f"If the code {Mistake(mistake).words}, 72 of 72 heads leak: "
    assert found["sentence"].startswith(planted)
    blocked = f" It blocks {(mask & ~wrong).sum()} pairs that are meant to be allowed."
    assert (blocked in found["sentence"]) == bool((mask & ~wrong).any())


def test_a_row_without_any_key_gets_zeros_and_is_named(site, key, plain):
    mask = np.ones((plain.n_tokens, plain.n_tokens), dtype=bool)
    mask[4] = False
    found = post(site, key, "run", bits(mask)).json()
    assert found["empty"] == [4]
    assert not panels(site, found["run"]["key"], 5, 0)[2][4].any()


def test_a_run_with_a_mask_knows_the_run_without(site, key, plain):
    mask = speckled(plain.n_tokens)
    made = post(site, key, "run", bits(mask)).json()["run"]["key"]
    told = httpx.get(f"{site}viz/run/{made}/mask/offered").json()
    assert told["plain"]["key"] == key
    held = httpx.get(f"{site}viz/run/{made}/mask/intent").content
    np.testing.assert_array_equal(cells(held, *mask.shape), mask)
    again = post(site, made, "run", bits(~mask | np.eye(len(mask), dtype=bool))).json()
    assert again["plain"] == key and not np.any(again["leak"])


OPEN, SPECKLED = np.ones((15, 15), dtype=bool), speckled(15)


@pytest.mark.parametrize(
    ("mask", "mistake", "says"),
    [
        (np.tri(15, dtype=bool), "none", "causal, 105 of 225 pairs forbidden"),
        (SPECKLED, "ignored", f"{(~SPECKLED).sum()} of 225 pairs forbidden; the code ignores it"),
        (OPEN, "none", ""),
        (OPEN, "inverted", "forbids nothing; the code inverts it (reads True as ignore)"),
    ],
)
def test_a_run_says_which_mask_it_ran_with(site, key, mask, mistake, says):
    run = post(site, key, f"run?mistake={mistake}", bits(mask)).json()["run"]
    assert run["masked"] == says
    again = httpx.get(f"{site}viz/run/{run['key']}/mask/offered").json()
    assert again["plain"]["masked"] == ""


def test_code_is_that_of_the_package(site, key, of_file, plain):
    n = plain.n_tokens
    for target in httpx.get(f"{site}viz/run/{key}/mask/offered").json()["targets"]:
        kind = target["name"]
        if target["byKey"]:
            continue
        painted = speckled(n)
        answer = post(site, of_file, f"snippet?kind={kind}", bits(painted))
        layers_heads = MaskScope.parsed("", plain.n_layers, plain.n_heads)
        assert answer.text == mask_code(torch.from_numpy(painted), kind, scope=layers_heads)
        capture = kind == "vz.capture"
        own = {"model": "all-MiniLM-L6-v2", "source": TEXT} if capture else {}
        made = json.dumps({"name": "window", "sizes": {"reach": 3}})
        window = PRESETS["window"].mask(n, reach=3).numpy()
        by_rule = post(site, key, f"snippet?kind={kind}&made={made}", bits(window)).text
        assert by_rule == mask_code(n, kind, rule="window", sizes={"reach": 3}, **own)
        window[0, -1] = True  # painted since: the rule does not make it any more
        told = post(site, key, f"snippet?kind={kind}&made={made}", bits(window)).text
        assert told == mask_code(torch.from_numpy(window), kind, **own)


def file_of(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize("convention", ["ignore", "key-ones"])
def test_a_sample_of_a_batch_is_read_by_its_convention(site, key, plain, convention):
    n, convention = plain.n_tokens, Convention(convention)
    masks = np.stack([speckled(n), speckled(n).T])
    masks = np.repeat(masks[:, :1], n, axis=1) if convention.by_key else masks
    sent = from_bool(torch.from_numpy(masks[:, None]), convention).numpy()
    sent = sent[:, :, :1] if convention.by_key else sent
    for sample, mask in enumerate(masks):
        path = f"upload?name=b.npy&convention={convention}&sample={sample}"
        answer = post(site, key, path, file_of(sent))
        assert json.loads(answer.headers["x-about"])["samples"] == 2
        np.testing.assert_array_equal(cells(answer.content, n, n), mask)


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("upload?name=m.npy&convention=keep&sample=3", file_of(np.eye(15) > 0), "no sample 3 in m"),
        ("snippet?kind=nn.MultiheadAttention, key_padding_mask", bits(np.tri(15)), "one row for"),
        ("upload?name=m.npy&convention=keep", file_of(np.eye(9) > 0), "this run has 15"),
        ("upload?name=m.txt&convention=keep", b"x", "neither .npy nor .csv"),
        ("upload?name=m.npy&convention=odd", file_of(np.eye(15) > 0), "no mask convention"),
        ("upload?name=m.npy&convention=keep", b"\x93NUMPY nonsense", "not an array"),
        ("upload?name=m.csv&convention=keep", b"x" * 2_000_000, "m.csv has 2,000,000 bytes"),
        ("run", b"abc", "The mask has 3 bytes"),
        ("run", b"x" * 4000, "at most 29"),
        ("run?mistake=odd", bytes(29), "no mistake"),
        ("run?mistake=other", bytes(29), "give its bits"),
        ("run?mistake=z.1", bytes(29), "cannot be read"),
        ("snippet?kind=odd", bytes(29), "no mask code"),
        ("preset", b"{", "not JSON"),
        ("preset", b"[]", "Name a preset"),
        ("preset", b'{"name": "odd"}', "no mask preset"),
        ("preset", b'{"name": ["causal"]}', "Name one of the presets"),
        ("preset", b'{"name": "window", "sizes": {"reach": -1}}', "at least 0"),
        ("preset", b'{"name": "window", "sizes": [1]}', "sizes of a preset by name"),
        ("preset", b'{"lengths": [90]}', "90 tokens"),
        ("preset", b'{"lengths": "5"}', "whole numbers"),
        ("preset", b'{"lengths": ["x"]}', "such as 5, 7, 3"),
    ],
)
def test_what_does_not_fit_is_a_sentence(site, key, path, body, says):
    answer = post(site, key, path, body)
    told = answer.json()["message"]
    assert answer.status_code == 422
    assert says in told and told.endswith(".") and len(told) < 400
    page = post(site, key, f"{path}{'&' if '?' in path else '?'}told=1", body)
    assert page.status_code == 200 and page.headers["x-fault"] == "1"
    assert page.json() == {"message": told}


def test_a_run_that_expired_stays_410_even_where_faults_are_told(site):
    assert post(site, "gone", "preset?told=1", b'{"name": "causal"}').status_code == 410


def test_a_saved_run_keeps_all_but_running(site, of_file):
    told = httpx.get(f"{site}viz/run/{of_file}/mask/offered").json()
    assert told["missing"].startswith("The model of this run is not loaded here")
    assert post(site, of_file, "preset", b'{"name": "causal"}').status_code == 200
    answer = post(site, of_file, "run", bytes(29))
    assert answer.json()["message"] == told["missing"]


def test_named_endpoints_do_the_same(client, key, minilm, plain):
    rows = client.predict(key, "window", {"reach": 1}, api_name="/mask_preset")
    assert rows[0] == "11" + "0" * 13 and len(rows) == 15
    found = client.predict(key, rows, "ignored", api_name="/mask_run")
    forbidden = np.triu(plain.attention(0).numpy(), 2) + np.tril(plain.attention(0).numpy(), -2)
    np.testing.assert_allclose(found["leak"][0], forbidden.max(axis=(1, 2)), atol=1e-6)
    after = client.predict(key, rows, api_name="/mask_reach")
    assert after[2][0] == "1111" + "0" * 11
    mask = torch.tensor([[sign == "1" for sign in row] for row in rows])
    code = client.predict(rows, "nn.MultiheadAttention", api_name="/mask_code")
    assert code == mask_code(mask, "nn.MultiheadAttention")
    with pytest.raises(AppError, match="list of rows"):
        client.predict(key, "11", api_name="/mask_run")
    with pytest.raises(AppError, match="written out up to 512"):
        client.predict(key, ["1" * 513] * 513, api_name="/mask_reach")


def painted_mask(page) -> np.ndarray:
    n, flat = page.evaluate("[vizMasks.mask.n, [...vizMasks.mask.cells]]")
    return np.array(flat, dtype=bool).reshape(n, n)


def at(page, row, col, grid="painter.grid"):
    page.evaluate(f"vizMasks.{grid}.canvas.scrollIntoView({{block: 'center'}})")
    return page.evaluate(f"vizMasks.{grid}.box({row}, {col})")


def pixel(page, row, col, grid):
    """The color in the middle of a cell, as the legend writes colors."""
    return page.evaluate(f"""() => {{
      const {{ canvas }} = vizMasks.{grid}, frame = canvas.getBoundingClientRect();
      const [x, y] = vizMasks.{grid}.box({row}, {col}), ratio = devicePixelRatio;
      const one = new OffscreenCanvas(1, 1).getContext("2d", {{ willReadFrequently: true }});
      const at = [(x - frame.left) * ratio, (y - frame.top) * ratio].map(Math.floor);
      one.drawImage(canvas, ...at, 1, 1, 0, 0, 1, 1);
      return `rgb(${{[...one.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(", ")}})`;
    }}""")


def drag(page, start, end):
    page.mouse.move(*at(page, *start))
    page.mouse.down()
    page.mouse.move(*at(page, *end), steps=3)
    page.mouse.up()


def test_painting_by_mouse_and_keys_and_back(masks):
    page = masks()
    expected = np.ones((15, 15), dtype=bool)
    page.mouse.click(*at(page, 2, 5))
    expected[2, 5] = False
    np.testing.assert_array_equal(painted_mask(page), expected)
    assert "Query 2 “animal” may not attend to key 5 “t”." in page.inner_text(".viz-mask-said")
    drag(page, (4, 1), (4, 6))  # a stroke paints the opposite of its first cell
    expected[4, 1:7] = False
    np.testing.assert_array_equal(painted_mask(page), expected)
    page.click("[data-tool=column]")
    page.mouse.click(*at(page, 0, 9))
    expected[:, 9] = False
    page.click("[data-tool=rectangle]")
    drag(page, (10, 10), (12, 13))
    expected[10:13, 10:14] = False
    np.testing.assert_array_equal(painted_mask(page), expected)
    before = expected.copy()
    page.focus(".viz-mask-painter canvas")
    page.keyboard.press("ArrowDown")  # from 12, 13
    page.keyboard.press("r")
    expected[13] = False
    np.testing.assert_array_equal(painted_mask(page), expected)
    assert "No key left for query 13 “tired”." in page.inner_text(".viz-mask-painter")
    page.keyboard.press("Control+z")
    np.testing.assert_array_equal(painted_mask(page), before)
    page.keyboard.press("Control+Shift+z")
    np.testing.assert_array_equal(painted_mask(page), expected)
    page.click("button:text-is('Invert')")
    np.testing.assert_array_equal(painted_mask(page), ~expected)
    page.click("#viz-masks >> text=Clear")
    assert painted_mask(page).all()
    page.check("#viz-mask-symmetric")
    page.click("[data-tool=cell]")
    page.mouse.click(*at(page, 3, 8))
    page.click("[data-tool=rectangle]")
    drag(page, (0, 4), (1, 4))
    both = {(3, 8), (8, 3), (0, 4), (4, 0), (1, 4), (4, 1)}
    assert {tuple(cell) for cell in np.argwhere(~painted_mask(page))} == both
    for _ in range(20):
        page.keyboard.press("Control+z")
    assert painted_mask(page).all() and page.is_disabled("text=Undo")
    assert page.input_value("#viz-mask-preset") == "none"


def test_what_was_painted_runs_and_is_shown_in_all_tabs(masks, minilm):
    page = masks(layer=3, head=5, query=10)
    n = 15
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("vizMasks.mask.summary().forbidden === 105")
    page.mouse.click(*at(page, 0, 14))
    mask = np.tri(n, dtype=bool)
    mask[0, 14] = True
    posted = []
    page.on("request", lambda r: posted.append(r) if "mask/run" in r.url else None)
    page.click("#viz-mask-run")
    page.wait_for_selector(RAN, timeout=60_000)
    np.testing.assert_array_equal(cells(posted[0].post_data_buffer, n, n), mask)
    assert page.inner_text("#viz-mask-sentence").startswith("0 leaks in 72 heads")
    ours = vz.capture(minilm, TEXT, mask=torch.from_numpy(mask))
    page.wait_for_function("vizMasks.result.panels.found")
    shown = page.evaluate("[...vizMasks.result.panels.found.observed]")
    np.testing.assert_allclose(np.reshape(shown, (n, n)), ours.attention(3, 5).numpy(), atol=1e-6)
    assert not np.reshape(shown, (n, n))[~mask].any()
    squares = page.eval_on_selector_all(
        ".viz-mask-painter .viz-swatch", "all => all.map(e => getComputedStyle(e).backgroundColor)"
    )
    for grid in ("painter.grid", "result.panels.grids.intended", "result.panels.grids.passed"):
        assert [pixel(page, *cell, grid) for cell in ((5, 0), (0, 5))] == squares
    page.click("#viz-mask-everywhere")
    page.wait_for_function("vizTab.run.key === vizMasks.result.run.key")
    assert "the run with this mask" in page.inner_text(".viz-mask-result-box")
    open_tab(page, "Explore")
    page.wait_for_selector("#viz-proof.viz-good")
    open_tab(page, "Masks", "check")
    np.testing.assert_array_equal(painted_mask(page), mask)  # still there
    page.reload()  # the link holds the run with the mask, and its mask with it
    page.wait_for_selector(".viz-atlas[data-painted]", state="attached", timeout=60_000)
    page.wait_for_selector("#viz-tab-masks-button[aria-selected=true]")  # and the tab
    page.wait_for_selector(RAN, timeout=60_000)
    np.testing.assert_array_equal(painted_mask(page), mask)
    page.click("#viz-mask-back")
    page.wait_for_function("vizTab.run.key === vizMasks.plain.key")
    page.wait_for_selector(".viz-changed", state="hidden")


def test_a_planted_mistake_is_said_and_outlined(masks, plain):
    page = masks(layer=1, head=2)
    page.select_option("#viz-mask-preset", "window")
    page.fill("[data-size=reach]", "1")
    page.wait_for_function("vizMasks.mask.summary().forbidden === 182")
    page.select_option("#viz-mask-mistake", "ignored")
    assert "A mistake is planted" in page.inner_text(".viz-mask-warning")
    page.click("#viz-mask-run")
    page.wait_for_selector(RAN, timeout=60_000)
    weights = plain.attention(1).numpy()
    far = np.abs(np.subtract.outer(range(15), range(15))) > 1
    cells_said = page.eval_on_selector_all(
        ".viz-leak-cell", "all => all.map(c => +c.dataset.value)"
    )
    np.testing.assert_allclose(cells_said[12:24], (weights * far).max(axis=(1, 2)), atol=1e-6)
    boxes = page.eval_on_selector_all(
        ".viz-leak-cell",
        "all => all.map(c => [c.dataset.head, c.getBoundingClientRect()])"
        ".map(([at, { x, y }]) => [...at.split('.').map(Number), x, y])",
    )
    layers, heads, x, y = np.reshape(boxes, (6, 12, 4)).transpose(2, 0, 1)
    assert (range(6) == layers.T).all() and (heads == range(12)).all()
    assert (x == x[0]).all() and (y[:, 0] == y.T).all()  # a square of layers by heads
    assert (np.diff(x) > 0).all() and (np.diff(y, axis=0) > 0).all()
    page.wait_for_function("vizMasks.result.panels.found")
    outlined = page.evaluate("vizMasks.result.panels.grids.observed.outlined")
    assert outlined == np.flatnonzero((weights[2] > 0) & far).tolist()
    page.click(".viz-leak-cell[data-head='4.7']")
    page.wait_for_selector("[data-painted$=':4:7']")
    assert page.evaluate("[vizTab.selection.layer, vizTab.selection.head]") == [4, 7]
    page.mouse.click(*at(page, 9, 3, "result.panels.grids.observed"))
    said = page.inner_text(".viz-mask-result-part .viz-readout")
    assert "Query 9 “because” → key 3 “didn”: intended forbidden, passed may attend" in said
    assert said.endswith(f" weight {plain.attention(4)[7, 9, 3]:.4f}: a leak.")
    page.select_option("#viz-mask-mistake", "inverted")
    page.click("#viz-mask-run")
    page.wait_for_function("vizMasks.result.panels.found?.result.mistake === 'inverted'")
    observed, near = "result.panels.grids.observed", np.flatnonzero(~far).tolist()
    assert page.evaluate(f"vizMasks.{observed}.dashed") == near
    told = f"{len(near)} of {len(near)} pairs that are meant to be allowed are blocked"
    assert page.inner_text(".viz-mask-faint") == f"{told}: what was passed forbids them."
    swatch = page.locator(".viz-mask-legend span", has_text=f"allowed ({len(near)} cells)")
    assert swatch.is_visible() and pixel(page, 9, 9, observed) != pixel(
        page, 0, 0, "result.panels.grids.passed"
    )
    page.mouse.click(*at(page, 9, 9, observed))
    said = page.inner_text(".viz-mask-result-part .viz-readout")
    assert said.endswith("passed forbidden, weight 0: blocked although meant to be allowed.")


def test_a_size_that_is_typed_outlives_the_answer_to_an_older_one(masks):
    page = masks()
    held, asked = [], []
    page.on("request", lambda r: asked.append(r.post_data) if "mask/preset" in r.url else None)
    page.route("**/mask/preset?*", lambda route: held.append(route), times=1)
    with page.expect_request("**/mask/preset?*"):
        page.select_option("#viz-mask-preset", "window")
    page.evaluate("""() => {
      const field = document.querySelector("[data-size=reach]");
      for (const size of ["3", "2", "1"]) {
        field.value = size;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
      window.typed = field;
    }""")
    held[0].continue_()
    page.wait_for_function("vizMasks.mask.at(0, 2) === 0 && vizMasks.mask.at(0, 1) === 1")
    assert page.input_value("[data-size=reach]") == "1"
    assert page.evaluate("window.typed.isConnected")
    assert [json.loads(each)["sizes"] for each in asked] == [{"reach": 2}, {"reach": 1}]
    page.keyboard.press("Control+z")  # which brings the size back, too
    page.wait_for_function("vizMasks.mask.summary().forbidden === 0")
    page.keyboard.press("Control+y")
    assert page.input_value("[data-size=reach]") == "1"
    page.click("#viz-mask-layers")
    page.keyboard.press("Control+z")  # of what is typed there
    assert page.evaluate("vizMasks.mask.at(0, 2)") == 0


@pytest.mark.slow
def test_allowed_pairs_with_hardly_any_weight_are_counted_and_marked(masks, minilm):
    page = masks(kind="text", a=TEXT, ran="causal", layer=3, head=1, query=0, key=0)
    page.wait_for_function("vizMasks.result.panels.found")
    trace = vz.capture(minilm, TEXT, mask=torch.ones(15, 15, dtype=torch.bool).tril())
    faint = np.argwhere(np.tri(15, dtype=bool) & (trace.attention(3, 1).numpy() < 1e-3))
    assert 1 < len(faint) < 60
    said = page.inner_text(".viz-mask-faint")
    told = f"{len(faint)} of 120 pairs that may attend have a weight under 0.001: allowed, but"
    assert said.startswith(told)
    observed = "result.panels.grids.observed"
    swatch = page.locator(".viz-mask-legend span", has_text="weight under 0.001")
    color = swatch.locator("i").evaluate("e => getComputedStyle(e).backgroundColor")
    assert [pixel(page, *cell, observed) for cell in faint.tolist()] == [color] * len(faint)
    assert pixel(page, 0, 14, observed) != color  # forbidden, and 0
