"""8,192 tokens: everything is computed in blocks, never as much as one whole map at once."""

import subprocess
import sys

PROGRAM = """
import resource, torch
import viz_encoder as vz
from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.survey import survey
from viz_encoder.analyses.value_weighted import value_weighted, value_weighted_sum
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.model import Encoder

N = 8192
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
config = vz.EncoderConfig(
    n_layers=2, n_heads=2, d_model=16, d_ff=16, vocab_size=9, max_positions=N, window={window}
)
torch.manual_seed(0)
encoder = LoadedEncoder(Encoder(config).eval(), None, ModelCard("tiny", "here"))
trace = vz.capture(encoder, torch.randint(0, 9, (1, N)))
before = peak()
assert trace.proof.passed
assert len(survey(trace)) == 2
tile = overview(trace, 1, "mean", rows=slice(0, N), keys=slice(0, N))
assert tile.values.shape == (512, 512)
assert overview(trace, 1, 0, rows=slice(8000, 8100), keys=slice(7990, 8192)).row_step == 1
assert abs(rollout(trace, 4000).rows.sum(axis=1) - 1).max() < 1e-4
assert value_weighted(encoder, trace, 1, rows=slice(4000, 4500)).norms.shape == (2, 500, N)
assert value_weighted_sum(encoder, trace, 1, rows=slice(0, 500)).norms.shape == (500, N)
print(peak() - before, 4 * N * N)
"""


def test_no_analysis_holds_a_whole_map():
    for window in (None, 64):
        program = PROGRAM.format(window=window)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        grown, one_map = map(int, done.stdout.split())
        assert grown < one_map, f"{grown / 2**20:.0f} MiB, a map is {one_map / 2**20:.0f}"
