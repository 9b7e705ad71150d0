"""Results and what holds them: one line at a prompt, escaped HTML, main arrays and tables."""

import dataclasses
import html
import inspect
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.analyses.column import column
from viz_encoder.analyses.item_weights import item_weights
from viz_encoder.analyses.overview import overview, row
from viz_encoder.errors import VizEncoderError
from viz_encoder.result import ArrayResult, TableResult
from viz_encoder.shown import MOST, after_blocks, quoted

INNER = {"column", "item_weights", "overview", "row"}  # what page and files are made of
TEXT = "The bank approved the loan"
EVIL = '<img src=x onerror="alert(1)">\n\u202e&'
SET = "text,label\nA river bank,water\nThe muddy bank,water\nA bank loan,money\nThe bank paid,money"


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


@pytest.fixture(scope="module")
def found(minilm):
    return vz.analyses.collection(minilm, vz.read_set(SET), methods=("mean", "cls"), states=(3, 6))


@pytest.fixture(scope="module")
def report():
    def model(x, passed):
        scores = (x @ x.mT).masked_fill(passed[:, None, :], -1e9)  # True = ignore
        return scores.softmax(dim=-1) @ x

    def intent(valid):
        return valid[:, None, :].expand(-1, valid.shape[1], -1)

    return vz.audit_mask(model, intent, lambda valid: valid, d_model=8)


@pytest.fixture(scope="module")
def results(minilm, grammar, trace, found):
    """One result of every analysis, by its name."""
    of, whole = vz.analyses, {"rows": slice(None), "keys": slice(None)}
    masked = vz.capture(grammar, "the keys to the cabinet [MASK] old")
    causal = vz.capture(minilm, TEXT, mask=torch.ones(7, 7, dtype=torch.bool).tril())
    intent = torch.ones(7, 7, dtype=torch.bool)
    learned = of.attention_pooling(minilm, found.items, seeds=[0], steps=2)
    sources = [item.source for item in found.items]
    return {
        "attention_pooling": learned,
        "between_runs": of.between_runs([trace, causal]),
        "block_parts": of.block_parts(minilm, trace, 2),
        "block_step": of.block_step(minilm, trace, 2, 3),
        "collection": found,
        "column": column(trace, 3, 5, 2),
        "compare": of.compare(causal, trace),
        "embedding_step": of.embedding_step(minilm, trace, 3),
        "findings": of.findings(trace),
        "heads_step": of.heads_step(minilm, trace, 2, 3),
        "hidden_change": of.hidden_change(trace),
        "item_weights": item_weights(minilm, sources, learned.query),
        "layer_change": of.layer_change(trace, causal, 1),
        "logit_lens": of.logit_lens(grammar, masked),
        "mask_effect": of.mask_effect(causal, trace),
        "mask_leaks": of.mask_leaks(trace, intent.tril()),
        "mask_panels": of.mask_panels(trace, intent, 0),
        "nearest_tokens": of.nearest_tokens(trace, 2, 3),
        "over_smoothing": of.over_smoothing(trace),
        "overview": overview(trace, 0, 0, **whole),
        "padding_drift": of.padding_drift(minilm, TEXT, methods=("mean", "max")),
        "pair": of.pair(trace, 3, 2),
        "pooled": of.pooled(minilm, trace, methods=("mean", "cls")),
        "predictions": of.predictions(grammar, masked),
        "projection": of.projection(trace),
        "projection_step": of.projection_step(minilm, trace, 2, 1, 3, 4),
        "residual_change": of.residual_change(minilm, trace),
        "rollout": of.rollout(trace, 3),
        "rollout_matrix": of.rollout_matrix(trace),
        "role_shares": of.role_shares(trace, "sink"),
        "row": row(trace, 3, 5, 2),
        "separation": of.separation("mean", 6, found.of("mean", 6), found.labels),
        "similar_heads": of.similar_heads(trace, 3, 1),
        "attention_step": of.attention_step(trace, 2, 1, 3),
        "survey": of.survey(trace),
        "token_pairs": of.token_pairs(trace, vz.capture(minilm, "The lender paid")),
        "token_similarity": of.token_similarity(trace, 3),
        "value_weighted": of.value_weighted(minilm, trace, 0),
        "value_weighted_sum": of.value_weighted_sum(minilm, trace, 0),
    }


