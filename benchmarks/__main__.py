"""python -m benchmarks: run every row in a process of its own and write RESULTS.md."""

import argparse
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.rows import GPU_ROWS, ROWS, Row

THREADS = 1
# Both sides reuse memory, as in a process that has run for a while: the price of a page that the
# system hands out for the first time differs 40-fold between machines, and is paid once.
REUSED = {"MALLOC_TRIM_THRESHOLD_": str(2**32 - 1), "MALLOC_MMAP_THRESHOLD_": str(2**32 - 1)}
# A thread that waits for the other one sleeps: where other programs share the cores, it would spin
# for as long as that one is not scheduled, and be counted as work.
IDLE = {"OMP_WAIT_POLICY": "passive"}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds a row (%(default)s)")
    parser.add_argument("--only", default="", help="rows whose name holds these words")
    parser.add_argument("--quick", action="store_true", help="one round, and nothing is written")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    given.rounds = 1 if given.quick else given.rounds
    rows = [*ROWS, *(GPU_ROWS if torch.cuda.is_available() else [])]
    if given.row is not None:
        _measure(rows[given.row], given.rounds)
        return
    chosen = [(i, row) for i, row in enumerate(rows) if given.only in row.what]
    lines = [_in_a_process(i, row, given.rounds) for i, row in chosen]
    if not given.only and not given.quick:
        (Path(__file__).parent / "RESULTS.md").write_text(_table(lines, given.rounds))


def _measure(row: Row, rounds: int) -> None:
    torch.set_num_threads(THREADS)
    value = row.measure(rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{value:.3f} {peak:.1f}")


def _in_a_process(index: int, row: Row, rounds: int) -> str:
    """Memory that another row took must not show in this one's peak."""
    command = [sys.executable, "-m", "benchmarks", "--row", str(index), "--rounds", str(rounds)]
    settings = IDLE if row.fresh else IDLE | REUSED
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **settings}
    )
    value, peak = done.stdout.split()[-2:]
    line = f"| {row.what} | {float(value):.2f} {row.unit} | {row.limit} | {peak} |"
    print(line, flush=True)
    return line


def _table(lines: list[str], rounds: int) -> str:
    where = f"{platform.machine()}, {THREADS} thread, torch {torch.__version__}"
    if torch.cuda.is_available():
        where += f", {torch.cuda.get_device_name()}"
    head = "| what | measured | must reach | peak memory of the process (GB) |\n|---|---|---|---|\n"
    return (
        f"# Benchmarks\n\nRatios of medians of processor seconds over at least {rounds} alternated rounds, random weights, float32, "
        f"each row in a process of its own, memory reused where nothing else is said, waiting threads asleep. {where}. Written by `make bench`.\n\n"
        + head
        + "\n".join(lines)
        + "\n"
    )


if __name__ == "__main__":
    main()
