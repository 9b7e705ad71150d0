"""The live view of a notebook: what the kernel answers, and the selection in both directions."""

import json
import subprocess
import sys

import numpy as np
import pytest

import viz_encoder as vz
from tests.export.runs import random_trace
from tests.ui.notebook_host import ask
from viz_encoder.errors import SelectionError, VizEncoderError

SENTENCE = "the cats near the bird are small"


@pytest.fixture(scope="module")
def trace(grammar):
    return vz.capture(grammar, SENTENCE)


class Asked:
    """What a view answers to a message, put together."""

    def __init__(self, view):
        self.view, self.parts = view, []
        view.send = lambda content, buffers: self.parts.append((content, buffers[0]))
        self.key = self.json("viz/first")["key"]

    def __call__(self, path, body=None):
        self.parts.clear()
        ask(self.view, {"id": "1", "path": path, "body": body})
        assert {content["id"] for content, _ in self.parts} == {"1"}
        assert [content["more"] for content, _ in self.parts][-1] is False
        return self.parts[0][0], b"".join(bytes(part) for _, part in self.parts)

    def json(self, path, body=None):
        return json.loads(self(path, body)[1])

    def run(self, path):
        """Numbers of the run, with their shape."""
        about, content = self(f"viz/run/{self.key}/{path}")
        assert about["status"] == 200, content
        shape = [int(side) for side in about["headers"]["x-shape"].split(",")]
        return np.frombuffer(content, "<f4").reshape(shape)


def test_a_map_a_row_and_a_share_are_those_of_the_run(trace, grammar):
    asked = Asked(trace.show(live=True, words=True))
    assert b'"words": true, "hide": false' in asked("page")[1]
    weights = trace.attention(2, 1).numpy()
    assert np.allclose(asked.run("map?layer=2&head=1"), weights, atol=1e-6)
    assert np.allclose(asked.run("row?layer=2&head=1&query=5"), weights[5], atol=1e-6)
    found = vz.attribute(grammar, trace, of="state", token=5)
    carried = asked.json(f"viz/run/{asked.key}/attribution?of=state&token=5")
    assert carried["tokens"] == pytest.approx(found.tokens.tolist(), rel=1e-5, abs=1e-6)
    layer, head, query, key, share = found.strongest(1)[0]
    place = f"layer={layer}&head={head}&query={query}"
    shares = asked.run(f"attribution/map?of=state&token=5&{place}")
    assert shares[query, key] == pytest.approx(share, rel=1e-4)


def test_effects_come_in_parts_and_are_those_of_removing_each_head(grammar):
    text = "the cats near the bird [MASK] small"
    asked = Asked(vz.capture(grammar, text).show(live=True))
    _, content = asked(f"viz/run/{asked.key}/attribution/effect?of=masked")
    assert len(asked.parts) > 2  # so that its progress is seen
    last = json.loads(content.splitlines()[-1])["result"]
    expected = vz.effect(grammar, text, measure=vz.attribute(grammar, text, of="masked"))
    assert np.allclose(last["heads"], expected.values[0], atol=1e-4)


def test_of_8192_tokens_only_what_is_looked_at_is_sent():
    asked = Asked(random_trace(8192, 1, 1).show(live=True, max_bytes=300_000))
    assert asked.run("map?layer=0&head=0").shape == (512, 512)  # the largest of each block
    part = asked.run("map?layer=0&head=0&rows=8000:8064&keys=100:164")
    assert np.allclose(part, asked.view.trace.attention(0, 0)[8000:8064, 100:164], atol=1e-7)
    assert max(len(content) for _, content in asked.parts) <= 4 * 512 * 512


def test_what_is_wrong_is_told_and_stays_an_answer(trace):
    asked = Asked(trace.show(live=True))
    about, content = asked(f"viz/run/{asked.key}/map?layer=9&head=0")
    assert about["status"] == 404 and "layer 9" in json.loads(content)["message"]
    assert asked("viz/run/nobody/map?layer=0&head=0")[0]["status"] == 410


