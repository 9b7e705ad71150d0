"""Conventions against what torch itself makes of the same arrays; and masks read from files."""

import io
import math
import tracemalloc

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from viz_encoder.audit.mask_input.conventions import Convention, from_bool, to_bool
from viz_encoder.audit.mask_input.mask_files import MAX_BYTES, read_masks
from viz_encoder.audit.mask_input.presets import MAX_TOKENS
from viz_encoder.errors import InputError, SelectionError, TooLong, UnsafeFile

ALLOWED = torch.tensor([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]).bool()


def looked_at_by_multihead(passed: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 4, 8)
    return layer(x, x, x, attn_mask=passed)[1][0] > 0


def looked_at_by_sdpa(passed: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, 4, 8)
    values = torch.eye(4)[None, None]  # so that the output is the weights
    return F.scaled_dot_product_attention(q, k, values, attn_mask=passed)[0, 0] > 0


@pytest.mark.parametrize(
    ("convention", "looked_at"),
    [
        (Convention.KEEP, looked_at_by_sdpa),
        (Convention.ADDED, looked_at_by_sdpa),
        (Convention.IGNORE, looked_at_by_multihead),
        (Convention.ADDED, looked_at_by_multihead),
    ],
)
def test_a_mask_in_each_convention_is_what_torch_obeys(convention, looked_at):
    passed = from_bool(ALLOWED, convention)
    assert torch.equal(looked_at(passed), ALLOWED)
    assert torch.equal(to_bool(passed, convention), ALLOWED)
    assert convention.words


def test_one_means_keep_as_bert_has_it():
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(**sizes, intermediate_size=8, vocab_size=20, attn_implementation="eager")
    valid = torch.tensor([[True, True, False, False], [True, True, True, True]])
    passed = from_bool(valid, "ones")
    model = BertModel(config).eval()
    ran = model(torch.ones(2, 4).long(), attention_mask=passed, output_attentions=True)
    assert torch.equal(ran.attentions[0][:, 0, 0] > 0, valid)
    assert torch.equal(to_bool(passed, "ones"), valid)


@pytest.mark.parametrize("convention", Convention)
@pytest.mark.parametrize("shape", [(5,), (3, 3), (2, 3, 3), (2, 1, 3, 3)])
def test_there_and_back_again(convention, shape):
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)) > 0.4
    assert torch.equal(to_bool(from_bool(mask, convention), convention), mask)
    assert torch.equal(to_bool(from_bool(mask, convention).numpy(), convention), mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_the_lowest_number_of_a_type_is_as_good_as_minus_infinity(dtype):
    added = torch.zeros(4, 4, dtype=dtype).masked_fill(~ALLOWED, torch.finfo(dtype).min)
    assert torch.equal(to_bool(added, "added"), ALLOWED)
    assert from_bool(ALLOWED, "added", dtype).dtype == dtype


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1.0, "shift scores by 1 and mask nothing"),
        (2.5, "raise that key's score"),
        (-10.0, r"e\^-10 = 4.5e-05"),
        (-1e4, "-10,000, which is not -inf"),
        (math.nan, "NaN: every weight"),
        (math.inf, r"\+inf"),
    ],
)
def test_an_added_mask_that_does_not_mask_is_told_what_it_would_do(value, says):
    with pytest.raises(InputError, match=says):
        to_bool(torch.tensor([[0.0, value], [0.0, 0.0]]), "added")


@pytest.mark.parametrize("convention", ["keep", "ignore"])
@pytest.mark.parametrize(
    ("array", "says"),
    [
        (torch.tensor([0, 1]), "flips bits"),
        (torch.tensor([0.0, -math.inf]), "0 and -inf, as a mask that is added to scores"),
        (torch.tensor([0.0, -1e9]), "choose that convention, or write mask == 0"),
        (torch.tensor([0.5, 2.0]), "smallest value is 0.5, its largest 2"),
    ],
)
def test_bool_conventions_take_bool_only(convention, array, says):
    with pytest.raises(InputError, match=says):
        to_bool(array, convention)


