"""3,072 tokens: everything is computed in blocks, never as much as one whole map at once."""

import os
import subprocess
import sys

# A map of 3,072 tokens has 36 MiB, and blocks are made so small that several of them fit into it.
# What is freed goes back at once and the peak is counted anew: what capture took hides nothing.
PROGRAM = """
import re, torch
from importlib import import_module
import viz_encoder as vz
from viz_encoder.analyses.change import layer_change
from viz_encoder.analyses.column import column
from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.pair import pair
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.survey import survey
from viz_encoder.analyses.value_weighted import value_weighted, value_weighted_sum
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.model import Encoder
from viz_encoder.trace import layer

rollouts = import_module("viz_encoder.analyses.rollout")
weighted = import_module("viz_encoder.analyses.value_weighted")

N = 3072
for module in (layer, rollouts, weighted):
    module.BLOCK_BYTES //= 16

def held(what):
    return int(re.search(what + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

def walk(window):
    config = vz.EncoderConfig(
        n_layers=2, n_heads=2, d_model=16, d_ff=16, vocab_size=9, max_positions=N, window=window
    )
    torch.manual_seed(0)
    encoder = LoadedEncoder(Encoder(config).eval(), None, ModelCard("tiny", "here"))
    trace = vz.capture(encoder, torch.randint(0, 9, (1, N)))
    open("/proc/self/clear_refs", "w").write("5")
    before = held("VmRSS")
    assert trace.proof.passed
    assert len(survey(trace)) == 2
    tile = overview(trace, 1, "mean", rows=slice(0, N), keys=slice(0, N))
    assert tile.values.shape == (512, 512)
    assert pair(trace, 3000, 2990).weights.shape == (2, 2)
    assert column(trace, 0, "mean", 77).weights.shape == (N,)
    assert layer_change(trace, trace, 1).heads.max() == 0
    assert overview(trace, 1, 0, rows=slice(3000, 3060), keys=slice(2900, N)).row_step == 1
    assert abs(rollout(trace, 1500).rows.sum(axis=1) - 1).max() < 1e-4
    assert value_weighted(encoder, trace, 1, rows=slice(1500, 1650)).norms.shape == (2, 150, N)
    assert value_weighted_sum(encoder, trace, 1, rows=slice(0, 150)).norms.shape == (150, N)
    return held("VmHWM") - before

{more}
print(walk(None), walk(64), 4 * N * N)
"""
AT_ONCE = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "1000000",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
}


def grown(more: str = "") -> list[int]:
    """Bytes that each of two runs took at its peak, and those of one map."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{more}", more)],
        env={**os.environ, **AT_ONCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


def test_no_analysis_holds_a_whole_map():
    plain, windowed, one_map = grown()
    for found in (plain, windowed):
        assert found < one_map, f"{found / 2**20:.0f} MiB, a map is {one_map / 2**20:.0f}"