def test_a_run_without_its_model_has_its_maps_and_says_what_is_missing():
    asked = Asked(random_trace(12, 2, 3).show(live=True))
    assert asked.run("map?layer=1&head=2").shape == (12, 12)
    told = asked.json(f"viz/run/{asked.key}/attribution?of=state&token=5&told=1")
    assert "not loaded here" in told["message"]


def test_the_model_of_a_run_is_given_where_it_is_not_built_in(grammar, tmp_path):
    grammar.save(tmp_path / "own")
    encoder = vz.load(tmp_path / "own", device="cpu")
    trace = vz.capture(encoder, SENTENCE)
    assert not Asked(trace.show(live=True)).json("viz/first")["hasModel"]
    assert Asked(trace.show(live=True, encoder=encoder)).json("viz/first")["hasModel"]
    with pytest.raises(SelectionError, match="give the model that ran"):
        trace.show(encoder=vz.load("everyday", device="cpu"))


def test_the_selection_is_set_observed_and_a_table(trace):
    view, seen = trace.show(layer=3, head=0, query="are", live=True), []
    view.observe(lambda change: seen.append((change.name, change.new)), ["layer", "query", "head"])
    assert (view.layer, view.head, view.query) == (3, 0, trace.tokens.index("are"))
    view.query, view.key, view.layer = "cats", "bird", 2
    chosen = view.selection
    assert (chosen.query, chosen.query_token, chosen.key_token) == (2, "cats", "bird")
    assert chosen.weight == pytest.approx(float(trace.attention(2, 0)[2, view.key]), rel=1e-5)
    assert chosen.columns()["layer"] == [2] and chosen.to_frame().shape == (1, 8)
    view.head = [1, 2]
    mean = trace.attention(2)[[1, 2], 2, view.key].mean()
    assert view.selection.weight == pytest.approx(float(mean))
    view.set_state({"layer": 1, "head": "0,3", "measure": "effect"})  # as the browser says it
    assert (view.layer, view.head, view.measure) == (1, (0, 3), "effect")
    assert view.get_state("head") == {"head": "0,3"}
    assert seen == [("query", 2), ("layer", 2), ("head", (1, 2)), ("layer", 1), ("head", (0, 3))]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("layer", 4, "There is no layer 4"),
        ("head", 9, "There is no head 9"),
        ("query", "dog", "dog"),
        ("key", 99, "99"),
        ("measure", "importance", "attention, contribution, effect"),
    ],
)
def test_what_cannot_be_selected_is_refused_and_changes_nothing(trace, name, value, told):
    view = trace.show(live=True)
    before = getattr(view, name)
    with pytest.raises(SelectionError, match=told):
        setattr(view, name, value)
    assert getattr(view, name) == before


def test_a_saved_notebook_keeps_the_static_cell(trace):
    view = trace.show(layer=3, head=0, live=True)
    data, _ = view._repr_mimebundle_()
    still = trace.show(layer=3, head=0, live=False)
    assert data["text/html"] == still._repr_html_()
    live, below = view.outputs()
    assert still._repr_html_() in below["text/html"] and "<iframe" not in live["text/html"]
    assert below.keys() == {"text/plain", "text/html"}
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == view.model_id
    assert data["text/plain"] == "<live view of Attention of grammar, 4 layers × 4 heads, 9 tokens>"


def test_outside_a_notebook_it_is_static_and_gradio_is_never_needed():
    code = f"""
import sys
import viz_encoder as vz
trace = vz.capture(vz.load("grammar", device="cpu"), {SENTENCE!r})
assert type(trace.show()).__name__ == "Cell"
assert not {{"anywidget", "gradio", "IPython"}} & set(sys.modules)
view = trace.show(live=True)
view.send = lambda content, buffers: None
view._heard(view, {{"id": "1", "path": "viz/first"}}, [])
assert "gradio" not in sys.modules and view._kernel
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_anywidget_it_says_how_to_get_it(trace, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(VizEncoderError, match=r"pip install 'viz-encoder\[notebook\]'"):
        trace.show(live=True)
