r"""A padding token that was typed is padding, wherever texts are read; \[PAD] is a word."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import viz_encoder as vz
from viz_encoder.analyses import padding_drift, predictions
from viz_encoder.analyses.item_weights import item_weights
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.effects import changed, tokens
from viz_encoder.errors import InputError
from viz_encoder.inputs import TextReader

TEXT = "I love deep learning"
PADDED = "I love deep learning [PAD] [PAD]"
KEYS = "the keys to the cabinet [MASK] old"


@pytest.fixture(scope="module")
def reference():
    """transformers' own model and tokenizer."""
    folder = BUILTIN["all-MiniLM-L6-v2"].folder()
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def theirs(reference, text, behind=0):
    """Its hidden states and maps of the text's ids, with so many more of padding, masked by id."""
    model, tokenizer = reference
    ids = torch.tensor([[*tokenizer(text)["input_ids"], *[0] * behind]])
    with torch.no_grad():
        out = model(ids, (ids != 0).long(), output_hidden_states=True, output_attentions=True)
    return ids, out


@pytest.mark.parametrize(
    ("typed", "text", "behind"),
    [
        (PADDED, TEXT, 2),
        ("I love deep learning[PAD]  [PAD]\n", TEXT, 2),
        ("[CLS] I love deep learning [SEP] [PAD] [PAD]", TEXT, 2),
        ("I love [PAD] deep learning", "I love [PAD] deep learning", 0),
        ("[PAD] I love deep learning", "[PAD] I love deep learning", 0),
        ("[PAD] [CLS] I love deep learning [SEP]", "[PAD] I love deep learning", 0),
        ("I [PAD] love [PAD]", "I [PAD] love", 1),
    ],
)
def test_it_is_masked_as_the_model_s_own_batch_would(minilm, reference, typed, text, behind):
    trace, (ids, out) = vz.capture(minilm, typed), theirs(reference, text, behind)
    real = ids[0] != 0
    assert minilm.read(typed).values.tolist() == ids.tolist()
    assert trace.valid.tolist() == real.tolist() and not real.all()
    for layer in range(6):
        maps = trace.attention(layer)[:, real]
        assert not maps[:, :, ~real].any()
        assert (maps - out.attentions[layer][0][:, real]).abs().max() <= 2e-5
        state, wanted = trace.hidden(layer + 1)[real], out.hidden_states[layer + 1][0][real]
        assert (state - wanted).abs().max() <= 2e-5 * wanted.abs().max()


def test_at_the_end_it_changes_nothing(minilm):
    plain, padded = vz.capture(minilm, TEXT), vz.capture(minilm, PADDED)
    n = plain.n_tokens
    assert padded.tokens == (*plain.tokens, "[PAD]", "[PAD]")
    assert (padded.output[:n] - plain.output).abs().max() <= 2e-5
    for method in ("mean", "cls", "max", "last"):
        one, two = (vz.pool(each.output, each.valid, method) for each in (plain, padded))
        assert np.abs(np.asarray(one) - np.asarray(two)).max() <= 2e-5
    sample = padded.sample
    assert sample.special[n:] == (True, True) and sample.words[n:] == (None, None)
    assert sample.texts == (PADDED,) and sample.spans[1:5] == plain.sample.spans[1:5]


def test_a_note_says_so_and_how_it_is_read_as_a_word(minilm):
    (note,) = vz.capture(minilm, PADDED).notes
    assert note.startswith(
        "2 of 8 tokens are padding, because [PAD] was typed; at the end of the text"
    )
    assert note.endswith(r"No token attends to padding; to have it read as a word, write \[PAD].")
    (note,) = vz.capture(minilm, "one [PAD] two").notes
    assert note.startswith("1 of 5 tokens is padding, because [PAD] was typed. No token")


@pytest.mark.parametrize(
    ("typed", "ids_of"),
    [
        (r"I love deep learning \[PAD] \[PAD]", PADDED),
        (r"\[PAD]", "[PAD]"),
        (r"a \\[PAD]", r"a \[PAD]"),
        ((r"one \[PAD] two", "three"), ("one [PAD] two", "three")),
    ],
)
def test_escaped_it_is_a_word(minilm, typed, ids_of):
    trace = vz.capture(minilm, typed)
    texts = (typed,) if isinstance(typed, str) else typed
    pair = (ids_of,) if isinstance(ids_of, str) else ids_of
    assert minilm.read(typed).values[0].tolist() == minilm.reader.tokenizer.encode(*pair).ids
    assert trace.valid.all() and trace.sample.texts == texts
    at = trace.tokens.index("[PAD]")
    start, stop = trace.sample.spans[at]
    assert texts[trace.sample.segment_of(at)][start:stop] == "[PAD]"
    assert float(trace.attention(0)[:, :, at].min()) > 0
    assert any("as an ordinary token" in note for note in trace.notes)


