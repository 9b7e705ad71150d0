"""The page when something is wrong or slow: nothing unproven stays, and the last click wins."""

import re
import threading
import time
from dataclasses import replace

import pytest

import viz_encoder as vz
from tests.ui.texts import LABELS, SENTENCES
from viz_encoder.ui.state.runner import Runner

SENTENCE = SENTENCES[0]


class HeldRuns:
    """Runs of the server that wait until they are let go, counted as they begin and end."""

    def __init__(self, key):
        self.key, self.let_go = key, threading.Event()
        self.begun = self.ended = 0

    def run(self, *arguments, **named):
        self.begun += 1
        self.let_go.wait(timeout=30)
        try:
            return self.key(*arguments, **named)
        finally:
            self.ended += 1


@pytest.fixture
def hold_runs(monkeypatch):
    """Hold all runs of the server from now on, until the test lets them go."""

    def hold():
        held = HeldRuns(Runner.run)
        monkeypatch.setattr(Runner, "run", lambda *given, **named: held.run(*given, **named))
        return held

    return hold


@pytest.fixture
def upload(tmp_path):
    """Open a run on a page, as a person would."""

    def upload_run(opened, trace):
        trace.save(tmp_path / "run.safetensors")
        opened.open_saved(tmp_path / "run.safetensors")

    return upload_run


def hidden_with(opened, words: str) -> None:
    """Wait until the maps are gone and the page says why."""
    opened.page.wait_for_selector(f".viz-root > .viz-alert:has-text('{words}')")
    assert not opened.page.locator(".viz-body").is_visible()
    assert "checking" not in opened.page.locator("#viz-explore .viz-root").text_content()


def test_maps_that_fail_their_check_are_hidden(shared, upload, minilm):
    trace = vz.capture(minilm, SENTENCE)
    changed = replace(trace.layers[2], q=trace.layers[2].q * 1.5)
    opened = shared()
    opened.painted()
    upload(opened, replace(trace, layers=(*trace.layers[:2], changed, *trace.layers[3:])))
    hidden_with(opened, "they failed verification")


def test_maps_whose_check_is_not_there_are_hidden(shared):
    opened = shared()
    opened.page.set_viewport_size({"width": 1000, "height": 1000})
    opened.painted()
    opened.page.route(re.compile("/viz/run/.*/proof"), lambda route: route.fulfill(status=503))
    opened.page.get_by_role("button", name=LABELS[1]).click()
    hidden_with(opened, "The server answered 503")
    opened.page.unroute_all()
    opened.page.click("#viz-run")
    opened.page.wait_for_selector("#viz-proof.viz-good")
    assert opened.page.locator(".viz-body").is_visible()
    opened.faults[:] = [fault for fault in opened.faults if "503" not in fault]


def test_one_click_runs_a_picture_and_one_that_is_gone_leaves_its_patches(shared):
    opened = shared()
    opened.painted()
    opened.page.route("**/picture.png", lambda route: route.fulfill(status=404))
    opened.page.get_by_label("Picture", exact=True).check()
    opened.page.wait_for_url("**example=a+digit**")
    opened.painted()
    opened.page.wait_for_selector("#viz-proof.viz-good")
    assert opened.page.locator(".viz-picture").is_visible()
    opened.faults[:] = [fault for fault in opened.faults if "404" not in fault]


def test_the_last_click_wins(shared, hold_runs):
    page = shared().painted()
    held = hold_runs()
    for text in ("The first", "The second", "The third one"):
        page.fill("#viz-text-a textarea", text)
        page.click("#viz-run")
        while not held.begun:
            page.wait_for_timeout(20)
    held.let_go.set()
    page.wait_for_url("**a=The+third+one**", timeout=20_000)
    while held.begun > held.ended:
        page.wait_for_timeout(20)
    time.sleep(0.5)  # for what has come last to be shown
    assert "a=The+third+one" in page.url
    tokens = page.evaluate("window.vizTab.run.tokens")
    assert tokens == ["[CLS]", "the", "third", "one", "[SEP]"]