def parts(results) -> list[object]:
    """The results, and the smaller ones that stand in them."""
    nested = [results["survey"][0], results["predictions"][0], results["item_weights"][0]]
    found, drift = results["collection"], results["padding_drift"]
    nested += [found.table(), found.table()[0], drift.rows[0], found.items[0]]
    return [*results.values(), *nested, found.neighbors("mean", item=0)]


def one_short_line(value) -> bool:
    said = repr(value)
    return len(said) <= MOST == 200 and said.isprintable() and type(value).__name__ in said


def test_every_analysis_is_here(results):
    assert results.keys() - INNER == set(dir(vz.analyses))


def test_results_are_frozen_and_of_the_promised_type(results):
    for name, result in results.items():
        kind = type(result)
        assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen, name
        if name in INNER:
            continue
        promised = inspect.signature(getattr(vz.analyses, name)).return_annotation
        assert promised in (kind, kind.__name__), name


def test_every_result_is_one_short_line(results):
    assert all(one_short_line(each) for each in parts(results)), list(map(repr, parts(results)))
    assert repr(results["rollout"]) == "Rollout(rows=float32 6×7, query=3, fuse='mean')"


def test_the_main_array(results, trace):
    arrays = {name: each for name, each in results.items() if isinstance(each, ArrayResult)}
    assert len(arrays) >= 16
    for name, result in arrays.items():
        main = getattr(result, type(result)._main)
        assert isinstance(main, np.ndarray) and main is not result, name
        assert np.array_equal(np.asarray(result), main, equal_nan=True), name
    weights = trace.attention(3, 5).numpy()
    assert np.abs(np.asarray(results["row"]) - weights[2]).max() <= 1e-6
    assert np.abs(np.asarray(results["column"]) - weights[:, 2]).max() <= 1e-6
    assert results["row"].weights @ np.ones(7) == pytest.approx(1, abs=1e-6)
    column = results["column"]  # as numpy 2 asks for it
    assert np.asarray(column).dtype == np.float32
    assert np.asarray(column, dtype=np.float64).dtype == np.float64
    assert np.shares_memory(np.asarray(column), column.weights)
    assert not np.shares_memory(np.array(column, copy=True), column.weights)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(column, dtype=np.float64, copy=False)
    assert np.array_equal(column - np.asarray(column), np.zeros(7))


def test_every_table_has_columns_of_one_length(results):
    tables = [each for each in parts(results) if isinstance(each, TableResult)]
    assert len(tables) >= 16
    for table in tables:
        columns, frame = table.columns(), table.to_frame()
        assert len({len(values) for values in columns.values()}) == 1 and len(frame)
        assert list(frame.columns) == list(columns)


def test_a_table_of_an_array_has_a_line_for_each_cell(results, trace):
    frame = results["rollout_matrix"].to_frame().set_index(["query", "key"])
    assert frame.loc[(4, 2), "shares"] == results["rollout_matrix"].shares[4, 2]
    frame = results["value_weighted"].to_frame().set_index(["head", "query", "key"])
    assert frame.loc[(3, 4, 2), "norms"] == results["value_weighted"].norms[3, 4, 2]
    frame = results["token_similarity"].to_frame().set_index(["block_a", "block_b"])
    assert frame.loc[(1, 5), "cosines"] == results["token_similarity"].cosines[1, 5]
    frame = results["mask_effect"].to_frame().set_index(["blocks", "token"])
    assert frame.loc[(6, 3), "moved"] == results["mask_effect"].moved[6, 3]


