"""Pairs and pictures on the Corpus tab: the tables of vz.corpus, their bounds, and their names."""

import io
import json
import zipfile
from dataclasses import replace

import httpx
import pytest

import viz_encoder as vz
from tests.ui.test_corpus import TEXTS, go_on, measured, opened, painted, runner_of, same
from viz_encoder.bundled import asset
from viz_encoder.corpora.corpus import MEASURES
from viz_encoder.corpora.table_files import from_data
from viz_encoder.errors import InputError, TooLong
from viz_encoder.ui.state.limits import LOCAL, PUBLIC
from viz_encoder.ui.state.source import MAX_CHARACTERS
from viz_encoder.ui.tabs.corpus import results

opened = opened  # a fixture
NAMES = ("Zwei Dämme.png", "a.png")
PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))


@pytest.fixture(scope="module")
def files():
    return [asset(f"examples/{name}.png").read_bytes() for name in ("wide", "digit")]


@pytest.fixture(scope="module")
def wanted(scene, tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("pictures")
    paths = [folder / f"{number}.png" for number in range(2)]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    return vz.corpus(scene, paths)


def framed(contents, names=NAMES) -> bytes:
    about = {"names": list(names), "sizes": [len(each) for each in contents]}
    return json.dumps(about).encode() + b"\n" + b"".join(contents)


def packed(contents, names=NAMES) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in zip(names, contents, strict=True):
            written.writestr(name, content)
    return file.getvalue()


def pictures(site, content: bytes, model: str = "scene") -> dict:
    given = {"params": {"model": model}, "content": content, "timeout": 120}
    return json.loads(httpx.post(f"{site}viz/corpus/pictures", **given).text.splitlines()[-1])


def csv_of(pairs) -> bytes:
    return ("id,one,two\n" + "".join(f'1,"{a}","{b}"\n' for a, b in pairs)).encode()


def test_two_columns_are_pairs(site, minilm):
    pairs = vz.corpus(minilm, PAIRS, measures=(*MEASURES, "share"), sample=1)
    found = measured(site, csv_of(PAIRS), name="a.csv", column="one", second="two")["result"]
    same(from_data(found), pairs)
    assert found["n_texts"]["a_to_b"] == 3
    assert {len(one["texts"]) for one in found["examples"]} == {2}


def test_pairs_that_are_none_are_plain_sentences(site, minilm):
    asked = {"name": "a.csv", "column": "one", "second": "three"}
    message = measured(site, csv_of(PAIRS), **asked)["message"]
    assert "names 'id', 'one', 'two', and no column 'three'" in message
    asked = {"name": "a.txt", "second": "two"}
    assert "A .txt file has no columns" in measured(site, b"a\n", **asked)["message"]
    few = replace(PUBLIC, set_tokens=30)
    with pytest.raises(TooLong, match=r"over 30 tokens after 2 of 3 texts"):
        results.over(runner_of(minilm, few), PAIRS, "", "", go_on)
    long = [("a", "b" * (MAX_CHARACTERS + 1))]
    content = csv_of(long)
    with pytest.raises(InputError, match=rf"None of 1 items.*{MAX_CHARACTERS + 1:,} characters"):
        results.measured(runner_of(minilm), "a.csv", content, "", "one", go_on, "two")


def test_several_pictures_give_their_table_and_their_names(site, files, wanted):
    found = pictures(site, framed(files))["result"]
    same(from_data(found), wanted)
    assert found["about"]["source"] == "2 uploaded pictures" and found["about"]["kind"] == "image"
    assert found["names"] == {"0": NAMES[0], "1": NAMES[1]}
    assert found["says"]["first"].startswith("Over 2 pictures, head ")
    one = pictures(site, framed(files[:1], NAMES[:1]))["result"]
    assert one["about"]["source"] == NAMES[0]


def test_a_zip_is_its_pictures_in_the_order_of_their_names(site, files, wanted):
    names = ("digits/1.PNG", "digits/2.png", "__MACOSX/digits/._1.png", "notes.txt")
    content = packed([*files, b"", b"hello"][::-1], names[::-1])
    found = measured(site, content, name="mine.zip", model="scene")["result"]
    same(from_data(found), wanted)
    assert found["names"] == {"0": "1.PNG", "1": "2.png"}
    assert found["about"]["source"] == "mine.zip"


def test_a_picture_that_fails_is_listed_and_the_others_counted(site, files):
    found = pictures(site, framed([files[0], b"nothing", files[1]], ("a.png", "b.png", "c.png")))
    assert found["result"]["counts"][::2] == [2, 1]
    assert found["result"]["failures"][0][0] == 1
    assert "/tmp" not in json.dumps(found)


def test_what_is_no_set_of_pictures_is_a_plain_sentence(site, files):
    for content, says in (
        (framed(files, ("a.png", "b.csv")), "'b.csv' is not a picture; choose one file of texts"),
        (framed(files)[:-1], "not a list of pictures"),
        (b"{}\n", "not a list of pictures"),
        (b"\x00", "Send a JSON object"),
        (framed([b""] * 2_001, ["a.png"] * 2_001), "takes up to 2,000 pictures, and these are 2,0"),
    ):
        assert says in pictures(site, content)["message"]
    assert "reads texts, not images" in pictures(site, framed(files), "grammar")["message"]
    for content, says in (
        (b"PK", "mine.zip cannot be unpacked"),
        (packed([b"a"], ["a.txt"]), "mine.zip holds no pictures"),
        (packed(files)[:-40], "mine.zip cannot be unpacked"),
    ):
        assert says in measured(site, content, name="mine.zip", model="scene")["message"]


def test_strangers_send_few_patches_and_nothing_packed(scene, files):
    few = runner_of(scene, replace(PUBLIC, set_tokens=100))
    with pytest.raises(TooLong, match="over 100 patches after"):
        results.measured_pictures(few, framed(files), "", go_on)
    with pytest.raises(InputError, match=r"opens no \.zip files"):
        results.measured(runner_of(scene, PUBLIC), "a.zip", packed(files), "", "", go_on)
    small = runner_of(scene, replace(LOCAL, upload_bytes=len(files[0])))
    with pytest.raises(TooLong, match=r"over .* bytes, the most allowed"):
        results.measured(small, "a.zip", packed(files), "", "", go_on)


@pytest.mark.slow
def test_pictures_are_measured_and_told_by_their_names(opened, files, wanted):
    page = opened.page
    sent = zip(NAMES, files, strict=True)
    page.set_input_files(
        "#viz-corpus-file",
        [{"name": name, "mimeType": "image/png", "buffer": content} for name, content in sent],
    )
    painted(page, "2 uploaded pictures")
    assert page.inner_text(".viz-corpus-finding").startswith("Over 2 pictures, head ")
    names = page.eval_on_selector_all(".viz-corpus-text", "all => all.map((p) => p.textContent)")
    layer, head = wanted.ranked("previous", 1)[0]
    assert names == [NAMES[one.item] for one in wanted.of_head(layer, head)]
    assert not page.query_selector_all(".viz-corpus-examples button")
    over = page.inner_text(".viz-corpus-over")
    assert (
        over.startswith("Measured over 2 uploaded pictures (2 pictures, scene)")
        and "over pictures" in over
    )
