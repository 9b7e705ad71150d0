"""Findings against whole maps in numpy, known answers, and models that have learned nothing."""

from collections import Counter
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import layer_of, run_of
from tests.slow import slow_but
from viz_encoder.analyses.findings import NOTHING, findings
from viz_encoder.analyses.findings.reading import read
from viz_encoder.analyses.pair import pair
from viz_encoder.bundled import asset
from viz_encoder.trace import LayerTrace, head_rows

measuring = import_module("viz_encoder.analyses.findings.measure")

TIRED = "The animal didn't cross the street because it was too tired"
TEXTS = [
    TIRED,
    "Although the weather was terrible, the children who had waited all week went to the beach.",
    ("A man is playing a guitar.", "Someone plays an instrument."),
]


@pytest.fixture(scope="module")
def tired(minilm):
    return vz.capture(minilm, TIRED)


# Of TEXTS, the words of grammar alone: no finding links them.
GRAMMATICAL = {
    *("is", "an", "the", "didn", "t", "because", "was", "too", "although", "who", "had", "all"),
    "to",
}


def best_link(trace):
    """The best score of all cells of all heads by its definition, from whole maps."""
    n, sample = trace.n_tokens, trace.sample
    may = [
        not special and any(letter.isalnum() for letter in token) and token not in GRAMMATICAL
        for token, special in zip(sample.tokens, sample.special, strict=True)
    ]
    parts = (
        {sample.tokens.index("didn"), sample.tokens.index("t")} if "didn" in sample.tokens else ()
    )
    allowed = np.ones((n, n), bool) if trace.mask is None else trace.mask[0].numpy()
    allowed = np.broadcast_to(allowed, (n, n))
    best = (-1.0,)
    for layer in range(trace.n_layers):
        for head, weights in enumerate(trace.attention(layer).double().numpy()):
            means = weights.sum(axis=0) / allowed.sum(axis=0)
            for q in range(n):
                for k in range(n):
                    split = parts and {q, k} <= parts
                    if not (may[q] and may[k] and allowed[q, k]) or q == k or split:
                        continue
                    base = max(means[k], 1 / allowed[q].sum())
                    if abs(q - k) <= 4:
                        band = np.delete(np.diagonal(weights, k - q), min(q, k))
                        base = max(base, band.sum() / max(len(band), 1))
                    score = weights[q, k] * np.log(max(weights[q, k], 1e-30) / base)
                    score *= np.log(1 + min(abs(q - k), 10))
                    best = max(best, (score, layer, head, q, k))
    return best[1:]


def test_the_sentence_that_everybody_knows(tired):
    found = findings(tired)
    first = found[0]
    assert (
        found.sentence
        == first.sentence
        == ("Head 3.1 links “it” to “animal”: 0.64 of its attention, 5.1 times the average.")
    )
    assert first.chip == "3.1 it → animal 0.64" and first.kind == "link"
    assert (first.layer, first.head, first.query, first.key) == (3, 1, 10, 2)
    known = pair(tired, 10, 2)
    assert first.weight == pytest.approx(known.weights[3, 1], abs=2e-5)
    assert first.ratio == pytest.approx(known.ratios[3, 1], rel=2e-4)
    assert first.heads == ((3, 1),)


@pytest.mark.parametrize("text", TEXTS)
def test_the_first_link_has_the_best_score_and_all_have_the_numbers_of_the_maps(minilm, text):
    trace = vz.capture(minilm, text)
    found = [one for one in findings(trace, n=12) if one.kind == "link"]
    first = found[0]
    assert (first.layer, first.head, first.query, first.key) == best_link(trace)
    for link in found:
        weights = trace.attention(link.layer, link.head).double().numpy()
        assert link.weight == pytest.approx(weights[link.query, link.key], abs=2e-5)
        mean = weights[:, link.key].mean()
        assert link.ratio == pytest.approx(link.weight / mean, rel=2e-4)
        assert not trace.sample.special[link.query] and not trace.sample.special[link.key]
        assert f"{link.weight:.2f}" in link.sentence and f"{link.ratio:.1f} times" in link.sentence
    assert len({(one.query, one.key) for one in found}) == len(found) > 3
    assert max(Counter((one.layer, one.head) for one in found).values()) <= 2


