"""A trace is one stack of whole maps: all else is refused, and each way out that is told works."""

import re

import numpy as np
import pytest
import torch
import transformers as hf
from torch import nn

import viz_encoder as vz
from tests.export.test_cell import facts_of
from tests.shape_checks import shapes_checked
from tests.trace.zoo import WAVES, Case
from viz_encoder.errors import InputError, SelectionError, TraceError
from viz_encoder.trace import record

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
WIDE = {**SIZES, "hidden_size": 32}
TEXT = {**WIDE, "vocab_size": 50, "max_position_embeddings": 200}
SEQ2SEQ = {
    "vocab_size": 50,
    "pad_token_id": 1,
    "d_model": 32,
    **{f"{part}_layers": 2 for part in ("encoder", "decoder")},
    **{f"{part}_attention_heads": 4 for part in ("encoder", "decoder")},
    **{f"{part}_ffn_dim": 40 for part in ("encoder", "decoder")},
}
T5 = {"vocab_size": 50, "d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4}
GPT2 = {"vocab_size": 50, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 60}
PYRAMID = {
    "num_encoder_blocks": 2,
    "depths": [2, 2],
    "hidden_sizes": [16, 32],
    "sr_ratios": [2, 1],
    "num_attention_heads": [2, 4],
    "patch_sizes": [7, 3],
    "strides": [4, 2],
    "mlp_ratios": [2, 2],
}
WINDOWS = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "window_size": 4}
SPARSE = {"attention_type": "block_sparse", "block_size": 8, "num_random_blocks": 2}
SAM = {
    "num_hidden_layers": 3,
    "window_size": 4,
    "global_attn_indexes": [1],
    "mlp_dim": 40,
    "output_channels": 8,
}
VIDEO = {"image_size": 32, "patch_size": 8, "num_frames": 4}


def built(kind, options, attn="", name="Model"):
    return Case("", f"{kind}Config", kind + name, options).build(attn)


def ids(n_tokens, first=5):
    return torch.arange(n_tokens)[None] * 7 % 40 + first


def recorded(model, *args, eager="auto", **kwargs):
    with torch.no_grad(), record(model, eager=eager) as recording:
        model(*args, **kwargs)
    return recording


def ways(recording, **asked):
    """Each trace that the refusal tells how to get, by what it says of it."""
    with pytest.raises(TraceError) as refused:
        recording.trace(**asked)
    found = []
    told = re.findall(
        r"recording\.trace\(([^;]*?)\) for (\d+) layers? of ([\d,]+) × ([\d,]+)", str(refused.value)
    )
    for given, *numbers in told:
        n_layers, n_queries, n_keys = (int(number.replace(",", "")) for number in numbers)
        names = [f"k{key}" for key in range(n_keys)]
        how = eval(f"dict({given.replace('[…]', 'names')})", {"names": names})
        trace = recording.trace(**how)
        assert trace.n_layers == n_layers
        assert all(
            layer.weights(slice(None), slice(None)).shape[1:] == (n_queries, n_keys)
            for layer in trace.layers
        )
        found.append((given, trace))
    return str(refused.value), found


def apart(trace, expected, sample=0):
    assert trace.n_layers == len(expected)
    pairs = zip(range(trace.n_layers), expected, strict=True)
    return max(float((trace.attention(layer) - x[sample]).abs().max()) for layer, x in pairs)


def decoded_gpt2(attn):
    model = built("GPT2", GPT2, attn)
    cache = model(ids(5), use_cache=True).past_key_values
    return model, {"input_ids": ids(1, 9), "past_key_values": cache}


def decoded(kind, options):
    def begin(attn):
        model = built(kind, options, attn)
        out = model(input_ids=ids(4), decoder_input_ids=ids(3), use_cache=True)
        states = (out.encoder_last_hidden_state,)
        rest = {"encoder_outputs": states, "past_key_values": out.past_key_values}
        return model, {"decoder_input_ids": ids(1, 9), **rest}

    return begin


DECODED = {
    "GPT-2": (decoded_gpt2, (1, 6)),
    "BART": (decoded("Bart", SEQ2SEQ), (1, 4)),
    "T5": (decoded("T5", T5), (1, 4)),
}