def test_other_arrays_that_do_not_fit():
    with pytest.raises(InputError, match="holds 2; this convention"):
        to_bool(torch.tensor([0, 1, 2]), "ones")
    with pytest.raises(InputError, match="choose a bool convention"):
        to_bool(ALLOWED, "added")
    with pytest.raises(InputError, match="give it as bool"):
        from_bool(torch.ones(2, 2), "keep")
    with pytest.raises(SelectionError, match="'keep', 'ignore', 'added', 'ones', 'key-ignore'"):
        to_bool(ALLOWED, "true")
    assert torch.equal(to_bool(ALLOWED, "ones"), ALLOWED)


def test_what_comes_back_is_a_copy():
    given = ALLOWED.clone()
    to_bool(given, "keep")[:] = False
    from_bool(given, "keep")[:] = False
    array = given.numpy()
    to_bool(array, "keep")[:] = False
    assert torch.equal(given, ALLOWED)


SQUARE = [each for each in Convention if not each.by_key]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("convention", SQUARE)
def test_a_saved_array_is_read_as_it_was(tmp_path, convention, order):
    passed = from_bool(ALLOWED, convention).numpy()
    np.save(tmp_path / "mask.npy", np.asarray(passed, order=order))
    assert torch.equal(read_masks(tmp_path / "mask.npy", convention)[0], ALLOWED)


@pytest.mark.parametrize("shape", [(3, 4), (3, 1, 4), (3, 1, 1, 4)])
def test_rows_of_a_batch_are_a_key_padding_mask(tmp_path, shape):
    real = ALLOWED.numpy()[:3]
    np.save(tmp_path / "mask.npy", ~real.reshape(shape))
    assert read_masks(tmp_path / "mask.npy", "key-ignore").tolist() == real.tolist()
    np.save(tmp_path / "mask.npy", real.reshape(shape).astype(int))
    assert read_masks(tmp_path / "mask.npy", "key-ones").tolist() == real.tolist()
    np.save(tmp_path / "mask.npy", ALLOWED.numpy())  # as many samples as tokens
    assert read_masks(tmp_path / "mask.npy", "key-ones").tolist() == ALLOWED.tolist()


@pytest.mark.parametrize("axes", [(), (1,), (2,)])
def test_each_sample_of_a_batch_has_its_own_mask(tmp_path, axes):
    batch = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(1)) > 0.4
    saved = batch.numpy() if not axes else np.repeat(batch.numpy()[:, None], axes[0], axis=1)
    np.save(tmp_path / "mask.npy", saved)
    assert torch.equal(read_masks(tmp_path / "mask.npy", "keep"), batch)
    np.save(tmp_path / "mask.npy", batch.numpy()[:, None, :1])  # (batch, 1, 1, token)
    assert torch.equal(read_masks(tmp_path / "mask.npy", "keep"), batch[:, 0])


@pytest.mark.parametrize(
    ("array", "convention", "says"),
    [
        (np.stack([np.eye(4), 1 - np.eye(4)])[None] > 0, "keep", "its 2 heads differ"),
        (np.ones((2, 3, 4, 4)) > 0, "key-ones", r"one row per sample: \(batch, token\)"),
        (np.ones((2, 3, 4)) > 0, "keep", r"yours.npy has shape \(2, 3, 4\)"),
        (np.ones((0, 4, 4)) > 0, "keep", r"shape \(0, 4, 4\)"),
        (np.ones((2, 0, 4, 4)) > 0, "keep", r"shape \(2, 0, 4, 4\)"),
        (np.ones((2, 4)), "key-ignore", "yours.npy: The mask is float64"),
    ],
)
def test_a_batch_that_is_no_mask_is_refused_by_the_name_of_its_file(
    tmp_path, array, convention, says
):
    np.save(tmp_path / "mask.npy", array)
    with pytest.raises(InputError, match=says):
        read_masks(tmp_path / "mask.npy", convention, name="yours.npy")


@pytest.mark.parametrize("dtype", [">i4", "<f8", "|u1", ">f2"])
def test_bytes_in_either_order(tmp_path, dtype):
    np.save(tmp_path / "mask.npy", ALLOWED.numpy().astype(dtype))
    assert torch.equal(read_masks(tmp_path / "mask.npy", "ones")[0], ALLOWED)


