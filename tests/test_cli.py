"""The command as a process of its own: in ASCII, into odd places, with odd values; no traceback."""

import io
import os
import stat
import subprocess
import sys

import pytest

import viz_encoder as vz
from viz_encoder import cli

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}  # Python would mend C itself
LONG = "x" * 5000
POOL = ["pool", "texts.csv", "--device", "cpu", "-o", "a.csv"]
CORPUS = ["corpus", "texts.csv", "--model", "grammar", "--device", "cpu", "-o", "heads.json"]


def run(*arguments: str, text: bool = True, umask: int = -1, **changed: str):
    """The real command."""
    return subprocess.run(
        [sys.executable, "-m", "viz_encoder", *arguments],
        env={**os.environ, **changed},
        capture_output=True,
        text=text,
        timeout=120,
        umask=umask,
        check=False,
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved run of the smallest text model."""
    path = tmp_path_factory.mktemp("runs") / "run.safetensors"
    vz.capture(vz.load("grammar", device="cpu"), "the keys to the cabinet [MASK] old").save(path)
    return path


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A run saved in an ASCII locale, under a umask of its own, and what was said."""
    path = tmp_path_factory.mktemp("traced") / "run.safetensors"
    given = ["trace", "naïve Köln → [MASK]", "--model", "grammar", "--device", "cpu"]
    return path, run(*given, "-o", str(path), umask=0o027, **ASCII)


def test_a_text_is_read_rightly_in_an_ascii_locale(traced):
    path, done = traced
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "tokens, " in done.stdout and (done.stdout + done.stderr).isascii()
    assert vz.Trace.load(path).sample.texts == ("naïve Köln → [MASK]",)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640  # as its umask says


class Ascii(io.TextIOWrapper):
    """A stream that takes ASCII alone, and what was written to it."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="ascii", errors="strict")

    def said(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("ascii")


def test_faults_and_reports_in_ascii(tmp_path, saved, monkeypatch):
    """A model in signs, a fault that quotes what has no ASCII, and the longest report there is."""
    out, faults = Ascii(), Ascii()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", faults)
    assert cli.main(["models", "scene"]) == 0
    said = out.said()
    assert "softmax(Q K^T / sqrt d_head)" in said and "40 x 40 pixels" in said
    assert "x <- x + P[position]" in said and "\\u" not in said
    read = os.fsencode("größe").decode("ascii", "surrogateescape")  # as Python reads it there
    assert cli.main(["export", str(saved), read, "-o", str(tmp_path / "a.html")]) == 1
    assert "There is no view" in faults.said()
    (tmp_path / "masks_of_cli.py").write_text(
        "def masks():\n"
        "    import viz_encoder as vz, torch\n"
        "    model = torch.nn.TransformerEncoder(\n"
        "        torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 1).eval()\n"
        "    return vz.audit_mask(lambda x, m: model(x, src_key_padding_mask=m),\n"
        "        lambda valid: valid[:, None].expand(-1, valid.shape[1], -1), lambda v: v,\n"
        "        d_model=16)\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["audit", "masks_of_cli:masks"])
    assert ended.value.code == 1
    assert "FAIL" in out.said() and "Traceback" not in faults.said()


@pytest.mark.parametrize(
    "given",
    [
        ["trace", "a key", "--model", "grammar"],
        ["export", "{saved}"],
        ["export", "{saved}", "rollout"],
        ["pool", "{texts}", "--model", "grammar"],
        ["audit", "no_such_module:masks"],
    ],
    ids=lambda given: given[0],
)
def test_each_command_writes_to_files_only(tmp_path, saved, capsys, given):
    texts = tmp_path / "texts.txt"
    texts.write_text("a key\nthe keys\n")
    target = tmp_path / {"export": "out.html", "pool": "out.csv"}.get(given[0], "out")
    os.mkfifo(target)
    filled = [part.format(saved=saved, texts=texts) for part in given]
    status, said = _called([*filled, "-o", str(target)], capsys)
    assert status == (2 if given[0] == "audit" else 1)
    assert "not a regular file; choose another name" in said


def _called(arguments: list[str], capsys) -> tuple[int, str]:
    try:
        status = cli.main(arguments)
    except SystemExit as ended:
        status = ended.code
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        (["serve", "--port", "99999"], 2, "'99999' is not a port; give 0 to 65535"),
        (["serve", "--port", "-1"], 2, "'-1' is not a port"),
        (["serve", "--port", "٣"], 2, "is not a port"),
        (["serve", LONG], 1, "There is no file"),
        (["serve", "--host", "no host"], 1, "is not an address to listen on"),
        (["serve", "--host", LONG], 1, "is not an address to listen on"),
        (["trace", "a key", "--model", "grammar", "-o", LONG], 1, "File name too long"),
        (["trace", LONG, "--model", LONG], 1, "no folder"),
        (["trace", "a", "--model", "no such", "-o", "a.pt"], 1, "name it a.safetensors"),
        (["export", LONG, "-o", "a.html"], 1, "There is no file"),
        (["export", "{saved}", "-o", LONG], 1, "File name too long"),
        (["export", "{saved}", LONG, "-o", "a.html"], 1, "There is no view"),
        (["export", "{saved}", "rollout", "-o", LONG + ".html"], 1, "File name too long"),
        (["export", "{saved}", "rollout", "--option", LONG, "-o", "a.html"], 1, "is not an option"),
        (["pool", LONG, "-o", "a.csv"], 1, "cannot be read: File name too long"),
        (["pool", "{pipe}", "-o", "a.csv"], 1, "is not a regular file; give one, or a folder"),
        (["pool", "{folder}", "-o", "a.csv"], 1, "The set is empty"),
        (["models", LONG], 1, "no folder"),
        (["audit", LONG], 2, "does not name a function"),
        (["attribute", "a cat", "--of", "answer"], 1, "no prediction head"),
        (["attribute", "a cat", "--token", "9"], 1, "no token 9"),
        (["attribute", "a cat", "--token", "dog"], 1, "There is no token 'dog'"),
        (["attribute", "a cat", "-o", "x.doc"], 1, "has no known ending"),
        (["attribute", "nothing.png"], 1, "is not a file"),
        (["attribute", "a cat", "--pair", "a dog", "--token", "1"], 1, "leave out other questions"),
        (["effect", "", "--model", "grammar"], 1, "The text is empty"),
        (["effect", "the [MASK]", "--model", "grammar", "--heads", "3"], 1, "3.0,2.1"),
        (["effect", "the [MASK]", "--model", "grammar", "--heads", "9.0"], 1, "no layer 9"),
        (["effect", "the [MASK]", "-o", "effect.txt"], 1, "must end in .csv"),
        (["effect", "the [MASK]", "--model", "grammar", "--answer", "keyses"], 1, "keyses"),
        ([*POOL, "--methods", "mean,odd"], 1, "no pooling 'odd'"),
        ([*POOL, "--methods", "attention"], 1, "needs a learned query"),
        ([*POOL, "--states", "7"], 1, "no state 7"),
        ([*POOL, "--states", "x"], 1, "--states is 'x'"),
        ([*POOL, "--prompt", "q"], 1, "no prompt named 'q'; it has no prompts"),
        ([*POOL, "--model", "grammar", "--methods", "declared"], 1, "declares no pooling"),
        ([*POOL, "--model", "grammar", "--prompt", "query"], 1, "declares no pooling"),
        ([*POOL, "-o", "a.pdf"], 1, "choose one of .csv"),
        ([*POOL, "--table", "t.csv"], 1, "no labels"),
        ([*CORPUS, "-o", "heads.xls"], 1, "known ending"),
        ([*CORPUS, "-o", "no/heads.csv"], 1, "cannot be written"),
        ([*CORPUS, "--column", "body"], 1, "'id', 'text', and no column 'body'"),
        ([*CORPUS, "--measures", "speed"], 1, "measures holds 'speed'"),
        ([*CORPUS, "--examples", "0"], 1, "at least 1"),
        ([*CORPUS, "--vectors", "vectors.npy"], 1, "must end in .parquet"),
        ([*CORPUS, "-o", "v.parquet", "--vectors", "v.parquet"], 1, "cannot be one file"),
        ([*CORPUS, "--vectors", "v.parquet", "--pooling", "sum"], 1, "no pooling 'sum'"),
    ],
)
def test_odd_values_are_answered_plainly(tmp_path, monkeypatch, saved, capsys, given, status, says):
    """In a sentence, and no file is left."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "texts.csv").write_text("id,text\n0,the keys are old\n1,the key\n")
    places = {"saved": saved, "pipe": tmp_path / "pipe", "folder": tmp_path / "folder"}
    got, said = _called([part.format(**places) for part in given], capsys)
    assert got == status and says in said and len(said) < 1500
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe", "texts.csv"]


def test_a_temporary_folder_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "file" / "below"))
    status, said = _called(["serve", "--port", "0"], capsys)
    assert status == 1 and "Traceback" not in said
    assert "cannot be written: Not a directory. Set GRADIO_TEMP_DIR or TMPDIR" in said


def test_a_reader_that_has_gone(monkeypatch, capsys):
    """As with `viz-encoder models | head -1`."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as gone:  # what is left is flushed at its end, as at that of a process
        monkeypatch.setattr(sys, "stdout", gone)
        assert cli.main(["models", "scene"]) == 1
    assert capsys.readouterr().err == ""