@pytest.mark.parametrize("name", DECODED)
def test_a_cached_step_is_refused_or_has_names_for_its_keys(name, tmp_path):
    begin, (n_queries, n_keys) = DECODED[name]
    with torch.no_grad():
        model, step = begin("sdpa")
        eager, again = begin("eager")
        expected = eager(**again, output_attentions=True)
    recording = recorded(model, **step)
    with pytest.raises(
        TraceError, match=rf"{n_queries} quer(y|ies) × {n_keys} keys.*use_cache=False"
    ):
        recording.trace()
    names = [f"k{key}" for key in range(n_keys)]
    trace = recording.trace(key_tokens=names)
    maps = expected.get("attentions") or expected["decoder_attentions"]
    assert apart(trace, maps) <= 5e-6 and trace.proof.passed
    if expected.get("cross_attentions"):
        assert apart(recording.trace(cross=True), expected.cross_attentions) <= 5e-6
    trace.save(tmp_path / "run.safetensors")
    loaded = vz.Trace.load(tmp_path / "run.safetensors")
    assert loaded.key_tokens == trace.key_tokens == tuple(names)
    assert torch.equal(loaded.attention(1), trace.attention(1))
    drawn = vz.figures.attention_map(trace, layer=0, head=0).data[0]
    assert np.array(drawn.z).shape == (n_queries, n_keys)
    assert [label.split()[-1] for label in drawn.x] == names
    shown = facts_of(trace.show(layer=0, head=0).document)
    assert shown["others"] == names and shown["maps"][0]["counts"] == [n_queries, n_keys]
    for rolled in (
        lambda: vz.analyses.rollout(trace, 0),
        lambda: vz.analyses.rollout_matrix(trace),
    ):
        with pytest.raises(SelectionError, match="Rollout needs a key for each query"):
            rolled()
    with pytest.raises(TraceError, match=f"key_tokens has 2 names, but the run has {n_keys}"):
        recording.trace(key_tokens=["a", "b"])


def test_rows_that_are_heads_are_never_shown_as_tokens():
    """With grouped keys, transformers gives the kernel a group's heads as the rows of one query."""
    model = built("Llama", {**TEXT, "num_key_value_heads": 2}, name="ForCausalLM")
    with record(model) as recording:
        static = {"cache_implementation": "static", "disable_compile": True}
        model.generate(ids(4), max_new_tokens=3, eos_token_id=None, pad_token_id=0, **static)
    assert recording.calls[-1].shape[2:] == (2, 6)
    for asked in ({}, {"key_tokens": list("abcdef")}):
        with pytest.raises(TraceError, match="2 rows for 1 token"):
            recording.trace(**asked)
    assert recording.trace(run=0).n_tokens == 4


def test_names_of_keys_that_are_the_tokens_are_refused():
    recording = recorded(built("Bert", TEXT), ids(6))
    with pytest.raises(TraceError, match="here the keys are the tokens"):
        recording.trace(key_tokens=list("abcdef"))


def nystromformer():
    more = {"num_landmarks": 4, "segment_means_seq_len": 12, "conv_kernel_size": 3}
    return built("Nystromformer", {**TEXT, **more}), (ids(12),)


def segformer():
    return built("Segformer", {**PYRAMID, "decoder_hidden_size": 16}), (torch.randn(1, 3, 32, 32),)


def swin():
    return built("Swin", {**WINDOWS, "num_heads": [2, 4]}), (torch.randn(1, 3, 32, 32),)


def sam():
    options = {**WIDE, **SAM, "image_size": 64, "patch_size": 8}
    return built("SamVision", options), (torch.randn(1, 3, 64, 64),)


def timesformer():
    return built("Timesformer", {**WIDE, **VIDEO}), (torch.randn(1, 4, 3, 32, 32),)


def bigbird_pegasus():
    model = built("BigBirdPegasus", {**SEQ2SEQ, **SPARSE, "max_position_embeddings": 200}, "eager")
    return model, (ids(128), None, ids(6))


