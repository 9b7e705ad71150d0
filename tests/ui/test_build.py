"""An encoder of one's own: its weights are those of a really built one, and it runs untrained."""

import io
import zipfile
from dataclasses import replace

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.slow import slow
from viz_encoder.config import EncoderConfig
from viz_encoder.config.weight_parts import layer_cost, weight_parts
from viz_encoder.errors import ConfigError, InputError
from viz_encoder.ui.form.model_panel import model_panel
from viz_encoder.ui.state.built import POSITIONS, PRESETS, Built, as_listed
from viz_encoder.ui.state.limits import PUBLIC
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.source import Source
from viz_encoder.ui.state.store import TraceStore

TEXT = "the cat sat on the mat"
TINY = {"V": 40, "d_model": 24, "n_layers": 2, "n_heads": 4, "d_ff": 40, "T": 16}


def really_built(config: EncoderConfig) -> int:
    with torch.device("meta"):
        return sum(each.numel() for each in vz.Encoder(config).parameters())


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["pre", slow("post")])
def test_the_counts_are_those_of_a_built_encoder(positions, norm):
    usual, other = (11, 24, 1, 2, 40, 5, False), (500, 48, 3, 4, 7, 64, True)
    grid = [usual, other, *(usual[:at] + other[at : at + 1] + usual[at + 1 :] for at in range(7))]
    for V, d_model, n_layers, n_heads, d_ff, T, gated in grid:  # each alone, and all together
        sizes = (V, d_model, n_layers, n_heads, d_ff, T)
        config = Built(*sizes, positions, norm, "gelu", gated).config
        parts = weight_parts(config)
        assert sum(part.count for part in parts) == really_built(config)
        letters = {"V": V, "D": d_model, "L": n_layers, "T": T, "D_ff": d_ff, "h": n_heads}
        letters |= {"buckets": 32}
        for part in parts:  # each formula is the arithmetic that it says
            said = part.formula.replace("·", "*").replace("²", "**2").replace("−", "-")
            assert eval(said, {}, letters) == part.count, part


def test_the_original_and_the_named_sizes():
    assert sum(part.count for part in weight_parts(Built().config)) == 24_034_304
    for name, axes in (("small", (256, 6, 8, 1024)), ("base", (768, 12, 12, 3072))):
        built = PRESETS[name]
        assert (built.d_model, built.n_layers, built.n_heads, built.d_ff) == axes
    assert PRESETS["original"] == Built(10_000, 512, 6, 8, 2048)
    for name, built in PRESETS.items():  # one encoder on the page, in Python and in the lesson
        assert built.config == vz.EncoderConfig.named(name, max_positions=built.T)


def test_scores_overtake_the_network_at_t_equal_d_ff():
    config = Built(d_model=384, n_heads=12, d_ff=1536).config
    for n_tokens in (1, 128, 1535, 1536, 1537, 4000):
        cost = layer_cost(config, n_tokens)
        assert cost.scores == 2 * n_tokens * n_tokens * 384
        assert cost.feed_forward == 2 * n_tokens * 384 * 1536 and cost.equal_at == 1536
        assert (cost.scores > cost.feed_forward) == (n_tokens > 1536)
    gated = layer_cost(replace(config, gated=True), 100)
    assert gated.equal_at == 2304 and gated.feed_forward == 3 * 100 * 384 * 1536


def built_run(runner, built, text=TEXT):
    return runner.again(runner.run(Recipe(Source.text(text), built)))


def test_it_runs_untrained_and_the_same_seed_is_the_same_run(runner):
    one, two, other = (built_run(runner, Built.of({**TINY, "seed": seed})) for seed in (1, 1, 2))
    traces = [runner.store.get(told["key"]).trace for told in (one, two, other)]
    assert one["weights"] == "untrained" and one["nLayers"] == 2 and one["nHeads"] == 4
    assert one["tokens"] == ["[CLS]", *TEXT.split(), "[SEP]"]
    assert any("untrained" in note for note in one["notes"])
    assert torch.equal(traces[0].output, traces[1].output)
    assert not torch.allclose(traces[0].output, traces[2].output)
    entry = runner.store.get(one["key"])
    n_weights = sum(each.numel() for each in entry.encoder.model.parameters())
    assert entry.nbytes >= traces[0].nbytes + 4 * n_weights


def test_a_link_builds_it_again(runner):
    asked = {**TINY, "positions": "rotary", "norm": "pre", "gated": True, "seed": 17}
    told = built_run(runner, Built.of(asked))
    fresh = Runner(runner.models, TraceStore())
    again = restore(fresh, told["link"])
    both = runner.store.get(told["key"]), fresh.store.get(again["key"])
    assert torch.equal(both[0].trace.output, both[1].trace.output)
    assert again["link"] == told["link"] and both[1].encoder.config.rotary_base == 10_000


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ({"d_model": 25}, "cannot be divided"), ({"n_heads": 0}, "n_heads is 0"),
        ({"positions": "alibi"}, "one of learned, sinusoidal"), ({"norm": "mid"}, "pre, post"),
        ({"activation": "step"}, "choose one of relu"), ({"V": "1e9"}, "V is '1e9'"),
        ({"V": 3}, "must be 6 to"), ({"d_ff": 10**8}, "d_ff is 100000000"),
        ({"seed": "x"}, "seed is 'x'"),
    ],
)  # fmt: skip
def test_axes_that_cannot_be(axes, says):
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")):
        Built.of({**TINY, **axes}).config  # noqa: B018


