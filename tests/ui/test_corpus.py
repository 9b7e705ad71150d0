"""The Corpus tab: its numbers are vz.corpus's and numpy's; files, faults, cancel and link."""

import io
import json
from dataclasses import replace
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.corpora import HeadTable, relations
from viz_encoder.corpora.corpus import MEASURES
from viz_encoder.corpora.table_files import as_data, from_data
from viz_encoder.errors import InputError, TooLong, VizEncoderError
from viz_encoder.ui.state.limits import LOCAL, PUBLIC
from viz_encoder.ui.tabs.corpus import results, sources

TEXTS = [
    "The old dog slept near the warm stove.",
    "Who left the window open?",
    "She sold her car, her boat and her house.",
]


@pytest.fixture(scope="module")
def table(minilm) -> HeadTable:
    return vz.corpus(minilm, TEXTS, measures=(*MEASURES, "share"), sample=1)


def measured(site, content: bytes, **asked) -> dict:
    """The last line of the answer: the result, or what is wrong."""
    sent = {"params": {"model": "all-MiniLM-L6-v2", **asked}, "content": content, "timeout": 120}
    return json.loads(httpx.post(f"{site}viz/corpus/measured", **sent).text.splitlines()[-1])


def same(found: HeadTable, wanted: HeadTable, within: float = 1e-6) -> None:
    assert list(found.statistics) == list(wanted.statistics)
    for name, spread in wanted.statistics.items():
        for part in ("mean", "sd", "least", "most"):
            one, other = getattr(found[name], part), getattr(spread, part)
            np.testing.assert_allclose(one, other, rtol=0, atol=within, err_msg=f"{name} {part}")


def runner_of(encoder, limits=LOCAL) -> SimpleNamespace:
    models = SimpleNamespace(get=lambda name, kind, tell: encoder)
    return SimpleNamespace(models=models, limits=limits)


def go_on(share: float) -> None:
    """Never stop."""


@pytest.mark.slow
def test_the_shipped_table_is_what_its_sentences_give(minilm):
    shipped = HeadTable.load(asset(sources.TABLE))
    made = results.over(runner_of(minilm), sources.example_texts(), "", "", go_on)
    same(shipped, made, 1e-5)  # another machine may round otherwise
    assert shipped.about.digest == made.about.digest
    assert shipped.n_texts == made.n_texts == len(sources.example_texts()) == 240
    scores = [np.array([one.score for one in each.examples]) for each in (shipped, made)]
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-5)


def test_pasted_lines_give_what_vz_corpus_gives(site, table):
    found = from_data(measured(site, "\n".join(TEXTS).encode())["result"])
    same(found, table)
    assert found.about.source == sources.PASTED


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "tsv"])
def test_a_file_of_each_kind_is_read(site, table, kind):
    pd = pytest.importorskip("pandas")
    frame, file = pd.DataFrame({"id": [1, 2, 3], "said": TEXTS}), io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(file)
    elif kind == "jsonl":
        frame.to_json(file, orient="records", lines=True)
    else:
        frame.to_csv(file, index=False, sep="," if kind == "csv" else "\t")
    found = measured(site, file.getvalue(), name=f"mine.{kind}", column="said")["result"]
    same(from_data(found), table)
    assert found["about"]["source"] == f"mine.{kind}"