def bart():
    return built("Bart", SEQ2SEQ), (ids(4), None, ids(4, 9))


def perceiver():
    more = {"num_latents": 6, "d_latents": 32, "num_blocks": 1, "num_self_attends_per_block": 2}
    more |= {"num_self_attention_heads": 4, "num_cross_attention_heads": 4, "d_model": 32}
    more |= {"qk_channels": 32, "v_channels": 32, "vocab_size": 262, "max_position_embeddings": 12}
    return built("Perceiver", more, name="ForMaskedLM"), (ids(12), torch.ones(1, 12))


@pytest.mark.parametrize(
    ("begin", "asked", "expected"),
    [
        (nystromformer, {"cross": True}, ["key_tokens=[…]"]),
        (segformer, {}, ["within='stages.1'", "within='stages.0', key_tokens=[…]"]),
        (swin, {}, ["within='encoder.layers.0'", "within='encoder.layers.1'"]),
        (
            sam,
            {},
            [
                r"within=r'^vision_encoder\.layers\.(0|2)'",
                "within='vision_encoder.layers.1'",
            ],
        ),
        (
            timesformer,
            {},
            ["within='temporal_attention'", r"within=r'^encoder\.layer\.\d+\.attention'"],
        ),
        (bigbird_pegasus, {}, ["within='encoder'", "within='decoder'"]),
        (bart, {}, ["within='encoder'", "within='decoder'"]),
        (bart, {"within": "encoder", "cross": True}, ["within='encoder'"]),
        (
            perceiver,
            {"cross": True},
            [
                "within='perceiver.encoder', cross=True",
                "within='perceiver.decoder', cross=True",
            ],
        ),
    ],
)
def test_what_a_refusal_advises_works(begin, asked, expected):
    model, inputs = begin()
    _, found = ways(recorded(model, *inputs), **asked)
    assert [given for given, _ in found] == expected


def test_temporal_and_spatial_maps_are_those_of_the_model():
    model, inputs = timesformer()
    recording = recorded(model, *inputs)
    with torch.no_grad():
        spatial = model(*inputs, output_attentions=True).attentions
    trace = recording.trace(within=r"\d\.attention", sample=3)
    assert apart(trace, spatial, sample=3) <= 5e-6 and trace.proof.passed
    temporal = recording.trace(within="temporal")
    assert temporal.n_layers == 2 and temporal.n_tokens == 4


def test_a_module_of_that_name_is_meant_before_any_pattern():
    model, inputs = bart()
    recording = recorded(model, *inputs)
    assert recording.trace(within="encoder").layers[0].name == "encoder.layers.0.self_attn"
    with pytest.raises(TraceError, match="no cross-attention within 'encoder'"):
        recording.trace(within="encoder", cross=True)  # not "decoder.layers.0.encoder_attn"
    assert recording.trace(within="encoder_attn", cross=True).n_layers == 2
    with pytest.raises(TraceError, match=r"'\('.*neither the name of a module nor a regular"):
        recording.trace(within="(")


@pytest.mark.parametrize(
    ("kind", "options", "inputs", "said"),
    [
        (
            "LongT5",
            {**T5, "local_radius": 3, "encoder_attention_type": "transient-global"}
            | {"global_block_size": 4},
            ids(16),
            "attends in blocks of 4 of its 16 tokens, to 16 keys",
        ),
        (
            "Nystromformer",
            {**TEXT, "num_landmarks": 4, "segment_means_seq_len": 12, "conv_kernel_size": 3},
            ids(12),
            "4 queries × 12 keys, so its maps are not of each token by each token: of the 12",
        ),
    ],
)
def test_sparse_and_chunked_attention_is_said_and_nothing_is_shown(kind, options, inputs, said):
    model = built(kind, options, "eager", "EncoderModel" if kind == "LongT5" else "Model")
    recording = recorded(model, inputs)
    first = recording.calls[0].name if recording.calls else ""
    for within in ("", first):
        with pytest.raises(TraceError) as refused:
            recording.trace(within=within)
        assert said in str(refused.value)