def test_the_spans_around_it_are_those_of_what_was_typed(minilm):
    typed = r"one \[PAD] two [PAD] three \[PAD]four [PAD]"
    sample = minilm.read(typed).samples[0]
    words = [typed[slice(*span)] for span in sample.spans if span != (0, 0)]
    assert words == ["one", "[PAD]", "two", "three", "[PAD]", "four"]
    assert minilm.read(sample.texts[0]).samples[0].spans == sample.spans


def test_pairs_and_batches(minilm, reference):
    one, two = vz.capture(minilm, [("one [PAD]", "two [PAD]"), "three"])
    assert one.tokens == ("[CLS]", "one", "[PAD]", "[SEP]", "two", "[SEP]", "[PAD]")
    assert one.valid.tolist() == [True, True, False, True, True, True, False]
    assert two.valid.tolist() == [True] * 3 + [False] * 4
    alone = vz.capture(minilm, "three")
    assert (two.output[:3] - alone.output).abs().max() <= 2e-5
    pair = vz.capture(minilm, ("one", "two [PAD] [PAD]"))
    assert pair.tokens[-4:] == ("two", "[SEP]", "[PAD]", "[PAD]")
    assert (pair.output[:5] - vz.capture(minilm, ("one", "two")).output).abs().max() <= 2e-5


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("[PAD]", "The text"),
        (" [PAD][PAD] ", "The text"),
        (("a", "[PAD]"), "Text B"),
        (("[PAD]", "a"), "Text A"),
        (["a", "[PAD]"], "The text of input 2"),
    ],
)
def test_a_text_of_padding_alone(minilm, source, name):
    with pytest.raises(InputError, match=rf"^{name} is nothing but padding.* write \\\[PAD\] to"):
        vz.capture(minilm, source)


def test_what_does_not_fit_is_left_out(minilm):
    sample = minilm.read("word " * 508 + "[PAD] " * 9).samples[0]
    assert sample.tokens[-4:] == ("word", "[SEP]", "[PAD]", "[PAD]") and len(sample.tokens) == 512
    assert sample.notes[-1] == "7 [PAD] at the end did not fit, and were left out."
    sample = minilm.read("word " * 600 + "[PAD]").samples[0]
    assert "[PAD]" not in sample.tokens
    assert any("the last 90 were cut" in note for note in sample.notes)