def test_the_sentence_names_the_leading_head(table):
    (layer, head), spread = table.ranked("previous", 1)[0], table["previous"]
    assert results.said(table, "previous").startswith(
        f"Over 3 texts, head {layer}.{head} looks at the previous token more than any other head: "
        f"{spread.mean[layer, head]:.4f} ± {spread.sd[layer, head]:.4f} of its attention."
    )
    assert spread.mean[layer, head] == spread.mean.max()
    (layer, head), spread = table.ranked("entropy", 1)[0], table["entropy"]
    assert results.said(table, "entropy") == (
        f"Over 3 texts, head {layer}.{head} is highest in entropy: "
        f"{spread.mean[layer, head]:.2f} ± {spread.sd[layer, head]:.2f} nats."
    )
    assert results.said(table, "a_to_b").startswith("None of these texts")
    assert results.example()["says"]["share"].startswith("Over 50 of the 240 texts, head ")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("mine.csv", b"id,words\n1,yes\n", "names 'id', 'words', and no column 'text'. Type the"),
        ("mine.txt", b"\xff\xfe\x00a", "not UTF-8"),
        ("mine.pdf", b"%PDF", "not a file of texts; choose one of .txt"),
        ("mine.txt", b"\n \n", "empty"),
        ("mine.json", b"[1, 2]", "mine.json holds no head table"),
        ("mine.json", b'{"format": 1}', "mine.json holds no head table"),
        ("mine.npz", b"PK", "mine.npz holds no head table"),
        ("mine.parquet", b"PAR1", "mine.parquet is not a Parquet file"),
        ("mine.txt", b"a\n" * 2_001, "up to 2,000 texts. The file has 2,001. Use fewer, or run"),
    ],
)
def test_a_bad_file_is_a_plain_sentence(site, name, content, says):
    message = measured(site, content, name=name)["message"]
    assert says in message and "/tmp" not in message and "--column" not in message


def test_a_text_that_fails_is_listed_with_its_reason(minilm):
    lines = b'{"text": "A dog ran."}\n{"other": 1}\n'
    found = results.measured(runner_of(minilm), "a.jsonl", lines, "", "text", go_on)
    assert found["counts"][2] == 1 and found["failures"] == [[1, "It has no 'text'."]]


def test_a_table_is_a_file_and_comes_back_the_same(site, table):
    sent = json.dumps(as_data(table))
    for kind in (".json", ".npz", ".parquet"):
        answer = httpx.post(f"{site}viz/corpus/file", params={"kind": kind}, content=sent)
        assert answer.status_code == 200, answer.text
        again = from_data(measured(site, answer.content, name=f"heads{kind}")["result"])
        same(again, table, 0)
        assert [one.texts for one in again.examples] == [one.texts for one in table.examples]
    lines = httpx.post(f"{site}viz/corpus/file", params={"kind": ".csv"}, content=sent).text
    head, first, *_ = lines.splitlines()
    row = dict(zip(head.split(","), first.split(","), strict=True))
    assert float(row["previous"]) == table["previous"].mean[0, 0]


def test_what_is_no_table_makes_no_file(site, table):
    wrong = as_data(table)
    wrong["examples"][0]["layer"] = 99
    for sent in ("{}", "[]", json.dumps(wrong)):
        answer = httpx.post(f"{site}viz/corpus/file", params={"kind": ".csv"}, content=sent)
        assert answer.status_code == 404
        assert "Send a JSON object" in answer.text or "not a head table" in answer.text


def test_the_endpoint_gives_a_table_that_load_reads(client, table, tmp_path):
    found = client.predict("\n".join(TEXTS), api_name="/corpus")
    path = tmp_path / "heads.json"
    path.write_text(json.dumps(found))
    same(HeadTable.load(path), table)
    assert client.predict(api_name="/corpus_example")["counts"][0] == 240


def test_strangers_have_a_budget_and_send_nothing_packed(minilm, table, tmp_path):
    few = replace(PUBLIC, set_tokens=15)
    with pytest.raises(TooLong, match="over 15 tokens after 2 of 3 texts"):
        results.over(runner_of(minilm, few), TEXTS, "", "", go_on)
    for ending in (".parquet", ".npz"):
        with pytest.raises(InputError, match=f"opens no {ending} files"):
            results.measured(runner_of(minilm, PUBLIC), f"a{ending}", b"", "", "text", go_on)
    table.save(tmp_path / "a.json")
    small = replace(PUBLIC, table_bytes=1_000)
    content = (tmp_path / "a.json").read_bytes()
    with pytest.raises(TooLong, match="opens up to 1,000"):
        results.measured(runner_of(minilm, small), "a.json", content, "", "text", go_on)


def test_work_tells_its_way_from_counting_on_and_stops_where_it_is_told_to(minilm):
    class Enough(VizEncoderError):
        """As a deadline, or a page that was closed."""

    told = []

    def tell(share: float) -> None:
        told.append(share)
        if share > 0.2:
            raise Enough

    many = [f"{text} {n}" for n in range(400) for text in TEXTS]
    with pytest.raises(Enough):
        results.over(runner_of(minilm, replace(LOCAL, set_tokens=10**6)), many, "", "", tell)
    assert max(told) < 0.9 and told == sorted(told)  # it never goes back