def test_full_attention_is_advised_where_a_model_has_it():
    model = built("BigBird", {**TEXT, **SPARSE}, "eager")
    recording = recorded(model, ids(128))
    with torch.no_grad():
        model.encoder.layer[1].attention.self.value.weight.mul_(2)
    with pytest.raises(TraceError, match=r"changed.*with attention_type='original_full'"):
        recording.trace()
    model = built("BigBird", {**TEXT, "attention_type": "original_full"}, "eager")
    with torch.no_grad():
        expected = model(ids(128), output_attentions=True).attentions
    assert apart(recorded(model, ids(128)).trace(), expected) <= 5e-6


def test_folded_heads_of_one_sample_are_heads_and_its_chunks_another_stack():
    options = {**SEQ2SEQ, "attention_window": [4, 4], "max_encoder_position_embeddings": 64}
    model = built("LED", {**options, "max_decoder_position_embeddings": 32})
    inputs = {"input_ids": ids(16), "decoder_input_ids": ids(6)}
    recording = recorded(model, **inputs)
    with torch.no_grad():
        expected = model(**inputs, output_attentions=True)
    assert apart(recording.trace(within="decoder"), expected.decoder_attentions) <= 5e-6
    assert apart(recording.trace(cross=True), expected.cross_attentions) <= 5e-6
    assert recording.trace(within="encoder").proof.passed


MOBILE = {"vocab_size": 50, "num_hidden_layers": 2}
SOUND = {**WIDE, **WAVES, "position_embeddings_type": "relative"}
ENTITIES = {
    "entity_ids": ids(2),
    "entity_attention_mask": torch.ones(1, 2),
    "entity_position_ids": torch.tensor([[[1, 2, -1], [3, -1, -1]]]),
}


@pytest.mark.parametrize(
    ("kind", "options", "inputs"),
    [
        ("MobileBert", MOBILE, {"input_ids": ids(12)}),
        ("MobileBert", {**MOBILE, "use_bottleneck_attention": True}, {"input_ids": ids(12)}),
        ("Luke", {**TEXT, "entity_vocab_size": 50}, {"input_ids": ids(8), **ENTITIES}),
        ("Wav2Vec2Conformer", SOUND, {"input_values": torch.randn(1, 700)}),
        ("DebertaV2", {**TEXT, "relative_attention": True}, {"input_ids": ids(12)}),
    ],
)
def test_one_sequence_is_never_called_two(kind, options, inputs):
    """Whatever else a module is given: values of their own, parts, positions."""
    model, eager = built(kind, options), built(kind, options, "eager")
    trace = recorded(model, **inputs).trace()
    with torch.no_grad():
        expected = eager(**inputs, output_attentions=True).attentions
    assert not trace.layers[0].cross
    if not isinstance(expected[0], tuple):
        assert apart(trace, expected) <= 1e-5
    assert vz.analyses.rollout(trace, query=0).rows.shape[-1] == trace.n_tokens


def test_queries_of_a_decoder_that_adds_positions_cross():
    """No projection is given the sequence itself: positions were added before."""
    backbone = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1], out_features=["stage2"]
    )
    options = {**SEQ2SEQ, "use_timm_backbone": False, "backbone_config": backbone, "num_queries": 5}
    options.pop("vocab_size")
    recording = recorded(built("Detr", options), torch.randn(1, 3, 64, 64))
    assert [call.cross for call in recording.calls] == [False] * 3 + [True, False, True]
    assert recording.trace(cross=True).attention(0).shape == (4, 5, 64)


