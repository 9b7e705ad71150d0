"""What the README says is true: its Python runs, its files exist, its commands are there."""

import re
from pathlib import Path

import pytest
import torch
import transformers

import viz_encoder as vz
from viz_encoder.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def block(word: str) -> str:
    """The one block of Python that holds the word."""
    (found,) = (each for each in BLOCKS if word in each)
    return found


def test_a_model_in_memory_stands_in_a_cell_after_three_lines(minilm, monkeypatch):
    scope: dict[str, object] = {}
    code = block("trace.show()")
    assert len(code.partition("\n\n")[2].partition("\n\n")[2].strip().splitlines()) == 3
    model = transformers.BertModel(
        transformers.BertConfig(hidden_size=24, num_attention_heads=4, num_hidden_layers=2)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=minilm.reader.tokenizer)
    for name, held in (("AutoModel", model), ("AutoTokenizer", tokenizer)):
        monkeypatch.setattr(
            getattr(transformers, name), "from_pretrained", lambda _, held=held: held
        )
    exec(code.replace("trace.show()", "cell = trace.show()"), scope)
    assert scope["trace"].tokens[1:3] == ("the", "animal") and scope["trace"].n_heads == 4
    assert "<iframe" in scope["cell"]._repr_html_()


def test_an_untrained_encoder_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    exec(block("my-encoder"), scope)
    assert (
        scope["first"].notes[-1].startswith("This encoder is untrained: its weights are random, ")
    )
    assert scope["second"].n_tokens == 12 and scope["encoder"].config.d_ff == 2048
    saved = vz.load(tmp_path / "my-encoder")
    ours, theirs = saved.model.state_dict(), scope["encoder"].model.state_dict()
    assert saved.card.untrained and ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_first_block_runs_as_it_says(capsys):
    scope: dict[str, object] = {}
    exec(block("own = "), scope)
    assert scope["trace"].tokens[:3] == ("[CLS]", "the", "bank")
    assert scope["trace"].proof.sentence.startswith("The maps are the ones that ran: ")
    assert scope["vector"].shape == (384,)
    expected = torch.nn.functional.normalize(scope["vector"], dim=-1)
    torch.testing.assert_close(scope["own"], expected, rtol=0, atol=1e-6)


def test_the_predictions_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("early = "), scope)
    assert scope["guess"].labels[0] == "are" and scope["guess"].shares[0] >= 0.99
    assert scope["early"].shares[0] < scope["guess"].shares[0]


def test_the_effects_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("vz.ablate"), scope)
    assert scope["found"].sentence.startswith(
        "Removing head 3.0 flips “are” (0.995) to “is” (0.687), "
    )
    assert scope["twin"].ranked(1) == ((3, 0),)
    guess = vz.analyses.predictions(scope["encoder"], scope["trace"], n=1)[0]
    assert guess.labels == ("is",)  # the head was out while it ran


def test_the_audit_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("report.verdict"), scope)
    assert scope["report"].verdict == "FAIL" and "~mask" in str(scope["report"])


