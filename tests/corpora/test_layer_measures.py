"""A batch's statistics against plain loops in float64, and against the analyses of one text."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import whole_maps
from viz_encoder.analyses import role_shares, survey
from viz_encoder.config import EncoderConfig
from viz_encoder.corpora import layer_measures
from viz_encoder.corpora.measured_batch import measure_batch
from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.trace import head_statistics
from viz_encoder.trace.batches import joined
from viz_encoder.trace.capture import captured, run
from viz_encoder.trace.head_statistics import OFFSETS, Statistic, offset_name
from viz_encoder.trace.token_kinds import token_kinds

NAMES = list(STATISTICS)
TEXTS = [
    "The bank, said she, approved the loan.",
    "Hi",
    ("A dog barks at 3 a.m.", "A cat sleeps, now."),
    "a river runs through it and it is wide, wide and wide!",
]
OLD_BOXES = [
    "the keys near the cabinet are old .",
    "the dog barks",
    ("the cats sleep .", "the dog near the old boxes sleeps ."),
    "the dogs near the cats see the old box .",
]
ROLES = ("delimiter", "sink", "punctuation")
PAIRED = ("across", "a_to_b", "b_to_a")


def traces_of(encoder, sources):
    """The traces of the same padded batch: a text run alone is rounded otherwise."""
    return captured(encoder, joined(encoder, [encoder.read(one) for one in sources]))


def of_batch(encoder, sources):
    return measure_batch(encoder, range(len(sources)), [encoder.read(one) for one in sources])


def by_loops(weights: np.ndarray, special: list[bool]) -> dict[str, float]:
    """One head's map of one text, without padding, in float64."""
    n, places = len(weights), range(len(weights))
    found = {
        "entropy": -np.mean([sum(w * np.log(w) for w in row if w > 0) for row in weights]),
        "distance": np.mean([sum(weights[i, j] * abs(i - j) for j in places) for i in places]),
        "first": weights[:, 0].mean(),
        "special": np.mean([sum(weights[i, j] for j in places if special[j]) for i in places]),
        "largest": weights.max(),
        "confidence": np.mean([max(row) for row in weights]),
    }
    for offset in OFFSETS:
        pairs = [weights[i, i + offset] for i in places if 0 <= i + offset < n]
        found[offset_name(offset)] = np.mean(pairs) if pairs else np.nan
    return found


def strongest(weights: np.ndarray, special: list[bool]) -> tuple[float, int, int]:
    plain = [at for at in range(len(weights)) if not special[at]]
    return max((weights[i, j], i, j) for i in plain for j in plain)


def close(found: np.ndarray, wanted: np.ndarray, what: object, limit: float = 1e-6) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=limit, err_msg=str(what))


@pytest.fixture(scope="module")
def batch(minilm):
    """Texts of different lengths in one padded batch."""
    return of_batch(minilm, TEXTS)


def check_by_loops(encoder, sources, found):
    for number, trace in enumerate(traces_of(encoder, sources)):
        special, n = list(trace.sample.special), int(trace.valid.sum())
        for layer, head in np.ndindex(found.score.shape[1:]):
            weights = trace.attention(layer, head)[:n, :n].numpy().astype(np.float64)
            for name, wanted in by_loops(weights, special).items():
                at = number, layer, head, NAMES.index(name)
                # From scores of 20 and more, as `survey` has it: float32 keeps 6 of their digits.
                limit = 4e-6 if name == "entropy" else 1e-6
                close(found.statistics[at], wanted, (name, *at), limit)
            score, query, key = strongest(weights, special)
            at = number, layer, head
            assert abs(found.score[at] - score) < 1e-6
            assert abs(weights[found.query[at], found.key[at]] - score) < 1e-6, (query, key)


def test_statistics_and_places_are_those_of_loops_over_each_map(minilm, batch):
    check_by_loops(minilm, TEXTS, batch)


def test_they_are_the_numbers_of_survey_and_role_shares(minilm, batch):
    for of_text, source in zip(batch.statistics, TEXTS, strict=True):
        trace = vz.capture(minilm, source)
        for layer, surveyed in enumerate(survey(trace)):
            for name, wanted in surveyed.statistics.items():
                close(of_text[layer, :, NAMES.index(name)], wanted, (source, name))
        for role in ROLES:
            wanted = role_shares(trace, role).shares
            close(of_text[:, :, NAMES.index(role)], wanted, (source, role))
        for offset in OFFSETS:
            if abs(offset) < trace.n_tokens:
                wanted = role_shares(trace, "offset", offset=offset).shares
                close(of_text[:, :, NAMES.index(offset_name(offset))], wanted, (source, offset))


LOPSIDED = [
    ("One alone", "!!"),
    ("!!", "One alone"),
    ("?", "!!"),
    ("A dog barks.", "It is late"),
    ("It is late", "A dog barks."),
    "Alone, with no other text",
]


def across_by_loops(trace, role):
    """Every word of one text that could look at a word of the other, asked one by one."""
    sample, found = trace.sample, []
    words = [
        (at, side)
        for at, (name, side) in enumerate(zip(sample.tokens, sample.segments, strict=True))
        if trace.valid[at] and not sample.special[at] and any(c.isalnum() for c in name)
    ]
    for query, side in words:
        keys = [key for key, other in words if other != side]
        if keys and role in ("across", ("a_to_b", "b_to_a")[side]):
            maps = np.stack([trace.attention(at)[:, query].double() for at in range(6)])
            found.append(maps[..., keys].sum(axis=-1))
    return (np.mean(found, axis=0) if found else np.full((6, 12), np.nan)), len(found)