class Attention(nn.Module):
    """Four heads of 8 of x, by one of several ways to go on from queries, keys and values."""

    def __init__(self, way):
        super().__init__()
        self.qkv, self.way, self.proj = nn.Linear(32, 96), way, nn.Linear(4, 4)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        return getattr(self, self.way)(q, k, v).transpose(1, 2).flatten(2)

    def plain(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v)

    def talking(self, q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return self.proj(weights.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) @ v

    def over_channels(self, q, k, v):
        return ((q.mT @ k).softmax(-1) @ v.mT).mT

    def in_windows(self, q, k, v):
        q, k, v = (part.unflatten(2, (3, 4)) for part in (q, k, v))
        return self.plain(q, k, v).flatten(2, 3)

    def by_two_memories(self, q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return weights[..., :5] @ v[:, :, :5] + weights[..., 5:] @ v[:, :, 5:]

    def by_two_halves(self, q, k, v):
        first, second = self.halves((q @ k.mT).softmax(-1))
        return first @ v[:, :, :5] + second @ v[:, :, 5:]

    def halves(self, weights):
        return weights[..., :5], weights[..., 5:].contiguous()

    def with_a_sink(self, q, k, v):
        weights = torch.cat([q @ k.mT, q[..., :1]], dim=-1).softmax(-1)
        self.last = weights[..., -1]  # looked at, and multiplied with nothing
        return weights[..., :-1] @ v

    def eager(self, q, k, v):
        return (q @ k.mT / 8**0.5).softmax(dim=-1) @ v

    def lost(self, q, k, v):
        return (q @ k.mT / 8**0.5).softmax(dim=-1).nan_to_num() @ v

    def folded(self, q, k, v):
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))
        mixed = torch.bmm(torch.bmm(q / 8**0.5, k.mT).softmax(dim=-1), v)
        return mixed.unflatten(0, (-1, 4))

    def chunked(self, q, k, v):
        parts = [self.plain(part, k, v) for part in q.split(3, dim=2)]
        return torch.cat(parts, dim=2)

    def one_by_one(self, q, k, v):
        samples = zip(q, k, v, strict=True)
        return torch.stack([self.plain(*one) for one in samples])


class Stack(nn.Module):
    def __init__(self, *ways):
        super().__init__()
        torch.manual_seed(3)
        self.blocks, self.pool = nn.ModuleList(map(Attention, ways)), Pool()

    def forward(self, x, pool=False):
        for block in self.blocks:
            x = x + block(x)
        return self.pool(x) if pool else x


class Pool(nn.Module):
    """A latent that asks all tokens, as SigLIP has it in timm."""

    def __init__(self):
        super().__init__()
        self.latent, self.q, self.kv = (
            nn.Parameter(torch.randn(1, 1, 32)),
            nn.Linear(32, 32),
            nn.Linear(32, 64),
        )

    def forward(self, x):
        q = self.q(self.latent.expand(len(x), -1, -1)).unflatten(2, (4, 8)).transpose(1, 2)
        k, v = self.kv(x).unflatten(2, (2, 4, 8)).permute(2, 0, 3, 1, 4)
        return nn.functional.scaled_dot_product_attention(q, k, v)


@pytest.fixture
def x(rng):
    return torch.randn(2, 12, 32, generator=rng)


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("over_channels", "attends over 8 channels, not over its 12 tokens"),
        ("in_windows", "attends within groups of 4 of its 12 tokens"),
        ("by_two_memories", "multiplies the 12 columns of its softmax with values in several"),
        ("by_two_halves", "multiplies the 12 columns of its softmax with values in several"),
    ],
)
def test_maps_of_something_else_are_refused_in_its_words(x, way, said):
    recording = recorded(Stack(way, way), x)
    with pytest.raises(TraceError) as refused:
        recording.trace()
    assert said in str(refused.value) and "sink" not in str(refused.value)


def test_a_sink_that_is_only_looked_at_stays_one(x):
    trace = recorded(Stack("with_a_sink"), x).trace()
    assert trace.proof.passed and trace.layers[0].sink is not None


@pytest.mark.parametrize("eager", ["auto", True])
def test_talking_heads_are_noted_all_of_them(x, eager):
    recording = recorded(Stack("talking", "talking", "plain", "plain"), x, eager=eager)
    said = [note for note in recording.trace().notes if "softmax over 12 × 12 ran" in note]
    assert len(said) == 1 and "'blocks.0' (and one in 1 other module)" in said[0]
    assert "cannot be followed" in said[0] and "eager=True" not in said[0]


def test_a_pool_on_top_is_a_stack_of_its_own(x):
    text, found = ways(recorded(Stack("plain", "plain"), x, pool=True))
    assert [given for given, _ in found] == ["within='blocks'", "within='pool', key_tokens=[…]"]
    assert "within=''" not in text