@pytest.mark.parametrize(
    ("text", "convention"),
    [
        ("1,0\n1,1\n", "ones"),
        ("True,false\r\n TRUE,True\r\n\r\n", "keep"),
        ("\ufefffalse,true\nfalse,false", "ignore"),
        ("0,-inf\n0,0.0\n", "added"),
        ("0,-1e9\n0,0\n", "added"),
    ],
)
def test_a_table_is_read(tmp_path, text, convention):
    (tmp_path / "mask.csv").write_text(text, encoding="utf-8")
    expected = torch.ones(2, 2).tril().bool()
    assert torch.equal(read_masks(tmp_path / "mask.csv", convention)[0], expected)


@pytest.mark.parametrize("text", ["1,1,0\n", "1\n1\n0\n"])
def test_one_row_or_column_is_the_valid_tokens(tmp_path, text):
    (tmp_path / "valid.csv").write_text(text)
    assert read_masks(tmp_path / "valid.csv", "ones")[0].tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("mask.txt", b"1,0", "neither .npy nor .csv"),
        ("mask.csv", b"", "mask.csv is empty"),
        ("mask.csv", b"1,0\n1\n", "1 to 2 cells"),
        ("mask.csv", b"1,x\n1,0\n", "not a number"),
        ("mask.csv", b"1,0,1\n1,1,1\n", r"shape \(2, 3\)"),
        ("mask.csv", b"\xff\xfe\x00", "not UTF-8 text"),
        ("mask.csv", b"1" * 200_000, "not a CSV of numbers: field larger"),
        ("mask.npy", b"nonsense", "not an array saved by numpy"),
        ("mask.npy", b"", "not an array saved by numpy"),
    ],
)
def test_a_damaged_file_is_refused_in_words(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_masks(tmp_path / name, "ones")


def header_of(shape: str, descr: str = "'<f8'") -> bytes:
    """A .npy that claims a shape, and holds eight bytes."""
    fields = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    line = fields.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + b"\0" * 8


def test_a_header_that_claims_too_much_allocates_nothing(tmp_path):
    (tmp_path / "mask.npy").write_bytes(header_of("(100000000, 100000000)"))
    with pytest.raises(TooLong, match=f"{MAX_TOKENS:,} tokens"):
        read_masks(tmp_path / "mask.npy", "ones")
    (tmp_path / "mask.npy").write_bytes(header_of("(4000, 4000)"))
    with pytest.raises(InputError, match="cut short"):
        read_masks(tmp_path / "mask.npy", "ones")
    (tmp_path / "mask.npy").write_bytes(header_of("(1,)", "'<c8'"))
    with pytest.raises(InputError, match="complex64"):
        read_masks(tmp_path / "mask.npy", "ones")


def test_objects_are_never_unpickled(tmp_path):
    saved = io.BytesIO()
    np.save(saved, np.array([[Bomb()]], dtype=object), allow_pickle=True)
    (tmp_path / "mask.npy").write_bytes(saved.getvalue())
    with pytest.raises(UnsafeFile, match="could run code"):
        read_masks(tmp_path / "mask.npy", "ones")


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("it was unpickled",)


def test_a_large_or_missing_file_is_not_opened(tmp_path):
    with (tmp_path / "mask.csv").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(TooLong, match="bytes"):
        read_masks(tmp_path / "mask.csv", "ones")
    with pytest.raises(InputError, match=r"no file gone\.npy"):
        read_masks(tmp_path / "gone.npy", "ones")


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"1\n" * 2_000_000, "over 512 rows"), (b"1," * 2_000_000 + b"1", "over 512 cells")],
)
def test_a_csv_is_read_no_further_than_a_mask_goes(tmp_path, content, says):
    (tmp_path / "mask.csv").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(TooLong, match=says):
            read_masks(tmp_path / "mask.csv", "ones", 512)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Its bytes, its text and what a text of four bytes a character takes: no list of its cells.
    assert peak < 8 * len(content)
