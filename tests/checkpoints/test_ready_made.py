"""Ids, pixels and vectors that come ready made: a trace a row; padding is never in silence."""

import copy
import tempfile
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BatchEncoding

import viz_encoder as vz
from tests.checkpoints.faults import a_sentence
from tests.checkpoints.parity import N_WORDS, TOLERANCE
from tests.checkpoints.saved import ROOT, saved
from tests.slow import slow_but
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.inputs import Grid, Inputs, Sample
from viz_encoder.trace.batches import batches

SIZES = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12}
IDS = torch.tensor([[7, 8, 9, 6], [9, 8, 7, 5]])
PADDED = {  # of the id 0; True = real
    "behind": [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]],
    "before": [[1, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 1, 1, 1, 1]],
    "between": [[1, 0, 0, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1]],
}


@cache
def held(name: str, tokenizer: bool = False):
    """A reference in memory, run eagerly, and the encoder of its folder, with or without words."""
    found = saved(name)
    if tokenizer:
        return found.reference, found.encoder
    folder = found.copy(Path(tempfile.mkdtemp(dir=ROOT.name)))
    (folder / "tokenizer.json").unlink()
    return found.reference, found.load(folder)


def bert(tokenizer: bool = False) -> LoadedEncoder:
    return held("BERT", tokenizer)[1]


@cache
def unsaid() -> LoadedEncoder:
    """An encoder of which nobody says what padding is."""
    return vz.load(vz.EncoderConfig(**SIZES, vocab_size=30, max_positions=9), seed=3)


