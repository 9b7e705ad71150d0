"""python -m benchmarks.faithfulness: measure everything, two processes at a time; write FAITHFULNESS.md."""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.faithfulness import cost, deletion, grammar, heads, scene
from benchmarks.faithfulness.page import page
from scripts.grammar import RULES

AT_ONCE = 2
# One core each; times are of the processor, which the other process does not add to.
ALONE = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
SECTIONS = {
    **{f"cost {n}": partial(cost.measured, n) for n in reversed(cost.LENGTHS)},
    **{each.__name__.split(".")[-1]: each.measured for each in (deletion, scene, heads)},
    **{f"grammar {rule}": partial(grammar.measured, rule) for rule in RULES},
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness", description=__doc__)
    parser.add_argument(
        "--section", choices=SECTIONS, help="only this, as JSON; nothing is written"
    )
    given = parser.parse_args(arguments)
    if given.section:
        torch.set_num_threads(1)
        print(json.dumps(SECTIONS[given.section]()))
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(SECTIONS, pool.map(_in_a_process, SECTIONS), strict=True))
    (Path(__file__).parents[1] / "FAITHFULNESS.md").write_text(page(found), encoding="utf-8")


def _in_a_process(section: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.faithfulness", "--section", section]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ALONE})
    if done.returncode:
        raise RuntimeError(f"{section} failed:\n{done.stderr}")
    print(f"{section} is measured.", flush=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
