"""Nothing learned is dropped in silence: what a file holds and we do not load has a note."""

import html
import re
from pathlib import Path

import pytest
import transformers
from safetensors import safe_open

import viz_encoder as vz
from tests.checkpoints.cases import CASES, KINDS
from tests.checkpoints.parity import SIZES, Case, save
from tests.checkpoints.saved import NAMED, saved
from tests.slow import slow_but
from viz_encoder.checkpoints import plan
from viz_encoder.checkpoints.recognize import names_a_head
from viz_encoder.cli import main
from viz_encoder.ui.form.model_panel import plan_panel

OF_TRANSFORMERS = {case.model_type: case for case in CASES if case.save is None}


def classes_of(case: Case) -> list[type]:
    """Every class of transformers that is built from this case's configuration."""
    config = type(case.model().config)
    stem = config.__name__.removesuffix("Config")
    kind = re.compile(rf"{stem}(For[A-Z]\w+|Model|EncoderModel|ModelWithProjection)")
    named = [getattr(transformers, name) for name in dir(transformers) if kind.fullmatch(name)]
    return [one for one in named if one.config_class is config]


def stems(notes: tuple[str, ...]) -> list[str]:
    """What the notes name in parentheses."""
    named = [re.search(r"^The .+ \((.+)\) was not loaded; .+\.$", note) for note in notes]
    assert all(named), notes
    return [stem for match in named if match for stem in match[1].split(", ")]


def unnamed(model: object, folder: Path, part: str) -> tuple[list[str], tuple[str, ...]]:
    """The parameters on disk that are neither read nor named, and the notes."""
    found = plan(folder, part=part)
    with safe_open(str(folder / "model.safetensors"), "pt") as file:
        on_disk = set(file.keys())
    learned = on_disk & {name for name, _ in model.named_parameters(remove_duplicate=False)}
    assert learned
    left = learned - set(found.needed)
    named = stems(found.card.notes)
    return [n for n in left if not any(stem in n for stem in named)], found.card.notes


@pytest.mark.parity
@pytest.mark.parametrize(
    "model_type", slow_but(["bert", "t5", "modernbert", "siglip_vision_model"], OF_TRANSFORMERS)
)
def test_every_head_of_every_family_is_loaded_or_named(tmp_path, model_type):
    case = OF_TRANSFORMERS[model_type]
    config = case.model().config
    tried = 0
    for number, kind in enumerate(classes_of(case)):
        folder = tmp_path / str(number)
        model = kind(config)
        model.save_pretrained(folder)
        try:
            left, notes = unnamed(model, folder, case.part)
        except vz.errors.KeyMismatch as refused:  # not silent either
            assert "does not know" in str(refused)
            continue
        assert not left, (kind.__name__, left, notes)
        tried += 1
    assert tried


LACKING = {"as it was trained": ["sop_classifier.classifier"], "for answers": ["qa_outputs"]}


@pytest.mark.parity
@pytest.mark.parametrize("name", slow_but(KINDS, NAMED))
def test_a_head_that_is_loaded_has_no_note(name):
    """All heads of the cases are compared with the reference, but for these."""
    notes = saved(name).encoder.card.notes
    wanted = next((stems for end, stems in LACKING.items() if name.endswith(end)), [])
    if name == "timm SigLIP, pooled more widely":
        assert sorted(stems(notes)) == ["attn_pool", "head"]
    else:
        assert stems(tuple(filter(names_a_head, notes))) == wanted


EXPECTED = {
    "BertForQuestionAnswering": ["The question-answering head (qa_outputs)"],
    "BertForMultipleChoice": ["The multiple-choice head (classifier)"],
    "BertForPreTraining": ["The next-sentence head (cls.seq_relationship)"],
    "BertForMaskedLM": [],
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_heads_of_bert_in_words(tmp_path, kind, capsys):
    case = Case("x", "bert", lambda: getattr(transformers, kind)(
        transformers.BertConfig(**SIZES)), None)  # fmt: skip
    save(case, tmp_path)
    encoder = vz.load(tmp_path, device="cpu")
    why = " was not loaded; attention and hidden states do not depend on it."
    wanted = tuple(said + why for said in EXPECTED[kind])
    assert encoder.card.notes == wanted
    trace = vz.capture(encoder, "w1 w2")
    assert set(wanted) <= set(trace.notes)
    assert main(["models", str(tmp_path)]) == 0
    said, shown = capsys.readouterr().out, html.unescape(plan_panel(plan(tmp_path)))
    assert all(note in said and note in shown for note in wanted)
    assert wanted or ("not loaded" not in said and "not loaded" not in shown)


def test_a_tower_says_how_it_is_loaded():
    folder = saved("CLIP, its text part").folder
    for part, other in (("text", "vision"), ("vision", "text")):
        notes = plan(folder, part=part).card.notes
        assert (
            f'The {other} tower ({other}_model) was not loaded; part="{other}" loads it.' in notes
        )
        assert not any(names_a_head(note) for note in notes)
