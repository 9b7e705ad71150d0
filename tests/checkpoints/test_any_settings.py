"""Every family given any JSON for its settings: a sentence, or an encoder that can be built."""

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viz_encoder as vz
from tests.checkpoints.faults import a_sentence
from tests.slow import slow_but
from viz_encoder.checkpoints import readers
from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.checkpoints.recognize import family_of
from viz_encoder.config import Embedding
from viz_encoder.errors import CheckpointError

# The package's names for them are functions.
load_module = sys.modules["viz_encoder.checkpoints.load"]
plan_module = sys.modules["viz_encoder.checkpoints.plan"]
SLOW = settings(suppress_health_check=list(HealthCheck), max_examples=100)

NUMBERS = st.integers() | st.floats() | st.sampled_from([10**9, 10**30, 10**400, -1, 0, 1, 1e400])
WORDS = st.text(max_size=20) | st.sampled_from(
    ["gelu", "pre", "token", "patch", "vector", "text", "vision", "absolute", "full_attention"]
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=9) | st.sampled_from(["0", "1"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
OF_HEADS = ("id2label", "num_labels", "problem_type", "pad_token_id", "architectures")
OF_OTHERS = ("rope_parameters", "rope_scaling", "nhead", "architecture", "image", "text")
SHAPES = st.lists(st.integers(0, 9) | st.sampled_from([64, 10**9, 10**30]), max_size=5).map(tuple)
DISTINCT = sorted({family.model_types[0] for family in FAMILIES.values()})


def some(names: list[str], values: st.SearchStrategy) -> st.SearchStrategy:
    return st.dictionaries(st.sampled_from(sorted(names)), values, max_size=4)


def sources(family) -> list[str]:
    """The names of a family's tensors on disk, as its tables have them, layer 0 for all."""
    tables = [family.tensors, *(table.tensors for table in family.heads)]
    lines = [line for table in tables for line in table.splitlines() if line.strip()]
    return [line.split()[0].replace("#", "0").replace("*", "weight") for line in lines]


@pytest.mark.usefixtures("quick_loads")
@pytest.mark.parametrize(
    "name", slow_but(["bert", "timm_wrapper", "siglip_vision_model"], DISTINCT)
)
@SLOW
@given(data=st.data())
def test_any_json_for_any_setting(name, data):
    family = FAMILIES[name]
    known = [*family.defaults, *OF_HEADS, *OF_OTHERS, "projection_dim"]
    file = {"model_type": name, **data.draw(some(known, JSON))}
    heads = data.draw(st.sampled_from([[], *([table] for table in family.heads)]))
    try:
        if family.complete is not None:
            shapes = dict.fromkeys(sources(family), (8, 8))
            shapes |= data.draw(some(sources(family), SHAPES))
            with plan_module.plainly():
                file = family.complete(file, shapes)
        file = {**family.defaults, **file}
        config = plan_module._config(family, file, heads)
        if config.embedding is Embedding.TOKEN:
            padding = readers.text_reading(None, None, config, file, family).padding
            assert padding.id is None or 0 <= padding.id < config.vocab_size
        if config.n_layers <= 12 and len(config.prefix) <= 12:
            load_module.without_weights(config)
    except CheckpointError as fault:
        assert a_sentence(fault)


@SLOW
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "model_type": st.sampled_from([*FAMILIES, "clip", "siglip", None]) | JSON,
            "text_config": JSON,
            "vision_config": JSON,
            "architectures": st.lists(JSON, max_size=2) | JSON,
            "architecture": st.just("vit_tiny") | JSON,
            "id2label": JSON,
            "projection_dim": JSON,
            "license": JSON,
        },
    ),
    st.sampled_from(["", "text", "vision"]),
)
def test_any_json_for_a_whole_file(file, part):
    try:
        family, inner = family_of(file, part)
        heads = plan_module._heads(family, file, dict.fromkeys(sources(family), (8, 8)))
        plan_module._config(family, {**family.defaults, **inner}, heads)
        plan_module._licence(file)
    except CheckpointError as fault:
        assert a_sentence(fault)


AXES = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "vocab_size": 9, "max_positions": 6}


@SLOW
@given(some(list(vars(vz.EncoderConfig())), JSON))
def test_any_json_for_any_axis_of_our_own_files(axes):
    try:
        plan_module._config(FAMILIES["viz_encoder"], {"encoder": {**AXES, **axes}}, [])
    except CheckpointError as fault:
        assert a_sentence(fault)