def test_a_pair_counts_where_both_texts_have_words_in_either_order(minilm):
    """Alone, in a batch, and in a corpus; where nothing could be looked at, there is no share."""
    traces, found = traces_of(minilm, LOPSIDED), of_batch(minilm, LOPSIDED).statistics
    table = vz.corpus(minilm, LOPSIDED)
    single = of_batch(minilm, TEXTS[:2])  # where the whole batch has no pair
    assert np.isnan(single.statistics[..., NAMES.index("across")]).all()
    for role in PAIRED:
        wanted, counts = zip(*(across_by_loops(trace, role) for trace in traces), strict=True)
        wanted = np.stack(wanted)
        assert np.isfinite(wanted).all(axis=(1, 2)).tolist() == [False] * 3 + [True] * 2 + [False]
        close(found[..., NAMES.index(role)], wanted, role)
        for source, each, count in zip(LOPSIDED, wanted, counts, strict=True):
            shares = role_shares(vz.capture(minilm, source), role)
            close(shares.shares, each, (source, role))
            assert shares.n_queries == count
        close(table[role].mean, np.nanmean(wanted, axis=0), role)


@pytest.mark.parametrize("n_bytes", [1, 4 * 4 * 16 * 16 * 2])
def test_blocks_of_any_size_give_the_same(grammar, monkeypatch, n_bytes):
    # Its scores are small: MiniLM's leave an entropy fewer digits than are compared here.
    whole = of_batch(grammar, OLD_BOXES)
    monkeypatch.setattr(layer_measures, "BLOCK_BYTES", n_bytes)
    again = of_batch(grammar, OLD_BOXES)
    np.testing.assert_allclose(again.statistics, whole.statistics, rtol=1e-6, atol=2e-7)
    check_by_loops(grammar, OLD_BOXES, again)


AXES = {
    "relative": {"positions": "none", "relative_buckets": 8, "relative_distance": 16},
    "causal": {"causal": True},
    "window": {"window": 4},
}


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
def test_masks_and_relative_positions_count(axes):
    torch.manual_seed(3)
    config = EncoderConfig(n_layers=2, n_heads=3, d_model=24, d_ff=32, vocab_size=50, **axes)
    model = vz.Encoder(config).eval()
    if config.relative_buckets:
        torch.nn.init.normal_(model.relative, std=2.0)
    encoder = vz.load(model)
    ids = [torch.randint(1, 50, (1, n)) for n in (11, 5)]
    found = measure_batch(encoder, (0, 1), [encoder.read(one) for one in ids])
    check_by_loops(encoder, ids, found)
    before = found.statistics[..., NAMES.index("next")]
    assert (before.max() == 0) is np.bool_("causal" in axes)


def test_a_statistic_is_one_declaration(grammar, monkeypatch):
    """As ARCHITECTURE says: for the survey and for corpora, of each query or of the sums."""
    two = {
        "square": Statistic("", "", "", of_query=lambda block: block.weights.square().sum(dim=-1)),
        "third": Statistic("", "", "", made_of=lambda sums: (sums.by_key[:, 0, 2], sums.n_real)),
    }
    for registry in (head_statistics.STATISTICS, STATISTICS):
        for name, each in two.items():
            monkeypatch.setitem(registry, name, each)
    batch = of_batch(grammar, OLD_BOXES).statistics[..., -2:]
    for trace, of_text in zip(traces_of(grammar, OLD_BOXES), batch, strict=True):
        maps = whole_maps(trace)[:, :, : int(trace.valid.sum())]
        wanted = {"square": (maps**2).sum(axis=-1).mean(axis=-1), "third": maps[..., 2].mean(-1)}
        for at, (name, numbers) in enumerate(wanted.items()):
            close(of_text[..., at], numbers, name)
            surveyed = [layer.statistics[name] for layer in survey(trace)]
            close(np.stack(surveyed), numbers, name)


def test_a_text_without_numbers_leaves_its_neighbors_theirs(grammar):
    padded = joined(grammar, [grammar.read(one) for one in OLD_BOXES])
    record = run(grammar, padded).records[0]
    tokens = token_kinds(padded.samples, padded.valid, record.q)
    whole = layer_measures.measure_layer(record, tokens)[0]
    q = record.q.clone()
    q[1] = torch.nan
    found = layer_measures.measure_layer(record._replace(q=q), tokens)[0]
    kept = [0, 2, 3]
    torch.testing.assert_close(found[kept], whole[kept], equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_any_precision_is_measured(dtype):
    config = EncoderConfig(n_layers=1, n_heads=2, d_model=16, d_ff=32, vocab_size=50)
    torch.manual_seed(0)
    encoder = vz.load(vz.Encoder(config))
    encoder.model.to(dtype)
    ids = torch.randint(1, 50, (1, 9))
    found = measure_batch(encoder, (0,), [encoder.read(ids)])
    check_by_loops(encoder, [ids], found)