def rows(where: str, pad_id: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random ids, and which of them are real."""
    valid = torch.tensor(PADDED[where]).bool()
    ids = torch.randint(5, N_WORDS, valid.shape, generator=torch.Generator().manual_seed(2))
    return torch.where(valid, ids, pad_id), valid


def test_several_rows_are_as_many_traces():
    traces = vz.capture(bert(), IDS)
    assert isinstance(traces, list) and len(traces) == 2
    for row, trace in zip(IDS, traces, strict=True):
        assert torch.allclose(trace.output, vz.capture(bert(), row[None]).output, atol=1e-6)
        assert trace.tokens == tuple(map(str, row.tolist()))


ONE = [7, 8, 9, 6]


def test_one_input_is_one_trace_however_it_is_written():
    expected = vz.capture(bert(), torch.tensor([ONE])).output
    for source in (
        *(torch.tensor(ONE), ONE, np.array(ONE), np.array([ONE]), torch.tensor([ONE]).int()),
        *(np.array(ONE, dtype=np.int32), [np.int64(number) for number in ONE]),
        *({"input_ids": torch.tensor([ONE])}, {"input_ids": ONE}),
    ):
        trace = vz.capture(bert(), source)
        assert isinstance(trace, vz.Trace) and torch.equal(trace.output, expected), source
    for source in ([ONE], [torch.tensor(ONE)], [torch.tensor([ONE])], [np.array(ONE)]):
        (trace,) = vz.capture(bert(), source)  # a list of inputs is a list of traces
        assert torch.equal(trace.output, expected), source


def test_rows_of_several_lengths_are_padded():
    encoder = copy.deepcopy(bert()).to(torch.device("cpu"), torch.float64)
    traces = vz.capture(encoder, [[7, 8, 9], [6], torch.tensor([5, 9])])
    assert [trace.valid.tolist() for trace in traces] == [
        [True, True, True], [True, False, False], [True, True, False],
    ]  # fmt: skip
    for trace, row in zip(traces, ([7, 8, 9], [6], [5, 9]), strict=True):
        alone = vz.capture(encoder, row)
        assert torch.allclose(trace.output[: len(row)], alone.output, atol=1e-6)
        real = trace.attention(1)[:, : len(row)]
        assert torch.allclose(real[..., : len(row)], alone.attention(1), atol=1e-6)
        assert not real[..., len(row) :].any()
    assert "2 of 3 tokens are padding, at the end: the rows were filled up" in traces[1].notes[0]


def test_rows_of_several_lengths_where_nobody_says_what_padding_is():
    one, two = vz.capture(unsaid(), [[0, 1, 0], [2]])
    assert one.valid.all() and two.valid.tolist() == [True, False, False]


def test_pictures_and_vectors():
    scene = vz.load("scene", device="cpu")
    pixels = torch.rand(3, 1, 40, 40)
    traces = vz.capture(scene, pixels)
    assert len(traces) == 3 and not any(trace.notes for trace in traces)
    for source in (pixels[1], pixels[1:2], {"pixel_values": pixels[1:2]}):
        one = vz.capture(scene, source)
        assert isinstance(one, vz.Trace)
        assert torch.allclose(one.output, traces[1].output, atol=1e-5)
    assert len(vz.capture(scene, [pixels[0], pixels[1:2]])) == 2
    axes = {"embedding": "vector", "positions": "none"}
    encoder = vz.load(vz.EncoderConfig(**SIZES, **axes))
    vectors = torch.randn(2, 3, 8)
    assert len(vz.capture(encoder, vectors)) == 2
    assert isinstance(vz.capture(encoder, vectors[0]), vz.Trace)
    short = vz.capture(encoder, [vectors[0], vectors[1, :1]])[1]
    assert torch.allclose(short.output[:1], vz.capture(encoder, vectors[1, :1]).output, atol=1e-6)
    marked = vz.capture(encoder, vectors, valid=[[True, True, True], [True, False, False]])[1]
    assert torch.allclose(marked.output[:1], short.output[:1], atol=1e-6)


def test_what_a_tokenizer_of_transformers_returns():
    ids, valid = rows("before")
    segments = torch.randint(0, 2, ids.shape, generator=torch.Generator().manual_seed(1))
    given = BatchEncoding(
        {"input_ids": ids, "attention_mask": valid.long(), "token_type_ids": segments}
    )
    reference, encoder = held("BERT")
    with torch.no_grad():
        theirs = reference(**given, output_attentions=True)
    for number, trace in enumerate(vz.capture(encoder, given)):
        assert largest(trace, theirs.attentions, number, valid[number]) <= TOLERANCE
        assert trace.sample.segments == tuple(segments[number].tolist())
        assert not trace.notes or "as attention_mask says" in trace.notes[0]


def largest(trace: vz.Trace, maps: tuple[torch.Tensor, ...], row: int, real: torch.Tensor) -> float:
    """The largest difference of any weight of a real query."""
    assert torch.equal(trace.valid, real)
    pairs = [(trace.attention(layer), weights[row]) for layer, weights in enumerate(maps)]
    return max(float((ours - theirs)[:, real].abs().max()) for ours, theirs in pairs)


@pytest.mark.parity
@pytest.mark.parametrize(
    "name", slow_but(["BERT", "ModernBERT"], ["BERT", "DistilBERT", "ELECTRA", "ModernBERT", "T5"])
)
def test_padding_ids_are_an_attention_mask(name):
    reference, encoder = held(name)
    for where in PADDED:
        equal_under_padding(reference, encoder, where)


def equal_under_padding(reference, encoder, where):
    ids, valid = rows(where, encoder.padding.id)
    with torch.no_grad():
        maps = reference(ids, attention_mask=valid.long(), output_attentions=True).attentions
    for told in ({}, {"valid": valid}, {"valid": valid.numpy()}, {"valid": valid.tolist()}):
        for row, trace in enumerate(vz.capture(encoder, ids, **told)):
            assert largest(trace, maps, row, valid[row]) <= TOLERANCE, where


@pytest.mark.parity
def test_positions_that_are_counted_past_the_padding():
    reference, encoder = held("RoBERTa")
    equal_under_padding(reference, encoder, "behind")
    for where in ("before", "between"):
        ids, valid = rows(where, encoder.padding.id)
        for told in ({}, {"valid": valid}):
            refused(encoder, ids, r"positions past its padding, so put all of it", **told)
    ids, valid = rows("behind", encoder.padding.id)
    refused(encoder, ids, "put all of it at the end", valid=torch.ones_like(valid))


def test_a_note_says_what_was_taken_as_padding():
    said = {where: [t.notes for t in vz.capture(bert(True), rows(where)[0])] for where in PADDED}
    whole = "2 of 5 tokens are padding, 2 between real tokens: id 0 ([PAD]). No token attends to"
    assert said["between"][0][0].startswith(whole) and said["between"][0][0].endswith("valid=.")
    assert (
        said["behind"][0] == () and "3 of 5 tokens are padding, at the end:" in said["behind"][1][0]
    )
    assert "3 of 5 tokens are padding, at the start:" in said["before"][1][0]
    assert "at the start and the end, 1 between real tokens" in said["between"][1][0]
    assert all(a_sentence(note) for notes in said.values() for row in notes for note in row)


def test_valid_says_otherwise():
    ids = torch.tensor([[0, 7, 0, 8]])
    every = vz.capture(bert(), ids, valid=torch.ones(1, 4, dtype=torch.bool))
    assert every.valid.all() and every.attention(0)[:, :, 0].min() > 0 and not every.notes
    other = vz.capture(bert(), ids, valid=torch.tensor([True, True, True, False]))
    assert other.valid.tolist() == [True, True, True, False]
    assert "1 of 4 tokens is padding, at the end: as valid says." in other.notes[0]


def test_no_padding_id_is_said_where_there_are_several_rows():
    for trace in vz.capture(unsaid(), torch.tensor([[1, 0], [2, 3]])):
        assert trace.valid.all()
        assert any(note.startswith("No padding id is known for this model") for note in trace.notes)
    assert not any("padding" in note for note in vz.capture(unsaid(), [1, 0]).notes)


def test_padding_that_also_ends_each_text_is_not_guessed():
    _, encoder = held("CLIP text", True)
    pad_id = encoder.padding.id
    assert not encoder.padding.ends_texts  # this tokenizer adds no end
    both = LoadedEncoder(
        encoder.model, None, encoder.card, replace(encoder.padding, ends_texts=True)
    )
    assert vz.capture(both, [5, 6, pad_id]).valid.all()
    refused(both, [5, 6, pad_id, pad_id], r"is this model's padding and also appears in every text")
    ids = torch.tensor([[5, 6, pad_id, pad_id]])
    marked = vz.capture(both, ids, valid=torch.tensor([[True, True, True, False]]))
    assert marked.valid.tolist() == [True, True, True, False]


def test_padding_that_is_attended_to_counts_as_real():
    _, encoder = held("SigLIP text, padded")
    pad_id = encoder.padding.id
    trace = vz.capture(encoder, [5, 6, pad_id, pad_id])
    assert trace.valid.all() and "trained to attend to padding" in trace.notes[0]


def test_a_tokenizer_names_the_ids_and_which_are_special():
    trace = vz.capture(bert(True), torch.tensor([[2, 9, 3, 0]]))
    assert trace.tokens == ("[CLS]", "w4", "[SEP]", "[PAD]")
    assert trace.sample.special == (True, False, True, True)
    assert vz.capture(bert(), torch.tensor([[2, 9, 3, 0]])).sample.special == (False,) * 3 + (True,)


def test_a_set_of_ids_is_padded_too():
    (batch,) = batches(bert(), [torch.tensor([7, 8, 9]), torch.tensor([6])], (3,))
    ours = dict(zip(batch.numbers, batch.states.after[0], strict=True))
    for number, ids in enumerate(([7, 8, 9], [6])):
        alone = vz.capture(bert(), ids).output
        assert torch.allclose(ours[number][: len(ids)], alone, atol=1e-6)
    with pytest.raises(InputError, match="Item 2 of 2 holds 2 inputs"):
        list(batches(bert(), [torch.tensor([7, 8]), IDS], (3,)))


def refused(encoder: LoadedEncoder, source: object, says: str, **told) -> None:
    with pytest.raises(InputError, match=says) as fault:
        vz.capture(encoder, source, **told)
    assert a_sentence(fault.value)


def test_valid_that_cannot_be():
    bools = partial(torch.ones, dtype=torch.bool)
    for valid, says in (
        (torch.ones(2, 4), r"torch\.float32; it must be bool.*attention_mask\.bool\(\)"),
        (torch.ones(2, 4, dtype=torch.long), "must be bool"),
        (bools(4, 2), r"shape \(4, 2\).*= \(2, 4\)"),
        *((bools(4), r"shape \(1, 4\)"), (bools(2, 1, 4), r"shape \(2, 1, 4\)")),
        (torch.tensor([[True] * 4, [False] * 4]), "Row 2 holds nothing but padding, as valid says"),
        *(("yes", "must be"), (object(), "valid"), ([[True], [True, False]], "must be a bool")),
    ):
        refused(bert(), IDS, says, valid=valid)


def test_padding_that_cannot_be():
    refused(bert(), torch.tensor([[7, 8], [0, 0]]), "Row 2 holds nothing but id 0")
    refused(bert(), [[7, 8], [0]], "Row 2 holds nothing but id 0")
    refused(bert(), [[7, 8], [9]], "differ in length", valid=torch.ones(2, 2, dtype=torch.bool))
    refused(bert(True), "w1 w2", "valid marks the real tokens of ids", valid=[True, True])
    inputs = Inputs(
        IDS, torch.ones(2, 4, dtype=torch.bool), (Sample(("x",) * 4, (False,) * 4),) * 2
    )
    refused(bert(), inputs, "leave out valid=", valid=torch.ones(2, 4, dtype=torch.bool))


SOURCES = [
    *(([[7, 8], []], "Row 2 is empty"), ([[7, 8], 9], "each must be one input")),
    *(([[[7], [8]]], "each must be one input"), ([[7, "x"]], "cannot be made into a tensor")),
    *(([7.5, 8], "give token ids"), ([[7.5, 8.0]], "whole numbers")),
    *(([10**30], "cannot be made into a tensor"), ([True, False], "whole numbers")),
    (np.array(["a"]), "cannot be made into a tensor"),
    *(([IDS, IDS], "each must be one input"), ({}, "holds nothing; this model takes input_ids")),
    ({"pixel_values": 1}, "this model takes input_ids"),
    ({"input_ids": IDS, "position_ids": IDS}, "position_ids"),
    ({"input_ids": IDS, "attention_mask": IDS}, "must hold 0 for padding and 1"),
    ({"input_ids": IDS, "token_type_ids": IDS[:1]}, "token_type_ids has shape"),
    ({"input_ids": IDS, "token_type_ids": IDS}, "Segment 9 is out of range: this model has 2"),
]


def test_sources_that_cannot_be():
    for source, says in SOURCES:
        refused(bert(), source, says)


def test_an_attention_mask_by_its_name():
    ids, valid = rows("before")
    expected = vz.capture(bert(), ids, valid=valid)
    for mask in (valid.long(), valid.float(), valid, valid.tolist(), valid.to(torch.uint64)):
        found = vz.capture(bert(), ids, attention_mask=mask)
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one.valid, other.valid) and torch.equal(one.output, other.output)
    one = vz.capture(bert(), ids[1], attention_mask=valid[1].long())
    assert torch.equal(one.valid, valid[1])


def test_an_attention_mask_that_cannot_be():
    real = torch.ones_like(IDS)
    refused(bert(), IDS, r"holds \[0, 2\]; .* 1 = keep", attention_mask=torch.tensor([[0, 2] * 2]))
    refused(bert(), IDS, "attention_mask must be numbers", attention_mask="1 1")
    refused(bert(), IDS, "Mark the real tokens once", attention_mask=real, valid=real.bool())
    given = {"input_ids": IDS, "attention_mask": real}
    for again in ({"attention_mask": real}, {"valid": real.bool()}):
        refused(bert(), given, "Mark the real tokens once", **again)
    refused(bert(), IDS, r"shape \(2, 3\).*= \(2, 4\)", attention_mask=real[:, :3])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (torch.Tensor.to_sparse, r"is a sparse tensor \(sparse_coo\); .*to_dense\(\)"),
        (lambda x: x.to("meta"), "is on the meta device, where a tensor holds no numbers"),
        (lambda x: torch.nested.nested_tensor(list(x)), r"is a nested tensor; .*unbind\(\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_tensors_that_are_not_plain(change, says):
    refused(bert(), change(IDS), f"The input {says}")
    refused(bert(), {"input_ids": IDS, "token_type_ids": change(IDS)}, f"token_type_ids {says}")
    refused(bert(), IDS, f"valid {says}", valid=change(IDS > 0))
    refused(bert(), IDS, f"attention_mask {says}", attention_mask=change((IDS > 0).long()))
    refused(bert(), IDS, f"mask {says}", mask=change(torch.ones(4, 4, dtype=torch.bool)))
    vectors = vz.load(vz.EncoderConfig(**SIZES, embedding="vector", positions="none"))
    refused(vectors, change(torch.ones(2, 3, 8)), f"The input {says}")
    if change is not torch.Tensor.to_sparse:
        return
    refused(bert(), [change(row) for row in IDS], f"Row 1 {says}")


def test_ids_without_a_sign():
    expected = vz.capture(bert(), [[7, 8, 9], [6]])
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        found = vz.capture(bert(), [torch.tensor(row).to(dtype) for row in ([7, 8, 9], [6])])
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one.output, other.output) and one.notes == other.notes


def test_capture_of_what_is_not_loaded():
    reference, _ = held("BERT")
    refused(reference, IDS, r"not BertModel; write vz\.capture\(vz\.load\(model\), …\)")
    refused(None, IDS, "not NoneType")


def test_pixels_are_shown_as_the_picture_that_they_are_of():
    """Through the reader and back, and laid under the map."""
    scene = vz.load("scene", device="cpu")
    drawn = np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8)
    read = scene.read(np.repeat(drawn[..., None], 3, axis=2))
    traces = vz.capture(scene, read), vz.capture(scene, [read.values[0]])
    (one,), (other,) = traces
    assert np.array_equal(one.sample.picture, other.sample.picture)
    assert one.grid == other.grid == Grid(10, 10, 1) and not other.notes
    assert (one.tokens, one.sample.special) == (other.tokens, other.sample.special)
    figures = [vz.figures.patch_overlay(trace, layer=1, query=2) for trace in (one, other)]
    assert figures[0].to_json() == figures[1].to_json()


def test_pixels_of_which_nobody_says_how_they_were_normalized():
    axes = {"embedding": "patch", "patch_size": 4, "image_size": (8, 8), "n_channels": 3}
    encoder = vz.load(vz.Encoder(vz.EncoderConfig(**SIZES, **axes)))  # in memory: no processor
    pixels = torch.linspace(-2, 2, 3 * 64).reshape(3, 8, 8)
    trace = vz.capture(encoder, pixels)
    picture = trace.sample.picture.astype(float)
    expected = 255 * (pixels + 2).permute(1, 2, 0).numpy() / 4
    assert np.abs(picture - expected).max() <= 0.5 + 1e-4
    assert any("How these pixels were normalized is not known" in note for note in trace.notes)
    assert vz.figures.patch_overlay(trace, query=2).data
