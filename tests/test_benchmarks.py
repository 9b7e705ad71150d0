"""The benchmarks run: one round of one row, in a process of its own, printing its line."""

from benchmarks.__main__ import main


def test_a_row_is_measured_and_nothing_is_written(capsys, monkeypatch):
    monkeypatch.setattr("pathlib.Path.write_text", None)
    main(["--quick", "--only", "capture ÷ without, MiniLM, T = 128"])
    line = capsys.readouterr().out.strip()
    what, measured, limit, peak = (part.strip() for part in line.strip("|").split("|"))
    assert what.endswith("T = 128") and limit == "≤ 1.03"
    assert 0.5 < float(measured.split()[0]) < 3 and float(peak) > 0