def test_every_analysis_gives_a_table(results):
    without = {name for name, each in results.items() if not hasattr(each, "to_frame")}
    assert without == {"block_parts"}  # five tensors
    heads = results["compare"].to_frame().set_index(["layer", "head"])["change"]
    assert len(heads) == 6 * 12 and heads[(3, 2)] == results["compare"].layer(3)[2]


def test_the_survey_as_a_table(results, trace):
    frame = results["survey"].to_frame().set_index(["layer", "head"])
    assert len(frame) == 6 * 12
    entropy = torch.special.entr(trace.attention(4, 7)).sum(dim=-1).mean().item()
    assert frame.loc[(4, 7), "entropy"] == pytest.approx(entropy, rel=2e-5)
    assert frame.loc[(4, 7), "first"] == pytest.approx(trace.attention(4, 7)[:, 0].mean().item())


def test_tables_of_states_keep_their_places(results, trace):
    norms = results["hidden_change"].to_frame().set_index(["blocks", "token"])["norm"]
    assert norms[(5, 2)] == pytest.approx(trace.hidden(5)[2].norm().item(), rel=2e-5)
    moved = results["hidden_change"].to_frame().set_index(["blocks", "token"])["change"]
    step = (trace.hidden(5)[2] - trace.hidden(4)[2]).norm() / trace.hidden(4)[2].norm()
    assert np.isnan(moved[(0, 2)]) and moved[(5, 2)] == pytest.approx(step.item(), rel=2e-5)
    points = results["projection"].to_frame().set_index(["blocks", "token"])
    assert points.loc[(3, 4), "component_2"] == results["projection"].points[3, 4, 1]
    lens = results["logit_lens"]
    frame = lens.to_frame().set_index(["blocks", "token", "rank"])
    assert frame.loc[(2, 6, 1), "label"] == lens.labels[2, 6, 1]
    assert frame.loc[(2, 6, 1), "probability"] == pytest.approx(lens.shares[2, 6, 1])
    assert frame.loc[(2, 6, 1), "answer"] == pytest.approx(lens.finals[2, 6])


def test_tables_of_sets_and_pooling(results):
    found, pooled = results["collection"], results["pooled"]
    rows = found.table()
    frame = rows.to_frame()
    assert frame["silhouette"].tolist() == [row.silhouette for row in rows]
    assert found.to_frame()["label"].tolist() == list(found.labels)
    near = found.neighbors("mean", item=0, k=2).to_frame()
    assert near["cosine"].tolist() == sorted(near["cosine"], reverse=True) and len(near) == 2
    cells = pooled.to_frame().set_index(["blocks", "method"])
    vectors = pooled.vectors["mean"][4], pooled.vectors["cls"][4]
    assert cells.loc[(4, "mean"), "norm"] == pytest.approx(np.linalg.norm(vectors[0]), rel=1e-6)
    cosine = vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1])
    assert cells.loc[(4, "mean"), "cosine_cls"] == pytest.approx(cosine, rel=1e-5)
    drift = results["padding_drift"]
    case = drift.to_frame().set_index(["method", "case"]).loc[("mean", "zeroed")]
    assert case["relative"] == drift.row("mean", "zeroed").relative


def test_a_series_is_read_like_a_tuple(results):
    survey = results["survey"]
    assert len(survey) == 6 and survey[-1] is survey.layers[5] and survey[:2] == survey.layers[:2]
    assert [layer is own for layer, own in zip(survey, survey.layers, strict=True)] == [True] * 6