def test_each_kind_of_model_is_audited_as_it_says():
    code = block("AuditScope(bias=").replace("vz.audit_mask", "vz.assert_mask")
    model = Kinds().eval()
    config = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    bert = transformers.BertModel(transformers.BertConfig(**config, intermediate_size=64)).eval()
    looks: list[object] = []
    scope = {
        "vz": vz,
        "model": model,
        "bert": bert,
        "intent": packed_in_threes,
        "step": model.step,
        "reorder": lambda cache, order: cache[order],
        "documents": lambda valid: (torch.arange(valid.shape[1]) // 3).expand_as(valid),
        "pooled": lambda hidden, valid: hidden[:, 0],
        "pool_over": lambda valid: torch.arange(valid.shape[1]).eq(0).expand_as(valid),
        "cross": lambda valid: torch.ones(*valid.shape, 5, dtype=torch.bool),
        "alibi": alibi,
        "of_batch": lambda batch: batch["allowed"],
        "writer": looks.append,
    }
    valid = torch.arange(7) < torch.tensor([5, 3, 7])[:, None]
    scope["batch"] = {"x": torch.randn(3, 7, 32), "allowed": packed_in_threes(valid)}
    lines = code.splitlines()
    kept = [line for line in lines if "(bert," not in line]  # it knows no packed documents
    exec("\n".join(kept), scope)
    (line,) = set(lines) - set(kept)
    real = {**scope, "intent": lambda valid: valid[:, None].expand(-1, valid.shape[1], -1)}
    exec("from viz_encoder.audit import AuditScope\n" + line, real)
    model(**scope["batch"])
    assert len(looks) == 1 and looks[0].ok


def packed_in_threes(valid: torch.Tensor) -> torch.Tensor:
    number = torch.arange(valid.shape[1]) // 3
    return valid[:, None].expand(-1, valid.shape[1], -1).tril() & (number[:, None] == number)


def alibi(valid: torch.Tensor) -> torch.Tensor:
    place, slopes = torch.arange(valid.shape[1]), 2.0 ** -torch.arange(2, 9, 2)
    return -slopes[:, None, None] * (place[:, None] - place).abs()


class Kinds(torch.nn.Module):
    """Takes ids or vectors, adds ALiBi, and looks at a memory of five tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.qkv = torch.nn.Embedding(30522, 32), torch.nn.Linear(32, 96)
        self.memory = torch.nn.Parameter(torch.randn(1, 5, 32))
        self.across = torch.nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        x = x if x.is_floating_point() else self.table(x)
        q, k, v = self.qkv(x).unflatten(2, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        bias = alibi(x[..., 0]).masked_fill(~allowed[:, None], -torch.inf)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + mixed.transpose(1, 2).flatten(2)
        seen = self.memory.expand(len(x), -1, -1)
        return x + self.across(x, seen, seen)[0]

    def step(self, x: torch.Tensor, cache: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        seen = x if cache is None else torch.cat([cache, x], dim=1)
        allowed = packed_in_threes(torch.ones(seen.shape[:2], dtype=torch.bool))
        return self(seen, allowed)[:, -x.shape[1] :], seen


def test_the_pooling_block_runs_as_it_says():
    scope: dict[str, object] = {}
    exec(block("read_set"), scope)
    rows = scope["found"].table()
    assert len(rows) == 6 and scope["best"] == rows[0]
    assert tuple(rows) == tuple(sorted(rows, key=lambda row: -row.silhouette))
    assert scope["found"].cosine("mean", 6).shape == (4, 4)


def test_the_record_block_runs_as_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    exec(block("vz.record"), scope)
    assert scope["trace"].proof.passed
    assert float(scope["trace"].attention(1, 3)[:, 3].abs().max()) == 0
    assert scope["figure"].data


def test_the_client_block_runs_against_a_server(site):
    scope: dict[str, object] = {}
    exec(block("gradio_client").replace("http://127.0.0.1:7860/", site), scope)
    assert len(scope["weights"]) == len(scope["run"]["tokens"])


def test_the_speeds_it_quotes_were_measured():
    measured = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    quoted = README.partition("## Speed")[2].partition("## Limits")[0]
    rows = re.findall(r"^\| ([^|]*\d[^|]*) \| ([\d.]+ ×) \|$", quoted, re.MULTILINE)
    assert len(rows) == 5
    for what, ratio in rows:
        assert f"| {what} | {ratio} |" in measured, what
    said, _, in_browser = quoted.rpartition("|")[2].partition("[In the browser]")
    for ratio in re.findall(r"[\d.]+ ×", said):
        assert f"| {ratio} |" in measured, ratio
    in_chromium = (ROOT / "benchmarks" / "BROWSER.md").read_text()
    for ratio in re.findall(r"[\d.]+ ×", in_browser):
        assert f"| {ratio} the empty page |" in in_chromium, ratio


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w/.-]+)\)", README))))
def test_every_file_it_links_to_exists(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_folder_the_docs_name_exists(name):
    text = (ROOT / name).read_text()
    for folder in re.findall(r"`((?:viz_encoder|assets|scripts|tests|benchmarks)/[\w/]+)`", text):
        assert (ROOT / folder).exists() or (ROOT / f"{folder}.py").exists(), folder


def test_every_command_is_in_the_readme(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^ {4}(\w+)  ", capsys.readouterr().out, re.MULTILINE)
    assert listed
    for command in listed:
        assert f"viz-encoder {command}" in README


def test_the_models_command_lists_every_built_in(capsys):
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "all-MiniLM-L6-v2" in out and "scene" in out
