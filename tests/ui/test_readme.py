"""What the README says is true: its Python runs, its files exist, its commands are there."""

import re
from pathlib import Path

import pytest
import torch

import viz_encoder as vz

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def block(word: str) -> str:
    """The one block of Python that holds the word."""
    (found,) = (each for each in BLOCKS if word in each)
    return found


def test_the_first_block_shows_a_run_in_a_cell():
    scope: dict[str, object] = {}
    assert block("trace.show()") == BLOCKS[0]
    exec(BLOCKS[0].replace("trace.show()", "cell = trace.show()"), scope)
    assert scope["trace"].tokens[1:3] == ("the", "animal")
    assert "<iframe" in scope["cell"]._repr_html_()


def test_the_block_of_numbers_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("own = "), scope)
    assert scope["trace"].tokens[:3] == ("[CLS]", "the", "bank")
    assert scope["trace"].proof.sentence.startswith("The maps are the ones that ran: ")
    assert scope["vector"].shape == (384,)
    expected = torch.nn.functional.normalize(scope["vector"], dim=-1)
    torch.testing.assert_close(scope["own"], expected, rtol=0, atol=1e-6)


def test_the_effects_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("vz.ablate"), scope)
    assert scope["found"].sentence.startswith(
        "Removing head 3.0 flips “are” (0.995) to “is” (0.687), "
    )
    guess = vz.analyses.predictions(scope["encoder"], scope["trace"], n=1)[0]
    assert guess.labels == ("is",)  # the head was out while it ran


def test_the_audit_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("report.verdict"), scope)
    assert scope["report"].verdict == "FAIL" and "~mask" in str(scope["report"])


def test_the_record_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("vz.record"), scope)
    assert scope["trace"].proof.passed
    assert float(scope["trace"].attention(0, 3)[:, 3].abs().max()) == 0


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w/.-]+)\)", README))))
def test_every_file_it_links_to_exists(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_folder_the_docs_name_exists(name):
    text = (ROOT / name).read_text()
    for folder in re.findall(r"`((?:viz_encoder|assets|scripts|tests|benchmarks)/[\w/]+)`", text):
        assert (ROOT / folder).exists() or (ROOT / f"{folder}.py").exists(), folder