def test_under_a_causal_mask_only_those_who_may_look_count(minilm):
    trace = vz.capture(minilm, TIRED, mask=torch.ones(15, 15).tril().bool())
    first = findings(trace)[0]
    assert (first.layer, first.head, first.query, first.key) == best_link(trace)


def test_what_the_mask_forces_is_no_link(minilm):
    """A query that may attend to one key alone gives it all, by every head."""
    mask = torch.ones(15, 15, dtype=torch.bool)
    mask[10] = torch.arange(15) == 2
    found = findings(vz.capture(minilm, TIRED, mask=mask), n=30)
    assert len(found) > 3 and 10 not in {one.query for one in found}


def test_heads_of_one_role_are_one_finding(tired):
    found = {one.kind: one for one in findings(tired, n=20)}
    maps = np.stack([tired.attention(at).numpy() for at in range(6)])
    previous = np.diagonal(maps, -1, axis1=2, axis2=3).mean(axis=2)
    first = maps[:, :, :, 0].mean(axis=2)
    for kind, shares, even in (("previous", previous, 1 / 15), ("first", first, 1 / 15)):
        clear = {tuple(at) for at in np.argwhere((shares - even) / (1 - even) > 0.5).tolist()}
        assert set(found[kind].heads) == clear
        ordered = [shares[place] for place in found[kind].heads]
        assert ordered == sorted(ordered, reverse=True)
        assert found[kind].weight == pytest.approx(max(ordered), abs=2e-5)
        assert found[kind].ratio == pytest.approx(max(ordered) / even, rel=2e-4)
    count, best = len(found["first"].heads), found["first"]
    assert best.sentence == (
        f"{count} heads give the first token ([CLS]) over half of their attention; the clearest is "
        f"{best.layer}.{best.head} ({best.weight:.2f})."
    )
    assert best.chip == f"{count} heads: first token ([CLS])" and best.key == 0


def test_every_role_is_found_where_a_head_does_nothing_else():
    tokens = ["[CLS]", "a", "b", ",", "c", "d", "[SEP]", "e", "f", "g", "h", "[SEP]"]
    n, at = len(tokens), torch.arange(len(tokens))
    special = [token.startswith("[") for token in tokens]
    other = torch.where(at < 7, 8, 2)
    looks = {
        "previous": (at - 1).clamp_min(0),
        "next": (at + 1).clamp_max(n - 1),
        "same": at,
        "first": at * 0,
        "delimiter": torch.where(at < 6, 6, 11),
        "punctuation": at * 0 + 3,
        "across": other,
        "offset": (at + 3) % n,
    }
    maps = torch.stack([torch.eye(n)[where] for where in looks.values()])
    trace = run_of(layer_of(maps), tokens=tokens, special=special, segments=(0,) * 7 + (1,) * 5)
    found = {one.kind: one for one in findings(trace, n=30) if one.kind != "link"}
    for head, kind in enumerate(looks):
        assert (0, head) in found[kind].heads, kind
        assert found[kind].weight == pytest.approx(1, abs=1e-6), kind
    assert "the token 3 after" in found["offset"].sentence
    assert "[SEP]" in found["delimiter"].chip and "the other text" in found["across"].sentence


