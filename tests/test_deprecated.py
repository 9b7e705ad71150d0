"""Old names of the Python API: each works as its new one does, and says which to write."""

import operator
import warnings

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.deprecated import renamed, renamed_property
from viz_encoder.errors import SelectionError
from viz_encoder.export import MapView, arrays, save
from viz_encoder.figures.options import read_options
from viz_encoder.trace.token_selection import real_token_numbers, shown_tokens

HIDING = [
    *("token_similarity", "over_smoothing", "hidden_change", "projection", "nearest_tokens"),
    *("residual_change", "between_runs"),
]
VIEWS = ["token_similarity", "over_smoothing", "projection", "residual_change"]


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, "The bank approved the loan")


def arguments(name, minilm, trace):
    """What comes before the keywords."""
    return {
        "token_similarity": (trace, 3),
        "nearest_tokens": (trace, 2, 3),
        "residual_change": (minilm, trace),
        "between_runs": ([trace, vz.capture(minilm, "Rain")],),
    }.get(name, (trace,))


def same(one, other) -> None:
    first, second = vars(one), vars(other)
    for name, value in first.items():
        assert np.array_equal(value, second[name], equal_nan=np.asarray(value).dtype.kind == "f")


@pytest.mark.parametrize("name", HIDING)
@pytest.mark.parametrize("special", [True, False])
def test_special_is_hide_special(minilm, trace, name, special):
    function, given = getattr(vz.analyses, name), arguments(name, minilm, trace)
    with pytest.warns(DeprecationWarning, match="special= is deprecated; use hide_special=."):
        former = function(*given, special=special)
    now = function(*given, hide_special=not special)
    if name == "nearest_tokens":
        assert former.neighbors.tolist() == now.neighbors.tolist()
        assert len(now.neighbors) == (6 if special else 4)
    else:
        same(former, now)
    if hasattr(now, "tokens"):
        assert len(now.tokens) == (7 if special else 5)


@pytest.mark.parametrize("name", VIEWS)
def test_tokens_of_a_view_is_hide_special(minilm, trace, name):
    draw, given = getattr(vz.figures, name), arguments(name, minilm, trace)[:2]
    given = given if name == "residual_change" else (trace,)
    with pytest.warns(DeprecationWarning, match="tokens= is deprecated; use hide_special=."):
        former = draw(*given, tokens="without special")
    assert former.to_json() == draw(*given, hide_special=True).to_json()
    assert former.to_json() != draw(*given).to_json()
    with pytest.warns(DeprecationWarning), pytest.raises(SelectionError, match="choose one of all"):
        draw(*given, tokens="some")


def test_tokens_as_an_option_in_text(trace):
    view = vz.figures.VIEWS["token_similarity"]
    for text, hidden in (("without special", True), ("all", False)):
        with pytest.warns(DeprecationWarning, match="use hide_special=yes"):
            assert read_options(view, {"tokens": text}) == {"hide_special": hidden}
    for text, hidden in (("yes", True), ("True", True), ("no", False), ("false", False)):
        assert read_options(view, {"hide_special": text}) == {"hide_special": hidden}
    with pytest.raises(SelectionError, match="choose no, yes"):
        read_options(view, {"hide_special": "maybe"})


def test_special_of_exports(trace, tmp_path):
    with pytest.warns(DeprecationWarning, match="use hide_special="):
        former = arrays(trace, 3, 5, special=False)
    now = arrays(trace, 3, 5, hide_special=True)
    assert np.array_equal(former["weights"], now["weights"]) and now["weights"].shape == (5, 5)
    with pytest.warns(DeprecationWarning, match="use hide_special="):
        save(trace, tmp_path / "a.csv", layer=3, head=5, special=False)
    save(trace, tmp_path / "b.csv", layer=3, head=5, hide_special=True)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_special_of_a_map_view():
    with pytest.warns(DeprecationWarning, match="use hide_special="):
        view = MapView(3, 5, special=False)
    assert view == MapView(3, 5, hide_special=True)
    with pytest.warns(DeprecationWarning, match=r"\.special is deprecated; use \.hide_special"):
        assert view.special is False


def test_special_of_token_selection(trace):
    with pytest.warns(DeprecationWarning, match="use hide_special="):
        assert real_token_numbers(trace, special=False).tolist() == [1, 2, 3, 4, 5]
    with pytest.warns(DeprecationWarning, match="use hide_special="):
        assert shown_tokens(trace, special=False) == [(1,), (2,), (3,), (4,), (5,)]
    with pytest.raises(TypeError):
        real_token_numbers(trace, False)  # its place would mean the opposite now


def test_both_names_of_one_keyword(trace):
    with pytest.raises(TypeError, match="hide_special= and its old name"):
        vz.analyses.over_smoothing(trace, special=True, hide_special=True)


def test_the_warning_is_of_the_line_that_calls():
    @renamed(old=("new", operator.neg), same="other")
    def double(number: int = 0, *, new: int = 0, other: int = 0) -> int:
        """Twice."""
        return 2 * number + new + other

    class Thing:
        """A thing."""

        new = 3
        old = renamed_property("old", "new")

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert double(2, old=1) == 3 and double(2, same=1) == 5 and Thing().old == 3
    assert [one.filename for one in seen] == [__file__] * 3
    assert double.__doc__ == "Twice." and double(1) == 2


def test_heads_are_prediction_heads(tmp_path):
    sizes = {"n_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 8, "vocab_size": 9}
    given = [{"task": "classify", "pool": "cls", "n_out": 3}]
    now = vz.EncoderConfig(**sizes, prediction_heads=given)
    words = "heads= is deprecated; use prediction_heads="
    with pytest.warns(DeprecationWarning, match=words) as told:
        former = vz.EncoderConfig(**sizes, heads=given)
    assert former == now and told[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"\.heads is deprecated; use \.prediction_heads"):
        assert now.heads == now.prediction_heads

    vz.load(now).save(tmp_path / "saved")  # and a folder that was saved before loads in silence
    file = tmp_path / "saved" / "config.json"
    written = file.read_text()
    assert '"prediction_heads"' in written
    file.write_text(written.replace('"prediction_heads"', '"heads"'))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        assert vz.load(tmp_path / "saved").config == now