def reader(pad="<pad>", **more):
    """Words, with RoBERTa's special tokens around them."""
    names = ["<s>", "<pad>", "</s>", "<unk>", "a", "b"]
    tokenizer = Tokenizer(models.WordLevel({name: at for at, name in enumerate(names)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(names[:3])
    ends = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, ends)
    return TextReader(tokenizer, 12, names.index(pad), **more)


def test_the_padding_of_another_tokenizer():
    found = reader().read("a <pad> b <pad>")
    assert found.values.tolist() == [[0, 4, 1, 5, 2, 1]]
    assert found.valid.tolist() == [[True, True, False, True, True, False]]
    assert r"write \<pad>." in found.samples[0].notes[-1]
    assert reader().read(r"a \<pad>").valid.all()
    assert reader().read("a [PAD]").samples[0].tokens == ("<s>", "a", "<unk>", "</s>")


def test_positions_that_are_counted_past_padding_allow_it_at_the_end_alone():
    strict = reader(refuses_padding=True)
    assert strict.read("a b <pad> <pad>").values.tolist() == [[0, 4, 5, 2, 1, 1]]
    for text in ("a <pad> b", "<pad> a", r"a \<pad>"):
        with pytest.raises(InputError, match="which has no position; type it at the end"):
            strict.read(text)


def test_what_ends_every_text_or_is_read_like_any_token_stays():
    ends = reader(pad="</s>").read("a </s> b")
    assert ends.valid.all() and ends.values.tolist() == [[0, 4, 2, 5, 2]]
    whole = reader(padded_to=6).read("a <pad> b")
    assert whole.valid.all() and whole.values.tolist() == [[0, 4, 1, 5, 2, 1]]
    plain = reader(pad="a").read("a b a")  # a word that happens to have the number of padding
    assert plain.valid.all()


def test_effects_take_it_as_padding(grammar, minilm):
    plain, padded = vz.effect(grammar, KEYS), vz.effect(grammar, f"{KEYS} [PAD] [PAD]")
    assert np.abs(plain.values - padded.values).max() <= 2e-5 * np.abs(plain.values).max()
    one, two = tokens(grammar, KEYS), tokens(grammar, f"{KEYS} [PAD]")
    assert np.isnan(two.values[-1]) and np.allclose(
        one.values, two.values[:-1], atol=2e-4, equal_nan=True
    )
    middle = "the keys [PAD] to the cabinet [MASK] old"
    ids = grammar.read(middle).values
    found, wanted = vz.effect(grammar, middle), vz.effect(grammar, ids)
    assert np.array_equal(found.values, wanted.values)
    guess = predictions(grammar, vz.capture(grammar, f"{KEYS} [PAD]"), n=1)[0]
    assert guess.labels == predictions(grammar, vz.capture(grammar, KEYS), n=1)[0].labels
    for padding in (f"{KEYS} [PAD]", TEXT):
        drift = padding_drift(minilm, padding, n_padding=3)
        assert drift.row("mean", "masked").relative <= 2e-6


def test_words_are_replaced_around_it(grammar):
    text = "the keys [PAD] to the cabinet [MASK] old [PAD]"
    trace = changed(grammar, text, ["r2:key"])
    wanted = vz.capture(grammar, text.replace("keys", "key"))
    assert trace.tokens == wanted.tokens and torch.equal(trace.output, wanted.output)
    assert trace.valid.tolist() == wanted.valid.tolist() and not trace.valid.all()
    with pytest.raises(vz.VizEncoderError, match=r"Token 3 “\[PAD\]” is not a word of the text"):
        changed(grammar, text, ["m3"])
    swapped = changed(grammar, KEYS, ["r2:[PAD]"])
    assert swapped.tokens[2] == "[PAD]" and not swapped.valid[2]


def test_a_corpus_counts_real_tokens_alone(minilm):
    alone, padded = (vz.corpus(minilm, [text, "a river"]) for text in (TEXT, PADDED))
    assert padded.n_tokens == alone.n_tokens
    for name in STATISTICS:
        if name in alone.statistics:
            one, two = alone[name].mean, padded[name].mean
            assert np.allclose(one, two, atol=2e-5, equal_nan=True), name
    middle = "I love [PAD] deep learning"
    ids = minilm.read(middle).values
    one, two = (vz.corpus(minilm, [each], measures=["statistics"]) for each in (middle, ids))
    for name in one.statistics:
        assert np.array_equal(one[name].mean, two[name].mean, equal_nan=True), name


def test_sets_pool_real_tokens_alone(minilm):
    items = "text,label\n{},one\nA river bank,two\n"
    methods = ("mean", "cls", "declared")
    found, wanted = (
        vz.analyses.collection(minilm, vz.read_set(items.format(text)), methods=methods)
        for text in (PADDED, TEXT)
    )
    for method in methods:
        one, two = found.of(method, -1), wanted.of(method, -1)
        assert np.abs(one - two).max() <= 2e-5 * np.abs(two).max()


def test_each_weight_stands_at_its_own_token(minilm):
    query = np.linspace(-1, 1, 384, dtype=np.float32)
    middle = "I love [PAD] deep learning [PAD]"
    (found,) = item_weights(minilm, [middle], query)
    trace = vz.capture(minilm, middle)
    scores = (trace.output.double() @ torch.tensor(query).double() / 384**0.5).numpy()
    scores[~trace.valid.numpy()] = -np.inf
    wanted = np.exp(scores - scores.max())
    assert np.abs(found.weights - wanted / wanted.sum()).max() <= 2e-5
    assert found.sample.tokens == trace.tokens and not found.weights[[3, -1]].any()
    lines = item_weights(minilm, [middle, TEXT], query).columns()
    assert lines["token_name"] == [*trace.tokens, *vz.capture(minilm, TEXT).tokens]


def test_a_saved_run_is_read_again_as_it_was(minilm, tmp_path):
    for text in (PADDED, r"one \[PAD] two [PAD]"):
        trace = vz.capture(minilm, text)
        trace.save(tmp_path / "run.safetensors")
        back = vz.Trace.load(tmp_path / "run.safetensors")
        again = vz.capture(minilm, back.sample.texts[0])
        assert replace(again.sample, notes=()).tokens == back.tokens
        assert again.valid.tolist() == back.valid.tolist()
        assert torch.equal(again.output, back.output)
