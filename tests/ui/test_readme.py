"""What the README says is true: its Python runs, its files exist, its commands are there."""

import re
from pathlib import Path

import pytest
import torch
from PIL import Image

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def block(word: str) -> str:
    """The one block of Python that holds the word."""
    (found,) = (each for each in BLOCKS if word in each)
    return found


class DinoAttention(torch.nn.Module):
    """As facebookresearch/dino writes it: its own softmax, and the map beside the output."""

    def __init__(self):
        super().__init__()
        self.qkv, self.proj = torch.nn.Linear(24, 72), torch.nn.Linear(24, 24)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 3, c // 3).permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-2, -1)) * 8**-0.5
        self.ran = attn = attn.softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, c)), attn


class DinoBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attn = torch.nn.LayerNorm(24), DinoAttention()

    def forward(self, x):
        return x + self.attn(self.norm1(x))[0]


class Dino(torch.nn.Module):
    """Twelve blocks over patches of 8 × 8 and a class token, with random weights."""

    def __init__(self):
        super().__init__()
        self.patch = torch.nn.Conv2d(3, 24, 8, 8)
        self.cls_token = torch.nn.Parameter(torch.randn(1, 1, 24))
        self.blocks = torch.nn.ModuleList(DinoBlock() for _ in range(12))

    def forward(self, pixels):
        x = torch.cat([self.cls_token, self.patch(pixels).flatten(2).mT], dim=1)
        for each in self.blocks:
            x = each(x)
        return x[:, 0]


def test_the_first_block_shows_a_run_in_a_cell():
    scope: dict[str, object] = {}
    assert block("trace.show(") == BLOCKS[0]
    exec(BLOCKS[0], scope)
    assert scope["trace"].tokens[1:3] == ("the", "animal")
    assert "<iframe" in scope["view"]._repr_html_()


def test_the_audit_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("report.verdict"), scope)
    assert scope["report"].verdict == "FAIL" and "~mask" in str(scope["report"])


def test_the_record_block_lays_a_head_of_a_model_of_the_hub_on_its_picture(monkeypatch):
    dino = Dino().eval()
    monkeypatch.setattr(torch.hub, "load", lambda *names: dino)
    scope = {"pixels": torch.randn(1, 3, 224, 224), "picture": Image.new("RGB", (224, 224))}
    exec(block("vz.record").replace("vz.figures", "figure = vz.figures"), scope)
    assert scope["trace"].tokens[0] == "[CLS]" and scope["trace"].proof.passed
    weights = dino.blocks[11].attn.ran[0, 0, 0, 1:]
    assert torch.allclose(scope["trace"].attention(11, 0)[0, 1:], weights, atol=1e-6)
    assert scope["trace"].grid.n_rows == 28 and scope["figure"].data


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w/.-]+)\)", README))))
def test_every_file_it_links_to_exists(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_folder_the_docs_name_exists(name):
    text = (ROOT / name).read_text()
    for folder in re.findall(r"`((?:viz_encoder|assets|scripts|tests|benchmarks)/[\w/]+)`", text):
        assert (ROOT / folder).exists() or (ROOT / f"{folder}.py").exists(), folder