@pytest.fixture
def opened(tab_anew):
    """The tab with the shipped table."""
    return tab_anew("corpus")


def painted(page, words: str) -> None:
    page.wait_for_selector(f".viz-corpus[data-painted*='{words}']", timeout=120_000)


def values_of(page) -> np.ndarray:
    cells = page.eval_on_selector_all(".viz-corpus-cell", "all => all.map((c) => c.dataset.value)")
    return np.array([float(value or "nan") for value in cells]).reshape(6, 12)


def test_it_opens_on_a_finding_and_its_examples(opened):
    page, shipped = opened.page, HeadTable.load(asset(sources.TABLE))
    assert page.inner_text(".viz-corpus-finding") == results.said(shipped, "previous")
    np.testing.assert_array_equal(values_of(page), shipped["previous"].mean)
    assert page.text_content(".viz-corpus-cell[data-head='0.2'] small") == "prev"
    examples = shipped.of_head(*shipped.ranked("previous", 1)[0])
    page.click("text=5 more")
    shown = page.eval_on_selector_all(".viz-corpus-text", "all => all.map((p) => p.textContent)")
    assert shown == [one.texts[0] for one in examples] and len(shown) == 10
    marks = page.eval_on_selector_all(
        ".viz-corpus-examples li:first-child mark",
        "all => all.map((m) => [m.className, m.textContent])",
    )
    first = examples[0]
    for role in ("query", "key"):
        start, stop = getattr(first, f"{role}_span")
        assert [f"viz-corpus-{role}", first.texts[0][start:stop]] in marks