def test_a_public_server_builds_no_large_one(runner):
    public = replace(runner, limits=PUBLIC)
    with pytest.raises(ConfigError, match="at most 30,000,000 are built here"):
        built_run(public, PRESETS["base"])
    with pytest.raises(InputError, match="is empty"):
        built_run(public, Built.of(TINY), " ")


PICTURES = {**TINY, "n_heads": 3, "reads": "image", "image": 32, "patch": 8, "registers": 2}


@pytest.mark.parametrize("positions", POSITIONS)
def test_an_untrained_encoder_of_pictures_has_registers_and_counts_them(runner, positions):
    built = Built.of({**PICTURES, "positions": positions})
    letters = {"D": 24, "L": 2, "D_ff": 40, "h": 3, "channels": 3, "P": 8, "n": 3, "T": 19}
    parts = weight_parts(built.config)
    assert sum(part.count for part in parts) == really_built(built.config)
    for part in parts:
        said = part.formula.replace("·", "*").replace("²", "**2").replace("buckets", "32")
        assert eval(said, {}, letters) == part.count, part
    told = runner.again(runner.run(Recipe(Source.picture("a digit"), built)))
    assert told["tokens"][:4] == ["[CLS]", "[REG 0]", "[REG 1]", "r0c0"]
    assert told["grid"] == {"rows": 4, "cols": 4, "prefix": 3} and built.n_tokens == 19
    again = restore(runner, told["link"])
    entries = [runner.store.get(each["key"]) for each in (told, again)]
    assert torch.equal(entries[0].trace.output, entries[1].trace.output)
    with pytest.raises(InputError, match="reads pictures"):
        built_run(runner, built)
    with pytest.raises(InputError, match="reads texts"):
        runner.run(Recipe(Source.picture("a digit"), Built.of(TINY)))


def test_the_form_names_an_untrained_encoder_and_runs_it(runner):
    built = Built.of(TINY)
    assert as_listed(built.listed) == built and as_listed("grammar") == "grammar"
    panel = model_panel(runner.models, built.listed)
    assert "d_model 24" in panel and f"{really_built(built.config):,} parameters" in panel
    told = runner.text(built.listed, TEXT)
    assert told["link"] == built_run(runner, built)["link"] and told["model"] == built.name
    picture = Built.of(PICTURES)
    assert "[REG 1]" in model_panel(runner.models, picture.listed)
    told = runner.picture(picture.listed, None, "a digit")
    assert told["model"] == picture.name and told["grid"]["prefix"] == 3


def test_over_http(site, tmp_path):
    told = httpx.get(f"{site}viz/learn/build").json()
    assert told["total"] == 24_034_304 == sum(part["count"] for part in told["parts"])
    assert told["equal_at"] == 2048 and told["asked"]["T"] == 128 and told["runs"]
    assert httpx.get(f"{site}viz/learn/build", params={"d_model": 5}).json()["message"]
    made = httpx.post(f"{site}viz/learn/build", json={**TINY, "a": TEXT}, timeout=60).json()
    numbers = httpx.get(f"{site}viz/run/{made['key']}/learn/token", params={"layer": 1, "query": 2})
    assert numbers.json()["missing"] == {} and numbers.json()["agrees"] < 2e-6
    refused = httpx.post(f"{site}viz/learn/build", json={**TINY, "n_heads": 5, "a": TEXT}).json()
    assert "cannot be divided" in refused["message"]
    same = httpx.post(f"{site}viz/learn/build", json={**TINY, "run": made["key"]}).json()
    assert same["tokens"] == made["tokens"] and same["link"]["a"] == TEXT
    link = {"kind": "pair", "model": "all-MiniLM-L6-v2", "a": "one", "b": "two"}
    pair = httpx.post(f"{site}viz/open/link", json=link, timeout=60).json()
    both = httpx.post(f"{site}viz/learn/build", json={**TINY, "run": pair["key"]}).json()
    assert both["link"]["a"] == "one two"
    none = httpx.post(f"{site}viz/learn/build", json=TINY).json()
    assert "needs a text" in none["message"]
    seen = httpx.post(f"{site}viz/learn/build", json=PICTURES, timeout=60).json()
    assert seen["kind"] == "image" and seen["grid"]["prefix"] == 3
    bits = np.packbits(np.tri(len(made["tokens"]), dtype=bool)).tobytes()
    snippet = f"{site}viz/run/{made['key']}/mask/snippet?kind=vz.capture"
    code = httpx.post(snippet, content=bits).text
    assert "mask" in code and made["link"]["model"] not in code  # a name that vz.load does not know
    params = {**TINY, "a": TEXT, "seed": 3}
    content = httpx.get(f"{site}viz/learn/build/encoder.zip", params=params, timeout=60).content
    zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
    encoder = vz.load(tmp_path / "encoder", device="cpu")
    assert encoder.card.untrained and vz.capture(encoder, TEXT).tokens == tuple(made["tokens"])