def test_a_head_unlike_the_others_of_its_layer(rng):
    """Its distance is the mean of √JSD in bits, written out here."""
    spread = (torch.rand(5, 12, 12, generator=rng) / 5).softmax(dim=-1)
    spread[3] = torch.eye(12)[torch.randperm(12, generator=rng)]
    trace = run_of(layer_of(spread), tokens="abcdefghijkl")
    found = next(one for one in findings(trace, n=30) if one.kind == "unlike")
    p, apart = spread.double().numpy(), []
    for other in (0, 1, 2, 4):
        middle = (p[3] + p[other]) / 2
        parts = [
            np.where(x > 0, x * np.log2(np.where(x > 0, x, 1) / middle), 0).sum(axis=1) / 2
            for x in (p[3], p[other])
        ]
        apart.append(np.sqrt(sum(parts)).mean())
    assert found.heads == ((0, 3),) and found.weight == pytest.approx(np.mean(apart), abs=2e-5)


SIZES = [
    {"n_layers": 2, "n_heads": 4, "d_model": 64, "d_ff": 64, "vocab_size": 100},
    {"n_layers": 3, "n_heads": 12, "d_model": 384, "d_ff": 64, "vocab_size": 300},
]


@pytest.mark.parametrize("scale", ["torch's own", "N(0, 0.02²)"])
@pytest.mark.parametrize("size", SIZES, ids=["64", "384"])
@pytest.mark.parametrize("n", slow_but([3, 16], [1, 2, 3, 4, 5, 8, 16, 64]))
def test_an_untrained_model_has_none(scale, size, n):
    for seed in range(2):
        encoder = vz.load(vz.EncoderConfig(**size), seed=seed)
        drawn = torch.Generator().manual_seed(seed)
        for weight in encoder.model.parameters() if scale.startswith("N") else ():
            if weight.ndim > 1:
                weight.data.normal_(0, 0.02, generator=drawn)
        ids = torch.randint(0, size["vocab_size"], (1, n), generator=drawn)
        found = findings(vz.capture(encoder, ids))
        assert len(found) == 0 and found.sentence == NOTHING


@pytest.mark.parametrize(
    ("text", "role", "key"),
    [
        ("the keys to the cabinet [MASK] old", (3, 0), "keys"),
        ("the cat by the red cabinet to the dog near the dogs [MASK] red", (3, 0), "cat"),
        ("the girl saw the boy so [MASK] was tired", (2, 3), "boy"),
        ("copy : a d b c e = a d [MASK] c e", (1, 2), "b"),
    ],
)
def test_the_known_heads_of_grammar_are_found(grammar, text, role, key):
    trace = vz.capture(grammar, text)
    link = next(one for one in findings(trace) if one.kind == "link" and role in one.heads)
    assert trace.tokens[link.query] == "[MASK]" and trace.tokens[link.key] == key
    assert f"{role[0]}.{role[1]}" in link.sentence


def test_a_picture_says_how_much_of_the_attention_is_on_how_few_patches():
    trace = vz.capture(vz.load("scene", device="cpu"), asset("examples/digit.png"))
    found = [one for one in findings(trace) if one.kind == "link"]
    assert len({one.key for one in found}) == len(found) >= 3
    for one in found:
        row = trace.attention(one.layer, one.head)[0].numpy()
        ordered = np.sort(row[1:])[::-1].cumsum()
        count = int(np.argmax(ordered >= 0.5)) + 1
        on = f"{count} of 100 patches" if count > 1 else "one of 100 patches"
        assert one.sentence == (
            f"Head {one.layer}.{one.head}: [CLS] puts {ordered[count - 1]:.2f} of its attention "
            f"on {on}."
        )
        assert one.query == 0 and one.key == 1 + int(row[1:].argmax()) and count <= 10


def test_padding_changes_nothing(minilm):
    alone = vz.capture(minilm, TIRED)
    padded = vz.capture(minilm, [TIRED, f"{TIRED} and it was late, and nobody had come so far"])[0]
    assert padded.n_tokens > alone.n_tokens
    for one, other in zip(findings(alone), findings(padded), strict=True):
        assert (one.kind, one.heads, one.query, one.key) == (
            *(other.kind, other.heads, other.query, other.key),
        )
        assert one.weight == pytest.approx(other.weight, abs=2e-5)


