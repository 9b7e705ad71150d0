"""A real JupyterLab: three lines in a notebook draw the attention of a BERT that is in memory."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.started import started
from viz_encoder.checkpoints.builtin import BUILTIN

IN_MEMORY = """\
from transformers import BertModel, PreTrainedTokenizerFast
model = BertModel.from_pretrained({folder!r})
tokenizer = PreTrainedTokenizerFast(tokenizer_file={folder!r} + "/tokenizer.json")
import viz_encoder as vz"""
THREE_LINES = """\
encoder = vz.load(model, tokenizer=tokenizer)
trace = vz.capture(encoder, "The animal didn't cross the street because it was too tired")
trace.show(layer=3, head=1, query="it", live=False)"""
LIVE = """\
encoder = vz.load(model, tokenizer=tokenizer)
trace = vz.capture(encoder, "The animal didn't cross the street because it was too tired")
for head in (1, 4):
    view = trace.show(layer=3, head=head, query="it", encoder=encoder)
view"""
NEXT = """\
print("chosen", view.measure, view.layer, view.head, view.selection.query_token)
view.head = 7"""
THE_MODELS_OWN = """\
import torch
ids = tokenizer("The animal didn't cross the street because it was too tired", return_tensors="pt")
model.set_attn_implementation("eager")
with torch.no_grad():
    print("own", model(**ids, output_attentions=True).attentions[3][0, 1, 10, 2].item())"""


def notebook_of(*cells: str) -> str:
    """A notebook of code that has not run."""
    blank = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    code = [blank | {"id": f"cell{at}", "source": source} for at, source in enumerate(cells)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": code, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab that keeps all it writes below the test's own folder."""
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    kept = ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    env = {name: str(tmp_path / name.lower()) for name in (*places, *kept)}
    source = str(Path(__file__).parents[2])
    options = ("--no-browser", "--allow-root", "--ServerApp.port=0", "--ServerApp.ip=127.0.0.1")
    quiet = ("--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",)
    command = [sys.executable, "-m", "jupyterlab", *options, *quiet]
    env = {**os.environ, **env, "PYTHONPATH": source, "HF_HUB_OFFLINE": "1"}
    folder = f"--ServerApp.root_dir={tmp_path}"
    with started([*command, folder], "/lab?token=", stream="stderr", env=env) as said:
        yield re.search(r"(http://127\.0\.0\.1:\d+/lab)\?token=(\w+)", said).groups()


@pytest.fixture
def notebook(lab, chromium, tmp_path):
    """Opens a notebook of code in it; gives the page, and its file."""
    address, token = lab
    page = chromium.new_page(viewport={"width": 1400, "height": 1100})
    faults = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))

    def opened(*cells: str) -> tuple[Page, Path]:
        file = tmp_path / "cells.ipynb"
        folder = str(BUILTIN["all-MiniLM-L6-v2"].locate())
        file.write_text(notebook_of(IN_MEMORY.format(folder=folder), *cells))
        page.goto(f"{address}/tree/{file.name}?token={token}&reset")
        page.get_by_text("| Idle").wait_for(timeout=60_000)  # what is run before is not run
        page.locator(".jp-Notebook-cell .cm-content").first.click(timeout=60_000)
        return page, file

    yield opened
    assert faults == []
    page.close()


def test_three_lines_show_a_bert_that_is_in_memory(notebook):
    page, _ = notebook(THREE_LINES, THE_MODELS_OWN)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    frame = page.frame_locator(".jp-OutputArea-output iframe")
    frame.locator("body[data-painted]").wait_for(timeout=60_000)
    own = page.locator(".jp-OutputArea-output", has_text="own 0.").inner_text(timeout=60_000)
    expected = float(own.split()[1])
    assert frame.locator("#said").inner_text() == (
        f"Head 3.1: it looks most at animal: {expected:.2f} of its attention."
    )
    map_ = frame.locator("#map")
    middle = "({ drawn: { left, top, cell } }) => ({ x: left + 2.5 * cell, y: top + 10.5 * cell })"
    map_.hover(position=map_.evaluate(f"() => ({middle})(vizRun)"))
    told = frame.locator("#readout").inner_text()
    assert told.startswith("query 10 “it” → key 2 “animal”: weight ")
    assert float(told.split("weight ")[1].split()[0]) == pytest.approx(expected, abs=1e-4)
    colors = map_.evaluate(
        """(map) => new Set(new Uint32Array(map.getContext("2d").getImageData(0, 0, map.width,
        map.height).data.buffer)).size"""
    )
    assert colors > 30  # a map of many weights is painted
    assert frame.locator("html").evaluate("(html) => html.scrollHeight <= innerHeight + 1")


def test_a_live_view_and_the_next_cell_know_each_other(notebook, lab):
    page, file = notebook(LIVE, NEXT)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    frames = page.locator(".jp-OutputArea-output iframe:visible")
    last = frames.last.content_frame
    last.locator(".viz-map h3", has_text="(3.4)").wait_for(timeout=120_000)
    assert frames.count() == 2  # each of the loop, and the last not once more
    last.get_by_role("button", name="Contribution").click()
    last.locator(".viz-shares h3", has_text="brings").wait_for(timeout=60_000)
    page.keyboard.press("Escape")
    page.locator(".jp-Notebook-cell .cm-content").last.click()
    page.keyboard.press("Shift+Enter")
    said = page.locator(".jp-OutputArea-output", has_text="chosen").inner_text(timeout=60_000)
    assert said.strip() == "chosen contribution 3 4 it"
    last.locator(".viz-map h3", has_text="3.7").wait_for(timeout=60_000)
    page.keyboard.press("Control+s")
    page.locator(".jp-mod-dirty").wait_for(state="detached", timeout=60_000)
    saved = json.loads(file.read_text())["cells"][1]["outputs"]
    static = ["<iframe" in "".join(each["data"]["text/html"]) for each in saved]
    assert static == [False, True, False, True]  # each below its live view
    server, (_, token) = page.url.split("/lab")[0], lab
    for session in page.request.get(f"{server}/api/sessions?token={token}").json():
        page.request.delete(f"{server}/api/sessions/{session['id']}?token={token}")
    page.goto(f"{server}/lab/tree/cells.ipynb?token={token}&reset")
    frames.first.content_frame.locator("body[data-painted]").wait_for(timeout=60_000)
    lost = page.locator(".jupyter-widgets", has_text="model not found")
    lost.nth(1).wait_for(state="attached", timeout=60_000)
    of_ours = page.locator(".jp-Cell", has_text="trace.show").locator(lost)
    assert of_ours.count() == 2 and not any(each.is_visible() for each in of_ours.all())
    assert frames.count() == 2