def test_a_bad_file_leaves_what_is_shown_and_is_said(opened, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,words\n1,yes\n")
    page = opened.page
    before = page.inner_text(".viz-corpus-finding")
    page.set_input_files("#viz-corpus-file", str(path))
    said = page.locator(".viz-corpus .viz-work [role=status]")
    said.filter(has_text="no column 'text'").wait_for()
    assert page.inner_text(".viz-corpus-finding") == before


def test_cancel_leaves_what_is_shown_and_another_table_can_be_subtracted(opened):
    page = opened.page
    before = page.inner_text(".viz-corpus-finding")
    # So long that it is still under way when Cancel is clicked; a file, for a field that holds as
    # much takes the browser half a minute to lay out where the machine is busy.
    long = "\n".join(f"{' '.join(TEXTS * 4)} {n}" for n in range(2_000)).encode()
    file = {"name": "long.txt", "mimeType": "text/plain", "buffer": long}
    page.set_input_files("#viz-corpus-file", file)
    page.click(".viz-corpus .viz-work button:visible")
    assert page.inner_text(".viz-corpus .viz-work [role=status]").startswith("Canceled")
    assert page.inner_text(".viz-corpus-finding") == before
    page.fill("#viz-corpus-texts", "\n".join(TEXTS))
    page.click("#viz-corpus-measure")
    painted(page, sources.PASTED)
    assert page.inner_text(".viz-corpus-finding:focus").startswith("Over 3 texts")
    now, shipped = values_of(page), HeadTable.load(asset(sources.TABLE))
    other = page.locator("#viz-corpus-other option", has_text="the example sentences")
    page.select_option("#viz-corpus-other", other.get_attribute("value"))  # and subtracted
    page.wait_for_selector(".viz-corpus-changes tbody tr")
    change = now - shipped["previous"].mean
    np.testing.assert_allclose(values_of(page), change, atol=1e-12)
    heads = page.eval_on_selector_all(
        ".viz-corpus-changes tbody tr", "all => all.map((row) => row.dataset.head)"
    )
    order = np.argsort(-np.abs(change), axis=None, kind="stable")[:10]
    assert heads == [f"{at // 12}.{at % 12}" for at in order]
    assert "minus the example sentences" in page.inner_text(".viz-corpus-over")


def test_an_example_runs_in_the_other_tabs_with_its_pair_chosen(opened):
    page = opened.page
    page.wait_for_function("document.querySelector('#viz-run') !== null")
    page.click(".viz-corpus-cell[data-head='2.11']")
    painted(page, ":2.11:")
    first = HeadTable.load(asset(sources.TABLE)).of_head(2, 11)[0]
    # A run that was asked for before may come first, and lead elsewhere.
    page.eval_on_selector(
        ".viz-corpus-examples li:first-child button",
        "button => (button.click(), vizTab.selection.lead({ layer: 0, head: 0 }))",
    )
    page.wait_for_function(
        "(text) => new URLSearchParams(location.search).get('a') === text", arg=first.texts[0]
    )
    opened.map_painted("2.11")
    chosen = opened.imported(
        "core/app_state.js",
        "[m.current.run.link.a, m.current.selection.query, m.current.selection.key]",
    )
    assert chosen == [first.texts[0], first.query, first.key]


@pytest.mark.slow
def test_the_link_holds_statistic_and_head(opened, visit):
    page = opened.page
    page.select_option("#viz-corpus-statistic", "entropy")
    painted(page, "entropy:")
    page.click(".viz-corpus-cell[data-head='3.4']")
    painted(page, "entropy:3.4:")
    page.wait_for_function("location.search.includes('corpus.head=3.4')")
    assert "corpus.stat=entropy" in page.url
    linked = dict(httpx.URL(page.url).params)
    again = visit(**linked)
    again.page.wait_for_selector(".viz-corpus[data-painted*='entropy:3.4:']", timeout=60_000)


@pytest.fixture(scope="module")
def trees(grammar):
    return relations(grammar, "grammar")


def test_a_bad_treebank_is_a_plain_sentence(site):
    few = measured(site, b"1\tkeys\n", name="mine.conllu", model="grammar")["message"]
    assert few == "Line 1 of mine.conllu has 2 columns; CoNLL-U has 10, divided by tabs."
    line = b"1\tkeys\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    many = measured(site, line * 2_001, name="mine.conllu", model="grammar")["message"]
    assert many.startswith("The page takes up to 2,000 sentences. Use fewer, or run viz-encoder")


@pytest.mark.slow
def test_the_example_treebank_is_one_click_away(opened, trees):
    page = opened.page
    assert not page.is_visible(".viz-corpus-relations")
    page.click("text=Example treebank")
    painted(page, sources.TREEBANK)
    lines = page.eval_on_selector_all(
        ".viz-corpus-relations tbody tr",
        "all => all.map((row) => [...row.cells].map((c) => c.innerText))",
    )
    columns = trees.columns()
    best = np.maximum(columns["offset_accuracy"], columns["random_accuracy"])
    order = np.argsort(-(np.array(columns["accuracy"]) - best), kind="stable")
    assert lines == [
        [
            columns["relation"][at],
            f"{columns['arcs'][at]:,}",
            f"{columns['layer'][at]}.{columns['head'][at]}",
            f"{columns['accuracy'][at]:.0%}",
            f"{columns['offset_accuracy'][at]:.0%} ({columns['offset'][at]:+d})".replace("-", "−"),
            f"{columns['random_accuracy'][at]:.0%}",
        ]
        for at in order
    ]
    layer, head = trees.best("agreement")
    page.click("[data-relation='agreement'] button")
    painted(page, f":{layer}.{head}:")
    pressed = page.locator(".viz-corpus-cell[aria-pressed='true']")
    assert pressed.get_attribute("data-head") == f"{layer}.{head}"


def test_a_treebank_without_arcs_says_why_there_are_no_relations(opened, tmp_path):
    page = opened.page
    lines = [f"{n}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for n, word in enumerate(["keys", "are"], 1)]
    (tmp_path / "flat.conllu").write_text("".join(lines) + "\n", encoding="utf-8")
    page.set_input_files("#viz-corpus-file", str(tmp_path / "flat.conllu"))
    painted(page, "flat.conllu")
    said = page.inner_text(".viz-corpus-relations .viz-corpus-said")
    assert said.startswith("In 1 sentence, no word depends on another; give a treebank")
    assert not page.is_visible(".viz-corpus-relations .viz-corpus-scroll")
