"""Masks in and out of files, what the Masks tab says of faults and links, and what shows a mask."""

import io

import numpy as np
import pytest

from tests.ui.test_masks import TEXT, painted_mask, panels


def send(page, name: str, array) -> None:
    content = io.BytesIO()
    np.save(content, array)
    file = {"name": name, "mimeType": "", "buffer": content.getvalue()}
    page.set_input_files("#viz-mask-file", files=[file])


def test_a_file_that_is_upside_down_is_named_with_the_line_that_mends_it(masks):
    page = masks()
    send(page, "causal.npy", ~np.tri(15, dtype=bool))
    verdict = "#viz-mask-verdict"
    upside = "Your file is “Causal”, inverted (True and False swapped): write ~mask"
    page.wait_for_selector(f"{verdict}:has-text('{upside}')")
    assert page.inner_text(".viz-mask-file-name") == "causal.npy"
    first = page.locator(".viz-masks :is(h2, h3, h4):visible").first
    assert first.inner_text() == upside and "viz-mask-wrong" in first.get_attribute("class")
    assert page.input_value("#viz-mask-mistake") == "none"  # the file is what is meant
    # As "I mean" says it: what runs is the mask that is meant, and a code that inverts it.
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("document.querySelector('#viz-mask-mistake').value === 'inverted'")
    np.testing.assert_array_equal(painted_mask(page), np.tri(15, dtype=bool))
    # What is painted by hand is meant, not the file, which stays what is passed and is named.
    page.click("text='Paint' >> visible=true")
    page.evaluate("vizMasks.painter.put(vizMasks.mask.with([[[0, 3], [0, 3]]], 1, false))")
    unlike = "“the painted mask”: it allows 104 pairs that it should forbid, and forbids 120"
    page.wait_for_selector(f"{verdict}:has-text('{unlike}')")
    assert page.input_value("#viz-mask-preset") == "custom"
    assert "The file's mask is passed" in page.inner_text(".viz-mask-warning")
    assert page.is_visible("#viz-mask-file-drop")
    page.click("#viz-mask-run")
    page.wait_for_function("vizMasks.result.result?.mistake.startsWith('z.')")
    passed = panels(
        page.evaluate("`${location.origin}/`"), page.evaluate("vizMasks.result.run.key"), 2, 4
    )[1]
    np.testing.assert_array_equal(passed > 0, ~np.tri(15, dtype=bool))
    page.select_option("#viz-mask-preset", "file")
    page.wait_for_selector(f"{verdict}:has-text('{upside}')")
    np.testing.assert_array_equal(painted_mask(page), ~np.tri(15, dtype=bool))
    page.click("text='Check mine'")
    page.select_option("#viz-mask-preset", "window")
    page.wait_for_selector(f"{verdict}:has-text('Your file is not “Sliding window')")
    assert page.input_value("#viz-mask-mistake").startswith("z.")
    page.select_option("#viz-mask-preset", "file")
    page.wait_for_selector(f"{verdict}:has-text('{upside}')")
    np.testing.assert_array_equal(painted_mask(page), ~np.tri(15, dtype=bool))
    page.select_option("#viz-mask-passed", "ignore")  # and the convention that it has
    page.wait_for_selector(f"{verdict}:has-text('Your file is “Causal”.')")
    page.click("#viz-mask-file-drop")
    page.wait_for_selector(verdict, state="hidden")


def test_a_file_is_held_against_what_was_chosen_before_and_a_refused_one_has_no_verdict(masks):
    page, verdict = masks(), "#viz-mask-verdict"
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("vizMasks.mask.summary().forbidden === 105")
    leaking = np.tri(15, dtype=bool)
    leaking[3, 9] = True
    send(page, "one.npy", leaking)
    page.wait_for_selector(f"{verdict}:has-text('it allows 1 pair that it should forbid')")
    assert page.input_value("#viz-mask-preset") == "causal"
    np.testing.assert_array_equal(painted_mask(page), np.tri(15, dtype=bool))  # what is meant
    send(page, "floats.npy", np.zeros((15, 15), np.float32))
    page.wait_for_selector(".viz-alert:has-text('floats.npy: The mask is float32')")
    assert page.is_hidden(verdict)
    assert page.inner_text(".viz-mask-file-name > s") == "floats.npy"
    assert page.is_visible(".viz-alert:has-text('is not passed: the mask stays as it was.')")


def test_what_a_run_found_is_not_said_of_a_mask_that_came_after_it(masks):
    page, sentence = masks(), "#viz-mask-sentence"
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("vizMasks.mask.summary().forbidden === 105")
    page.click("#viz-mask-run")
    page.wait_for_function("vizMasks.result.result && vizMasks.result.node.dataset.painted")
    before = page.inner_text(sentence)
    page.select_option("#viz-mask-preset", "window")
    page.wait_for_selector(f"{sentence}:has-text('The pictures below are of the run before')")
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function(
        "said => document.querySelector('#viz-mask-sentence').textContent === said", arg=before
    )


