"""vz.load(EncoderConfig): random weights, seeded; all that is shown of them says "untrained"."""

import numpy as np
import pytest
import torch
from PIL import Image

import viz_encoder as vz
from tests.checkpoints.faults import refuse
from tests.export.runs import facts_of
from viz_encoder.export.save import save
from viz_encoder.figures.options import VIEWS
from viz_encoder.trace.map_view import MapView
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.run_description import describe
from viz_encoder.ui.state.store import Entry

AXES = {"n_layers": 2, "n_heads": 2, "d_model": 16, "d_ff": 24, "vocab_size": 30}
SMALL = vz.EncoderConfig(**AXES)
IDS = torch.tensor([[3, 4, 5, 6]])
ONE_LINE = 'vz.load(vz.EncoderConfig.named("original"))'


def weights(encoder) -> dict[str, torch.Tensor]:
    return encoder.model.state_dict()


def same(a, b) -> bool:
    return all(torch.equal(weights(a)[name], weights(b)[name]) for name in weights(a))


def test_an_untrained_encoder_is_one_line():
    encoder = eval(ONE_LINE, {"vz": vz})
    config = encoder.config
    assert (config.n_layers, config.n_heads, config.d_head, config.d_ff) == (6, 8, 64, 2048)
    trace = vz.capture(encoder, [1, 2, 9_999])
    assert trace.proof.passed and trace.attention(5).shape == (8, 3, 3)
    assert "position" not in " ".join(weights(encoder))
    assert "untrained" in repr(encoder) and "untrained" in repr(trace)


def test_the_seed_gives_the_weights_and_the_generator_is_left_alone():
    torch.manual_seed(9)
    before = torch.get_rng_state()
    first, again, other = vz.load(SMALL), vz.load(SMALL, seed=0), vz.load(SMALL, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert same(first, again) and not same(first, other)


@pytest.mark.parametrize(
    "axes",
    [
        {}, {"positions": "none", "relative_buckets": 8, "relative_distance": 16},
        {"embedding": "patch", "image_size": (8, 8), "patch_size": 4, "prefix": ("[CLS]",),
         "prediction_heads": [{"task": "pool", "pool": "probe"}]},
        {"embedding": "vector", "norm": "rms", "bias": False},
    ],
)  # fmt: skip
def test_what_starts_from_zero_is_drawn_too(axes):
    """Else an untrained encoder would know no order, and its first tokens would all be one."""
    encoder = vz.load(vz.EncoderConfig(**AXES | axes))
    zero = [name for name, weight in weights(encoder).items() if not weight.any()]
    assert all(name.endswith("bias") for name in zero)
    tables = [
        name for name in weights(encoder) if name.endswith(("position", "prefix", "relative"))
    ]
    for name in tables:
        assert 0.01 < weights(encoder)[name].std() < 0.03


def test_dtype_device_and_tokenizer_as_with_any_other(grammar):
    config = vz.EncoderConfig(**{**AXES, "vocab_size": grammar.config.vocab_size})
    encoder = vz.load(config, tokenizer=grammar.reader.tokenizer, dtype=torch.float64, device="cpu")
    assert encoder.dtype == torch.float64
    assert vz.capture(encoder, "the keys").tokens == vz.capture(grammar, "the keys").tokens


def test_seeds_that_there_are_not():
    for seed in (-1, 1.5, True, "0", 2**63, np.float64(1), np.True_):
        assert "seed is" in refuse(SMALL, seed=seed)


def test_everything_shown_of_it_says_untrained(tmp_path):
    """As it was made, and as it comes back from a folder and from memory."""
    made = vz.load(SMALL)
    made.save(tmp_path / "mine")
    for encoder in (made, vz.load(tmp_path / "mine"), vz.load(made, dtype=torch.float64)):
        assert encoder.card.untrained and encoder.card.name.endswith(" (untrained)")
        assert encoder.card.name.count("untrained") == 1
        trace = vz.capture(encoder, IDS)
        trace.save(tmp_path / "run.safetensors")
        for run in (trace, vz.Trace.load(tmp_path / "run.safetensors")):
            assert run.origin.weights == "untrained" and "(untrained)" in run.origin.model
            assert any("untrained: its weights are random" in note for note in run.notes)
            assert "untrained" in repr(run)
            described = describe("key", Entry(run, Recipe.of_saved(run)), "")
            assert described["weights"] == "untrained"
            assert any("its weights are random" in note for note in described["notes"])
        for name in ("out.html", "out.npz"):
            save(trace, tmp_path / name, MapView(0, 0))
        assert "(untrained)" in str(np.load(tmp_path / "out.npz")["model"])
        for page in ((tmp_path / "out.html").read_text(), trace.show().document):
            assert "(untrained)" in str(facts_of(page))
        assert "(untrained)" in trace._repr_html_()


def test_figures_say_it_in_their_title(grammar):
    trace, trained = vz.capture(vz.load(SMALL), IDS), vz.capture(grammar, "the keys")
    for name in ("attention_map", "head_atlas", "rollout", "over_smoothing"):
        for draw in (VIEWS[name].draw, getattr(vz.figures, name)):
            assert draw(trace).layout.title.text.endswith("(untrained: random weights)")
        assert "untrained" not in VIEWS[name].draw(trained).layout.title.text


def test_trained_encoders_are_not_called_untrained(grammar, tmp_path):
    encoder = vz.load(SMALL)
    with torch.no_grad():
        encoder.model.embed.position.add_(1)
    trained = vz.load(encoder.model)
    trained.save(tmp_path / "trained")
    for one in (trained, vz.load(tmp_path / "trained"), grammar):
        assert not one.card.untrained and "untrained" not in one.card.name
        assert vz.capture(one, IDS).origin.weights == ""


def test_one_of_patches_takes_a_picture(tmp_path):
    axes = {"embedding": "patch", "image_size": (16, 16), "patch_size": 8}
    prefix = ("[CLS]", "[REG 0]")
    config = vz.EncoderConfig(n_layers=2, n_heads=2, d_model=16, d_ff=24, prefix=prefix, **axes)
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    encoder = vz.load(config, device="cpu")
    trace = vz.capture(encoder, Image.fromarray(pixels))
    assert trace.tokens == (*prefix, "r0c0", "r0c1", "r1c0", "r1c1")
    scaled = torch.from_numpy(pixels / 127.5 - 1).float().permute(2, 0, 1)[None]
    torch.testing.assert_close(trace.output, vz.capture(encoder, scaled).output)
    encoder.save(tmp_path / "own")
    again = vz.capture(vz.load(tmp_path / "own", device="cpu"), Image.fromarray(pixels))
    assert torch.equal(again.output, trace.output)
