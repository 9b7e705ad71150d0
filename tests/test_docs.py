"""What docs/ says is true: its cells run, its commands work, its API pages list all there is."""

import importlib.util
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.inputtransformer2 import TransformerManager

import viz_encoder as vz
import viz_encoder.audit
from scripts import grammar_roles as roles
from tests.ui.conftest import serving
from viz_encoder import errors
from viz_encoder.cli import main
from viz_encoder.commands import lesson
from viz_encoder.ui.serve import ServerSettings, make_app

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
PAGES = {name: text for name, text in PAGES.items() if not name.startswith("_")}
EXECUTED = sorted(name for name, text in PAGES.items() if "```{code-cell}" in text)


def part(name: str) -> Any:
    """A module of docs/_sphinx that needs no Sphinx."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_sphinx" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CELLS, LISTED = part("cells"), part("listed")


def fenced(page: str, kind: str) -> list[str]:
    """The blocks of a page between ```kind and ```, without their options."""
    found = re.findall(rf"^```{re.escape(kind)}\n(.*?)^```$", PAGES[page], re.DOTALL | re.MULTILINE)
    return [re.sub(r"\A(:\w+:.*\n)+", "", block) for block in found]


@dataclass
class Ran:
    """A page's names after all of its cells, what each cell shows, and what they printed."""

    scope: dict[str, Any]
    shown: list[Any]
    printed: str


def run_page(page: str) -> Ran:
    """Run all cells of a page as the build does."""
    ran = Ran({"__name__": "page"}, [], "")
    for number, code in enumerate(fenced(page, "{code-cell} python")):
        printed, value = CELLS.run_cell(code, ran.scope, f"{page}, cell {number}")
        ran.printed += printed
        ran.shown += [] if value is None else [value]
    return ran


def test_the_bert_in_memory_stands_in_a_cell():
    ran = run_page("notebook.md")
    assert type(ran.scope["model"]).__name__ == "BertModel"
    assert "<iframe" in ran.shown[0]._repr_html_()
    assert ran.scope["weights"].shape == (12, 12)
    assert (ran.shown[1]["query_token"], ran.shown[1]["key_token"]) == (["bank"], ["loan"])
    assert abs(float(ran.shown[2].sum()) - 1) < 0.06  # each is rounded to 2 decimals
    assert ran.printed.startswith("The maps are the ones that ran: ")


def test_how_to_read_a_map_runs_as_it_says():
    ran = run_page("reading.md")
    least = ran.shown[1]["entropy"]
    assert "ln 12 = 2.48 nats" in ran.printed and least.min() >= 0 and least.max() < 2.48
    rollout = ran.shown[2]
    assert rollout.data
    shares = ran.scope["found"]
    assert shares.sentence in ran.printed and ran.shown[3][
        "share"
    ].max() == shares.tokens.max().round(2)
    cosine = ran.shown[4]["cosine"]
    assert list(ran.shown[4]["blocks"]) == list(range(7)) and cosine[6] > cosine[0]


def test_the_library_runs_as_it_says():
    scope = run_page("python.md").scope
    assert scope["trace"].tokens[:3] == ("[CLS]", "the", "bank")
    rows = scope["trace"].attention(layer=3, head=1)
    np.testing.assert_allclose(scope["step"].weights, rows[5], rtol=0, atol=1e-6)
    assert scope["first"].notes[-1].startswith("This encoder is untrained: its weights are random,")
    assert scope["second"].n_tokens == 12 and scope["single"].tokens[4] == "[PAD]"


def test_what_carried_an_answer_runs_as_it_says():
    ran = run_page("attribution.md")
    found = ran.scope["found"]
    assert found.unexplained < 1e-5 and found.ranked(1) == ((3, 0),)
    assert found.sentence in ran.printed and ran.scope["split"].ranked(1) == ((3, 0),)
    assert ran.scope["pair"].unexplained < 1e-5