def test_words_that_the_model_does_not_know_are_not_linked(grammar):
    trace = vz.capture(grammar, "xx yy zz qq ww ee rr")
    assert "link" not in {one.kind for one in findings(trace, n=20)}


def test_parts_of_a_word_are_not_linked_nor_is_what_an_apostrophe_splits(tired):
    reading = read(tired)
    didn, t = tired.tokens.index("didn"), tired.tokens.index("t")
    assert len(set(reading.word[didn : t + 1].tolist())) == 1
    assert len(set(reading.word.tolist())) == tired.n_tokens - 2


def test_cross_attention_links_the_two_sequences(rng):
    n, keys = 5, 7
    maps = torch.full((2, n, keys), 0.02)
    maps[0, 3, 6] = 0.9
    maps[:, :, 0] += 1 - maps.sum(dim=-1)
    trace = run_of(layer_of(maps, cross=True), tokens="abcde")
    trace = replace(trace, key_tokens=tuple("tuvwxyz"))
    found = findings(trace)
    assert found[0].chip == "0.0 d → z 0.90" and (found[0].query, found[0].key) == (3, 6)


def test_it_is_computed_in_blocks_and_no_map_is_held(minilm, tired, monkeypatch):
    whole, held, weights = findings(tired, n=12), [], LayerTrace.weights
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", 4 * 15 * 4)
    monkeypatch.setattr(
        LayerTrace,
        "weights",
        lambda *given: held.append(found := weights(*given)) or found,
    )
    monkeypatch.setattr(import_module("viz_encoder.analyses.findings.measure"), "N_COMPARED", 4)
    parts = findings(tired, n=12)
    assert max(each.nbytes for each in held) <= 4 * 15 * 4
    compared = [one for one in whole if one.kind != "unlike"]
    for one, other in zip(compared, parts, strict=False):
        assert (one.kind, one.query, one.key) == (other.kind, other.query, other.key)
        assert one.heads == other.heads and one.weight == pytest.approx(other.weight, abs=2e-5)


def test_even_attention_under_a_mask_is_computed_in_blocks_too(tired, monkeypatch):
    n = tired.n_tokens
    mask = torch.ones(n, n).tril().bool()
    mask[5, 1:3] = False
    layer = replace(tired.layers[0], mask=mask[None])
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", 4 * n * 4)
    even = measuring.even_of(layer, read(tired), 1)
    rows = mask.double() / mask.sum(dim=1, keepdim=True)
    assert even.share[0].numpy() == pytest.approx(rows.amax(dim=1).numpy(), abs=1e-6)
    assert even.n_queries[0].tolist() == mask.sum(dim=0).tolist()
    assert even.sums.by_key[0, 0].numpy() == pytest.approx(rows.sum(dim=0).numpy(), abs=1e-5)
    assert float(even.sums.at(-1)[0]) == pytest.approx(float(rows.diagonal(-1).sum()), abs=1e-5)


def test_as_a_table_and_as_few_as_are_asked_for(tired):
    six = findings(tired)
    assert len(six) == 6 and [one.kind for one in six[:3]] == ["link"] * 3
    assert len(findings(tired, n=2)) == 2 and len(findings(tired, n=0)) == 0
    frame = six.to_frame()
    assert list(frame["chip"]) == [one.chip for one in six] and "ratio" in frame


def test_equal_words_of_a_link_are_told_apart_by_their_numbers(minilm):
    text = "The old dog saw the young dog because the dog barked at the cat"
    trace = vz.capture(minilm, text)
    links = [one for one in findings(trace).found if one.kind == "link"]
    told = 0
    for one in links:
        for token in (one.query, one.key):
            name = trace.tokens[token]
            again = trace.tokens.count(name) > 1
            told += again
            assert (f"“{name}” (token {token})" in one.sentence) == again
            assert (f"{name} ({token})" in one.chip) == again
    assert 0 < told < 2 * len(links)