def test_rows_of_a_batch_are_read_as_a_key_padding_mask(masks):
    page = masks()
    real = np.arange(15) < np.array([9, 15, 4])[:, None]
    page.select_option("#viz-mask-passed", "key-ones")
    send(page, "lengths.npy", real[:, None, None].astype(np.int64))
    page.wait_for_selector("#viz-mask-sample:visible")
    np.testing.assert_array_equal(painted_mask(page), np.tile(real[0], (15, 1)))
    page.select_option("#viz-mask-sample", "2")
    page.wait_for_function("vizMasks.mask.at(0, 4) === 0")
    np.testing.assert_array_equal(painted_mask(page), np.tile(real[2], (15, 1)))
    by_key = "masked_fill, (batch, 1, 1, token)"
    page.select_option("#viz-mask-target", by_key)
    page.wait_for_selector(f"[aria-label=Code][data-painted='{by_key}']")
    page.select_option("#viz-mask-preset", "causal")  # not one row for all queries
    page.wait_for_function("vizMasks.mask.summary().forbidden === 105")
    assert page.input_value("#viz-mask-target") == "scaled_dot_product_attention"
    assert page.is_disabled(f"#viz-mask-target option[value='{by_key}']")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("müller & co.npy", b"nonsense", "müller & co.npy is not an array saved by numpy."),
        ("big.csv", b"1," * 600_000, "big.csv has 1,200,000 bytes; at most 1,055,776 are"),
    ],
)
def test_a_fault_names_the_file_and_is_no_error_of_the_page(masks, name, content, said):
    page = masks()
    file = {"name": name, "mimeType": "", "buffer": content}
    page.set_input_files("#viz-mask-file", files=[file])
    told = page.wait_for_selector("#viz-masks .viz-alert:visible").inner_text()
    assert told.startswith(said) and told.endswith(".") and not told.endswith("..")
    page.select_option("#viz-mask-preset", "window")
    page.fill("[data-size=reach]", "-1")  # the server's sentence too is no error of the console
    page.wait_for_function(
        "document.querySelector('#viz-masks .viz-alert:not(:empty)')?.textContent"
        ".includes('at least 0')"
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("z.damaged", "it is damaged; copy the whole link again"),
        ("z.eNoDAAAAAAE", "it was made for another number of tokens"),
        ("window:reach=-3", "Neighbors on either side is -3; it must be a whole number of at"),
        ("diagonal", "“diagonal” is not a preset; the presets are none, padding-right"),
    ],
)
def test_a_damaged_mask_of_a_link_is_one_plain_sentence(masks, code, why):
    page = masks(**{"masks.mask": code})
    said = page.wait_for_function(
        "[...document.querySelectorAll('.viz-masks > [role=status]')]"
        ".map(e => e.textContent).find(t => t.includes('in this link'))"
    ).json_value()
    assert said.startswith(f"The painted mask in this link is not shown: {why}")
    assert said.endswith(".") and ".." not in said and "fetch" not in said
    assert painted_mask(page).all()


def test_a_painted_mask_of_a_link_is_kept_where_its_scope_is_wrong(masks):
    page = masks(**{"masks.mask": "causal", "masks.scope": "9-12", "masks.ran": "1"})
    said = page.wait_for_function(
        "[...document.querySelectorAll('.viz-masks > [role=status]')]"
        ".map(e => e.textContent).find(t => t.includes('in this link'))"
    ).json_value()
    assert said == (
        "The layers and heads in this link are not used: There are no layers 9–12: this model has "
        "6 layers, numbered from 0 to 5. The mask applies to all of them."
    )
    np.testing.assert_array_equal(painted_mask(page), np.tri(15, dtype=bool))
    assert page.input_value("#viz-mask-layers") == ""
    page.fill("#viz-mask-layers", "2")
    page.wait_for_selector("text=The layers and heads in this link", state="detached")


def test_a_banner_over_all_tabs_names_the_mask_and_leads_back(masks):
    page = masks(ran="causal", kind="text", model="all-MiniLM-L6-v2", a=TEXT)
    said = "mask: causal, 105 of 225 pairs forbidden ✕"
    for tab in ("explore", "corpus", "masks"):
        page.click(f"#viz-tab-{tab}-button")
        assert page.inner_text("#viz-masked-chip") == said
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_function(  # in sight wherever one is
            "document.querySelector('.viz-changed').getBoundingClientRect().top >= 0"
        )
        page.evaluate("scrollTo(0, 0)")
    key = page.evaluate("vizTab.run.key")
    page.click("#viz-restore")
    page.wait_for_selector(".viz-changed", state="hidden")
    assert page.evaluate("vizTab.run.masked") == "" and page.evaluate("vizTab.run.key") != key