def test_the_gallery_shows_eight_pictures_of_what_it_says():
    ran = run_page("gallery.md")
    carried = ran.scope["carried"]
    assert [type(value).__name__ for value in ran.shown] == ["Figure"] * 8 + ["Cell"]
    assert carried.sentence in ran.printed and round(carried.heads[3, 1] / carried.score, 2) == 0.04
    assert round(float(ran.scope["trace"].attention(3, 1)[10, 2]), 2) == 0.64
    assert "+6.14 from “keys”" in ran.scope["decided"].sentence


def test_the_lesson_and_a_run_stand_beside_the_built_pages(tmp_path, monkeypatch):
    drawn = lesson.draw_lesson  # of a single seat; each takes a while
    monkeypatch.setattr(lesson, "draw_lesson", lambda seats, language: drawn(seats[:1], language))
    part("live_pages").write(tmp_path)
    linked = set(re.findall(r'href="([^"]+)"', PAGES["gallery.md"]))
    assert {path.name for path in tmp_path.iterdir()} == linked == {"lesson.html", "run.html"}
    assert "viz-learn" in (tmp_path / "lesson.html").read_text("utf-8")
    assert "default-src 'none'" in (tmp_path / "run.html").read_text("utf-8")  # nothing is fetched


def test_the_example_notebook_runs_from_top_to_bottom():
    page = json.loads((DOCS.parent / "examples" / "first_look.ipynb").read_text("utf-8"))
    scope: dict[str, Any] = {}
    shown, printed = [], ""
    for number, cell in enumerate(page["cells"]):
        if cell["cell_type"] == "code":
            code = TransformerManager().transform_cell("".join(cell["source"]))
            said, value = CELLS.run_cell(code, scope, f"the notebook, cell {number}")
            printed += said
            shown += [] if value is None else [value]
        assert not cell.get("outputs")
    cell, shares, effects, own = shown
    assert "<iframe" in cell._repr_html_() and shares.data and own.data
    assert [*effects["answer"]] == ["are", "is"]  # without 2.0, and without 3.0
    assert "PASS: Tokens look where they are meant to" in printed


def test_finding_heads_runs_as_it_says():
    ran = run_page("heads.md")
    best = ran.shown[0].iloc[0]
    weights = ran.scope["trace"].attention(int(best["layer"]), int(best["head"])).numpy()
    assert round(float(np.diagonal(weights, -1).mean()), 2) >= 0.5
    assert np.asarray(ran.scope["rollout"]).shape == (6, 12)
    for name in (*dir(vz.analyses), *dir(vz.figures)):
        assert name in ran.printed


@pytest.mark.slow
def test_the_planted_bug_is_found_and_mended():
    ran = run_page("masks.md")
    assert ran.scope["report"].verdict == "FAIL"
    assert [check.name for check in ran.scope["report"].failed] == ["constants"]
    first, lost, *models, whole, cut = ran.printed.splitlines()[:-4]
    flexible = ran.printed.splitlines()[-4:]
    wrong = "the windows are not shifted as meant: by 2, where 0 was meant."
    right = ("Tokens look where they are meant to", "Nothing wrong was found in ")
    found, appended = (one for one in models if not one.startswith(right))
    assert found == wrong and "token 7 gives" in appended and "padding 3" in appended
    assert len(models) == 10
    assert first == ran.scope["report"].sentence
    assert lost == "the bias is not added to the scores."
    short, full = "True,  True, False, False", "True,  True,  True,  True"
    means, compiled = flexible[:2], flexible[2:]  # of the block mask: a row a sample
    assert [short in means[0], full in means[1]] == [True, True]
    assert all(short in line for line in compiled)
    assert whole.startswith("step 0: PASS") and cut.startswith("step 1: INFO: 9 to 9 real tokens")


def test_pooling_runs_as_it_says():
    ran = run_page("pooling.md")
    assert len(ran.scope["found"].table()) == 9
    assert abs(ran.shown[3] - 1) < 1e-6
    moved = ran.shown[-1].set_index("case")["relative"]
    assert moved["masked"] < 1e-5 and min(moved.drop("masked")) > 0.1


