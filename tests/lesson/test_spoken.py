"""What the server says on the Learn tab, in German: every sentence that it can say there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from viz_encoder.analyses.step import embedding, projection
from viz_encoder.effects import word_order
from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state import store
from viz_encoder.ui.state.attributed import MASKED
from viz_encoder.ui.state.built import PRESETS, Built, built_encoder
from viz_encoder.ui.state.runner import require_kind
from viz_encoder.ui.state.source import Source
from viz_encoder.ui.tabs.learn.build_routes import _source_of
from viz_encoder.ui.tabs.learn.token_numbers import MAPS_ALONE

ROOT = Path(__file__).parents[2]
NODE = Path(sys.executable).with_name("node")
SAY = """
import { spoken } from "./assets/web/learn/sentences.js";
import { TEXTS } from "./assets/web/learn/texts.js";
const both = (each) => ["en", "de"].map((code) => spoken(TEXTS[code], each));
console.log(JSON.stringify(JSON.parse(process.argv[1]).map(both)));
"""
SENTENCES = [
    *(embedding.ROTARY, embedding.RELATIVE, embedding.RECORDED, embedding.NO_ORDER),
    *(projection.TURNED, projection.DIVIDED, projection.NO_QUERIES, MAPS_ALONE),
    *(word_order.NO_WORDS, word_order.ALIKE, MASKED, store.HEAD_REMOVED, store.NOT_PLAIN),
    f"{store.NOT_HERE}; run the text or picture again to see its blocks.",
    *("Running …", "Running … 12 s"),
]
AXES = [
    *({"d_model": 500, "n_heads": 8}, {"V": 3}, {"T": "x"}, {"n_layers": 0}, {"registers": 99}),
    {"d_model": 8, "n_heads": 8, "positions": "rotary"},
    {"d_model": 16, "n_heads": 8, "positions": "rotary", "reads": "image"},
    {"reads": "image", "image": 41, "patch": 4},
]


def refusal(work):
    with pytest.raises(VizEncoderError) as caught:
        work()
    return str(caught.value)


def test_each_sentence_is_said_in_german_with_its_numbers():
    said = [*SENTENCES, *(refusal(lambda axes=axes: Built.of(axes).config) for axes in AXES)]
    tiny = Built.of({"V": 40, "d_model": 8, "n_heads": 1, "T": 4, "n_layers": 1})
    said += [
        refusal(lambda: built_encoder(PRESETS["base"], "a", 10**6)),
        refusal(lambda: _source_of(None, {})),
        refusal(lambda: require_kind(tiny, Source.picture("a digit"))),
    ]
    said = [sentence for sentence in said if sentence]
    command = [NODE, "--input-type=module", "-e", SAY, json.dumps(said)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for sentence, (english, german) in zip(said, json.loads(found.stdout), strict=True):
        assert english == sentence
        assert not german.startswith("Der Server sagt") and german != sentence, sentence
        assert "undefined" not in german and not re.search(r"\d,\d{3}", german), german
    german = dict(zip(said, (each[1] for each in json.loads(found.stdout)), strict=True))
    divided = next(text for sentence, text in german.items() if "cannot be divided" in sentence)
    assert "500" in divided and "8 Köpfe" in divided