def test_a_softmax_in_a_module_of_its_own_is_no_other():
    trace = recorded(built("IBert", TEXT, "eager"), ids(12)).trace()
    assert trace.n_layers == 2 and not [note for note in trace.notes if "softmax over" in note]


def test_attention_that_is_given_only_heads_is_of_the_module_around_it(x):
    class Kernel(nn.Module):
        def forward(self, q, k, v):
            return nn.functional.scaled_dot_product_attention(q, k, v)

    class Cached(Attention):
        def __init__(self):
            super().__init__("kernel")
            self.kernel, self.past = Kernel(), torch.randn(2, 4, 3, 8)

        def forward(self, x):
            q, k, v = self.qkv(x).unflatten(2, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            k, v = (torch.cat([self.past, part], dim=2) for part in (k, v))
            return self.kernel(q, k, v).transpose(1, 2).flatten(2)

    recording = recorded(nn.Sequential(Cached()), x)
    assert not recording.calls[0].cross
    with pytest.raises(TraceError, match=r"12 queries × 15 keys.*KV cache"):
        recording.trace()


def test_a_recording_given_for_a_trace_says_what_to_call(x):
    recording = recorded(Stack("plain"), x)
    with shapes_checked(False):
        for use in (
            lambda: vz.analyses.findings(recording),
            lambda: vz.figures.attention_map(recording, layer=0, head=0),
        ):
            with pytest.raises(InputError, match=r"call recording\.trace\(…\) first, which gives"):
                use()
        for use in (lambda: recording.save("run.safetensors"), lambda: recording.show()):
            with pytest.raises(TraceError, match=r"Call recording\.trace\(…\) and give what"):
                use()
    assert not hasattr(recording, "layers") and not hasattr(recording, "_nothing")


def test_stacks_that_only_their_own_names_tell_apart(x):
    """Two levels of numbers, of which neither alone chooses: 0.1 and 1.0, but not 1.1."""

    class Halved(Attention):
        def forward(self, x):
            return super().forward(x[:, ::2])

    plain, halved = (lambda: Attention("plain")), (lambda: Halved("plain"))
    model = nn.Sequential(nn.Sequential(nn.Identity(), plain()), nn.Sequential(plain(), halved()))
    model[1].append(Attention("plain"))
    _, found = ways(recorded(model, x))
    assert [given for given, _ in found] == [r"within=r'^(0\.1|1\.0)$'", "within='1.2'"]


def test_a_module_that_is_called_with_two_sequences_is_said_to_have_been(x):
    class Siamese(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Stack("plain", "plain")

        def forward(self, x):
            return self.encoder(x), self.encoder(x + 1)

    model = Siamese()
    told = [note for note in recorded(model, x).trace().notes if "attended 2 times" in note]
    assert len(told) == 1 and told[0].startswith("'encoder.blocks.0' attended 2 times in this run")
    with torch.no_grad(), record(model.encoder) as recording:
        model(x)
    assert recording.n_runs == 2 and recording.trace(run=0).n_layers == 2  # as it advises
    albert = built("Albert", {**TEXT, "embedding_size": 16})
    assert not [note for note in recorded(albert, ids(6)).trace().notes if "times" in note]


@pytest.mark.parametrize("way", ["masked", "multiplied", "chosen"])
def test_weights_that_are_masked_after_the_softmax_are_followed(x, way):
    mask = torch.ones(12, 12, dtype=torch.bool).tril()
    masked = {
        "masked": lambda weights: torch.masked_fill(weights, ~mask, 0.0),
        "multiplied": lambda weights: torch.mul(weights, mask),
        "chosen": lambda weights: torch.where(mask, weights, 0.0),
    }[way]

    class Masked(Attention):
        def forward(self, x):
            q, k, v = self.qkv(x).unflatten(2, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            self.weights = masked((q @ k.mT).softmax(-1))
            return (self.weights @ v).transpose(1, 2).flatten(2)

    model = nn.Sequential(Masked("plain"))
    trace = recorded(model, x).trace(sample=1)
    assert torch.equal(trace.attention(0), model[0].weights[1])