def test_without_pandas_a_sentence_says_the_cure(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(VizEncoderError, match=r"needs pandas.*pip install pandas.*columns\(\)"):
        results["survey"].to_frame()


def test_what_holds_results_is_one_short_line(minilm, grammar, trace, found, report):
    held = minilm, minilm.model, minilm.config, minilm.card, trace, trace.sample, trace.layers[0]
    labels = dataclasses.replace(
        grammar.config.prediction_heads[0], n_out=2, labels=("x" * 999, "y")
    )
    more = grammar, grammar.config, labels, found, report, report.checks[0], minilm.read(TEXT)
    for value in (*held, *more):
        assert one_short_line(value), repr(value)
    assert "6 layers × 12 heads, d_model 384" in repr(minilm) and "22.7 M" in repr(minilm.model)
    assert repr(vz.EncoderConfig()) == "EncoderConfig(n_layers=12, n_heads=12, d_model=768)"
    assert "window=4" in repr(vz.EncoderConfig(window=4))
    assert "4 items, 2 labels, 2 poolings × 2 states" in repr(found)
    assert repr(report).startswith("<MaskReport FAIL, ") and ": maps" in repr(report)


def test_print_still_tells_all(minilm, report):
    assert "(layers): ModuleList(" in str(minilm.model) and "segment" in str(minilm.model)
    assert report.sentence in str(report) and "cause: " in str(report)
    assert all(check.title in str(report) for check in report.failed)


def test_the_report_as_a_table(report):
    frame = report.to_frame().set_index("name")
    assert len(frame) == len(report.checks) and frame.loc["gradient", "verdict"] == "FAIL"
    assert frame.loc["gradient", "evidence"] == report.check("gradient").evidence


class Tags(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data):
        self.text += data


def evil(minilm, trace, found, report):
    """The same four, every text of a user in them hostile."""
    card = dataclasses.replace(minilm.card, name=EVIL, license=EVIL, source=EVIL)
    sample = dataclasses.replace(trace.sample, tokens=(EVIL,) * trace.n_tokens)
    origin = dataclasses.replace(trace.origin, model=EVIL)
    items = tuple(dataclasses.replace(item, label=EVIL) for item in found.items)
    checks = tuple(dataclasses.replace(c, evidence=EVIL, title=EVIL) for c in report.checks)
    return (
        dataclasses.replace(minilm, card=card),
        dataclasses.replace(trace, sample=sample, origin=origin, notes=(EVIL,)),
        dataclasses.replace(found, items=items, model=EVIL),
        dataclasses.replace(report, checks=checks, sentence=EVIL),
    )


def test_html_is_escaped_small_and_asks_for_nothing(minilm, trace, found, report):
    for value in (*evil(minilm, trace, found, report), minilm.model):
        shown = value._repr_html_()
        tags = Tags(shown)
        assert set(tags.names) <= {"div", "b", "table", "tr", "th", "td"}
        assert "<img" not in shown and not re.search("https?:|url\\(|src=[^x]", shown)
        assert len(shown.encode()) <= 60_000 and one_short_line(value)
        assert (html.escape(EVIL) in shown) == (value is not minilm.model)


def test_html_says_the_sizes(minilm, trace, found, report):
    assert "6 layers × 12 heads, d_model 384" in Tags(minilm._repr_html_()).text
    assert "6 layers × 12 heads" in Tags(minilm.model._repr_html_()).text
    fresh = dataclasses.replace(trace)
    said = Tags(fresh._repr_html_()).text
    assert "6 × 12" in said and "[CLS] the bank approved the loan [SEP]" in said
    assert "Maps" not in said  # nothing is computed for a repr
    assert fresh.proof.sentence in Tags(fresh._repr_html_()).text
    said = Tags(found._repr_html_()).text
    assert "4, 20 tokens" in said and "water (2), money (2)" in said and "mean, cls" in said
    said = Tags(report._repr_html_()).text
    assert report.sentence[:200] in said and report.check("gradient").evidence[:200] in said


def test_words_in_sentences():
    said = [after_blocks(n) for n in (0, 1, 2)]
    assert said == ["after 0 blocks", "after 1 block", "after 2 blocks"]
    for text in ("سلام", "שלום", "##לום", "dog שלום", "١٢"):
        assert quoted(text) == f"“\u2068{text}\u2069”"
    for text in ("", "dog", "[CLS]", "привет", "犬", "12"):
        assert quoted(text) == f"“{text}”"