def test_record_runs_as_it_says():
    ran = run_page("record.md")
    trace = ran.scope["trace"]
    assert trace.proof.passed and float(trace.attention(1, 3)[:, 3].abs().max()) == 0
    grid, *calls = ran.printed.splitlines()
    assert grid == "Grid(n_rows=5, n_cols=5, n_prefix=1)" and len(calls) == 2
    assert ran.scope["block"].apart < 1e-6


def test_effects_run_as_they_say():
    ran = run_page("effects.md")
    assert ran.shown[0].startswith("Removing head 3.0 flips “are” (0.995) to “is” (0.687)")
    assert ran.scope["change"][1] == "is"
    assert ran.scope["by_patching"].ranked(1) == ((3, 0),)
    assert ran.printed.count("holds") == 4 and "FAILS" not in ran.printed


def test_the_corpus_runs_as_it_says():
    ran = run_page("corpus.md")
    assert ran.shown[1].iloc[0]["previous"] > 0.99
    lines = ran.printed.splitlines()
    assert len(lines) == 3 and all(" → " in line and "[" in line for line in lines)
    best = ran.shown[-1].set_index("relation")
    assert [tuple(best.loc[rule, ["layer", "head"]]) for rule in ("agreement", "reference")] == [
        *((3, 0), (2, 3)),
    ]
    assert best.loc["copying", "accuracy"] > 0.95 and best.loc["copying", "offset_accuracy"] < 0.2


@pytest.mark.slow
def test_the_roles_of_grammar_are_those_of_the_table():
    assert roles.table() in PAGES["effects.md"]


def test_every_executed_page_has_a_test_here():
    source = Path(__file__).read_text("utf-8")
    assert sorted(re.findall(r'run_page\("(\w+\.md)"\)', source)) == EXECUTED


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [block] = fenced("commands.md", "bash")
    for line in block.strip().splitlines():
        program, *given = shlex.split(line)
        assert program == "viz-encoder" and main(given) == 0, line
    assert {path.name for path in tmp_path.iterdir()} == {
        *("run.safetensors", "map.csv", "rollout.json")
    }


def test_every_command_is_on_its_page(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^ {4}(\w+)  ", capsys.readouterr().out, re.MULTILINE)
    assert listed
    for command in listed:
        assert f"| `viz-encoder {command}" in PAGES["commands.md"]


def test_what_the_audit_command_is_given_is_right():
    scope: dict[str, Any] = {}
    exec(fenced("commands.md", "python")[0], scope)
    assert vz.audit_mask(**scope["masks"]()).verdict == "PASS"


def test_the_client_runs_against_a_server():
    scope: dict[str, Any] = {}
    with serving(make_app(ServerSettings())) as address:
        exec(fenced("commands.md", "python")[1].replace("http://127.0.0.1:7860/", address), scope)
    assert len(scope["weights"]) == len(scope["run"]["tokens"])
    assert scope["share"]["data"]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_link_leads_to_a_file_and_every_page_is_listed(page):
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", PAGES[page]):
        assert (DOCS / page).parent.joinpath(target).exists(), target
    entries = re.findall(r"^[\w/]+$", PAGES["index.md"], re.MULTILINE)
    assert page == "index.md" or page.removesuffix(".md") in entries


def test_the_api_pages_list_everything():
    groups = re.findall(r"```\{api\} (\w+)", "".join(PAGES.values()))
    names = [name for group in groups for name in LISTED.listed(group)]
    assert len(names) == len(set(names))
    assert all(name.startswith("viz_encoder.") for name in names)
    last = {name.rpartition(".")[2] for name in names}
    packages = {"analyses", "effects", "figures"}
    assert set(dir(vz)) - packages <= last
    for package in packages:
        promised = {f"viz_encoder.{package}.{name}" for name in dir(getattr(vz, package))}
        assert promised <= set(names) and f"{package}" in groups
    assert {"AuditInputs", "AuditScope", "MaskReport", "Check"} <= last
    faults = {name for name, each in vars(errors).items() if isinstance(each, type)}
    assert faults <= last
    assert {"Rollout", "Proof", "LoadedEncoder", "Recording", "run_text", "zoo_audit"} <= last
