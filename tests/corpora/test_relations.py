"""Relations over a treebank, against plain loops, and the rules that grammar was trained on."""

import numpy as np
import pytest

import viz_encoder as vz
from scripts import grammar_treebank
from tests.refusals import refused
from viz_encoder.bundled import asset
from viz_encoder.corpora import TreeSentence, read_treebank, relations
from viz_encoder.corpora.relations import with_random_weights
from viz_encoder.errors import InputError, SelectionError

CONLLU = """\
# sent_id = 1
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tembankment\t_\tNOUN\t_\t_\t3\tnsubj:pass\t_\t_
3\tcollapsed\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\t_\tADP\t_\t_\t3\tcase\t_\t_
2\tle\t_\tDET\t_\t_\t3\tdet\t_\t_
2.1\tx\t_\tX\t_\t_\t_\t_\t_\t_
3\tchat\t_\tNOUN\t_\t_\t0\troot\t_\t_
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    return path


def test_a_file_is_read_word_by_word(file):
    first, second = read_treebank(file)
    assert first.text == "The embankment collapsed." and second.text == "de le chat"
    assert [first.text[start:stop] for start, stop in first.spans] == [
        *("The", "embankment", "collapsed", "."),
    ]
    assert first.arcs == ((0, 1, "det"), (1, 2, "nsubj"), (3, 2, "punct"))
    assert second.arcs == ((0, 2, "case"), (1, 2, "det"))


def test_what_is_not_conllu_is_refused(file, grammar):
    for content, message in (
        ("1\tThe\n", "Line 1 of trees.conllu has 2 columns"),
        ("1\tThe\t_\t_\t_\t_\t7\tdet\t_\t_\n", "up to 1"),
        ("1\tThe\t_\t_\t_\t_\tx\tdet\t_\t_\n\n", "before line 2"),
    ):
        file.write_text(content, encoding="utf-8")
        refused(InputError, message, relations, grammar, file)


def by_loops(encoder, sentences, direction):
    """Hits by relation, layer and head, with words' maps in float64."""
    hits, counts = {}, {}
    for sentence in sentences:
        trace = vz.capture(encoder, sentence.text)
        words = [
            [
                at
                for at, (a, b) in enumerate(trace.sample.spans)
                if not trace.sample.special[at] and a < stop and start < b
            ]
            for start, stop in sentence.spans
        ]
        for word, head, name in sentence.arcs:
            query, key = (word, head) if direction == "to_head" else (head, word)
            counts[name] = counts.get(name, 0) + 1
            for layer, number in np.ndindex(trace.n_layers, trace.n_heads):
                weights = trace.attention(layer, number).numpy().astype(np.float64)
                given = [
                    np.mean([weights[q, tokens].sum() for q in words[query]]) if at != query else -1
                    for at, tokens in enumerate(words)
                ]
                found = hits.setdefault(name, np.zeros((trace.n_layers, trace.n_heads)))
                found[layer, number] += int(np.argmax(given)) == key
    return {name: hits[name] / counts[name] for name in hits}


@pytest.mark.parametrize("direction", ["to_head", "to_dependent"])
def test_accuracy_is_that_of_loops_over_words(minilm, file, direction):
    file.write_text(CONLLU + "\n" + CONLLU.replace("embankment", "woodpecker"), encoding="utf-8")
    found = relations(minilm, file, direction=direction, least=1, seed=4)
    sentences = list(read_treebank(file))
    for array, encoder in (
        (found.accuracy, minilm),
        (found.random, with_random_weights(minilm, 4)),
    ):
        wanted = by_loops(encoder, sentences, direction)
        for at, name in enumerate(found.relations):
            np.testing.assert_array_equal(array[at], wanted[name], err_msg=name)
    assert found.relations[0] == "det" and found.n_arcs[0] == 4
    sign = 1 if direction == "to_head" else -1
    columns = dict(
        zip(found.relations, zip(found.offsets, found.offset_accuracy, strict=True), strict=True)
    )
    assert columns["nsubj"] == (sign, 1.0) and columns["det"] == (sign, 1.0)
    assert columns["punct"] == (-sign, 1.0)


@pytest.fixture(scope="module")
def of_grammar(grammar):
    return relations(grammar, "grammar")


def test_heads_of_grammar_follow_its_rules_beside_offsets_and_random_weights(of_grammar):
    frame = of_grammar.to_frame().set_index("relation")
    for rule, head, least, offset, most in (
        ("agreement", (3, 0), 0.93, -1, 0.25),
        ("reference", (2, 3), 0.99, -2, 0.5),
        ("copying", (1, 2), 0.98, 4, 0.15),
    ):
        row = frame.loc[rule]
        assert of_grammar.best(rule) == head == (row["layer"], row["head"])
        assert row["accuracy"] >= least and row["random_accuracy"] < 0.55
        assert row["offset"] == offset and row["offset_accuracy"] <= most
        assert row["arcs"] == grammar_treebank.N_SENTENCES
    assert of_grammar.n_left_out == 0


def test_the_built_in_treebank_is_what_the_script_writes():
    written = asset("examples/grammar.conllu").read_text(encoding="utf-8")
    assert written == "\n".join(grammar_treebank.lines()) + "\n"


def test_what_cannot_be_measured_is_refused(grammar, minilm, file):
    refused(SelectionError, "No relation has 10 arcs", relations, minilm, file, least=10)
    refused(SelectionError, "to_head, to_dependent", relations, minilm, file, direction="up")
    refused(InputError, "no sentence", relations, minilm, [])
    refused(InputError, "tokenizer", lambda: relations(vz.load("scene", device="cpu"), "grammar"))
    refused(InputError, "cannot be read", relations, minilm, "nowhere.conllu")
    found = relations(minilm, file, least=1)
    refused(SelectionError, "no relation 'obj'", found.best, "obj")


def test_words_that_were_cut_off_are_counted(grammar):
    far = " ".join(["old"] * 200)
    spans = tuple((4 * at, 4 * at + 3) for at in range(200))
    heads = (None, 0, *[None] * 197, 0)
    sentence = TreeSentence(far, spans, heads, ("x",) * 200)
    found = relations(grammar, [sentence], least=1)
    assert found.n_arcs == (1,) and found.n_left_out == 1
