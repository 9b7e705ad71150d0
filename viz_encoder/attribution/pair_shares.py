"""PairShares: a dot product of two pooled vectors, split exactly over pairs of their tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Most, public
from viz_encoder.attribution.frozen_run import TINY, FrozenRun
from viz_encoder.attribution.readout import readout_of
from viz_encoder.attribution.starts import Start, one_of, require_at_rest, starts_of
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measures import require_number
from viz_encoder.errors import TooLong, TraceError
from viz_encoder.model import Encoder
from viz_encoder.result import ArrayResult, Columns, largest
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import loaded
from viz_encoder.trace.recomputed import allowed

MOST = 256  # tokens of a text; each takes a forward pass of the frozen network
BATCH = 64  # of these passes at a time
FEW = 3


@dataclass(frozen=True, eq=False, repr=False)
class PairShares(ArrayResult, main="shares"):
    """Which word of one text met which word of the other in the dot product of their vectors.

    Each vector is a sum of one part a token and one for all biases, so their dot product is a sum
    over pairs of parts. Shares are signed and may cancel. Divided by `lengths`, both of them, they
    add up to the cosine.

    score: the dot product of the two pooled vectors.
    shares: of each token of the first text with each of the second.
    first: of each token of the first text with the biases of the second run.
    second: of each token of the second text with the biases of the first run.
    biases: of both runs' biases; it and all shares, first and second add up to the score.
    unexplained: |their sum − score| ÷ max(|score|, the sum of their absolute values).
    lengths: of the two vectors.
    """

    score: float
    shares: Float[np.ndarray, "token other"]
    first: Float[np.ndarray, " token"]
    second: Float[np.ndarray, " other"]
    biases: float
    unexplained: float
    lengths: tuple[float, float]
    traces: tuple[Trace, Trace]

    @property
    def sentence(self) -> str:
        """Which pairs of words brought most, in one sentence."""
        one, two = (trace.tokens for trace in self.traces)
        most = [
            f"{self.shares[i, j]:+.2f} from {quoted(one[i])} with {quoted(two[j])}"
            for i, j in self.ranked(FEW)
        ]
        cosine = self.score / max(TINY, self.lengths[0] * self.lengths[1])
        said = f"The dot product is {self.score:.2f} (cosine {cosine:.2f}): {', '.join(most)}."
        return said.replace("-", "−")

    @public
    def ranked(self, n: Most = 10) -> tuple[tuple[int, int], ...]:
        """The n pairs that brought most, whatever the sign, as (token, other)."""
        return largest(abs(self.shares), n)

    def columns(self) -> Columns:
        """One line a pair of tokens."""
        one, two = (list(trace.tokens) for trace in self.traces)
        n, m = self.shares.shape
        return {
            "number": np.repeat(np.arange(n), m).tolist(),
            "other": np.tile(np.arange(m), n).tolist(),
            "token": [name for name in one for _ in two],
            "other_token": two * n,
            "share": self.shares.flatten().tolist(),
        }


@public
def attribute_pair(encoder: LoadedEncoder | Encoder, first: Any, second: Any) -> PairShares:
    """Split the dot product of two texts' pooled vectors over pairs of their tokens, exactly.

    With both runs' attention weights, norm divisors and activation factors held as they ran, each
    pooled vector is a sum of one part a token and one for the biases, and the dot product a sum
    over pairs (as BiLRP, Eberle et al., 2022, arXiv:2003.05009, but exact). The parts of a text are
    found by as many forward passes of the frozen network as it has tokens, 64 in one batch.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        first, second: one text or other input each, as `vz.capture` takes it, or a trace of this
            encoder; of at most 256 tokens. Both may be the same: the square of its length is split.

    Raises:
        SelectionError: a model in training mode or with quantized weights, or a trace of another
            one.
        InputError: inputs that the encoder cannot read, or several; over 256 tokens; or a dot
            product that is not a number.
        TraceError: the shares do not add up to the dot product.
    """
    encoder = loaded(encoder, "attribute_pair")
    require_at_rest(encoder)
    given = {"first": first, "second": second}
    starts = [one_of(starts_of(encoder, each)[0], name) for name, each in given.items()]
    one, two = (_vector_of(encoder, start) for start in starts)
    score = require_number(float(one.whole @ two.whole), "The dot product is not a number")
    parts = one.tokens @ two.tokens.T, one.tokens @ two.biases, two.tokens @ one.biases
    biases = float(one.biases @ two.biases)
    size = max(abs(score), sum(float(abs(part).sum()) for part in parts) + abs(biases), TINY)
    missing = abs(sum(float(part.sum()) for part in parts) + biases - score) / size
    if not missing <= allowed(encoder.dtype):
        raise TraceError(
            f"The shares are {missing:.2g} apart from the dot product {score:.4g}, as a part of "
            "what is added up, so they are not shown. Load the model with dtype float32."
        )
    lengths = float(np.linalg.norm(one.whole)), float(np.linalg.norm(two.whole))
    return PairShares(score, *parts, biases, missing, lengths, (one.trace, two.trace))


@dataclass(frozen=True, eq=False)
class _Vector:
    """A pooled vector, and the parts of which it is the sum."""

    whole: Float[np.ndarray, " d"]
    tokens: Float[np.ndarray, "token d"]
    biases: Float[np.ndarray, " d"]
    trace: Trace


def _vector_of(encoder: LoadedEncoder, start: Start) -> _Vector:
    """A gradient of the frozen network is linear in its direction: its own gradient is forward."""
    n_tokens = start.x.shape[1]
    if n_tokens > MOST:
        raise TooLong(f"An input has {n_tokens} tokens; a table of pairs takes at most {MOST}.")
    readout = readout_of(encoder, start.sample, start.valid, "pooled", None)
    with torch.inference_mode(False), torch.enable_grad():
        run = FrozenRun(encoder, start, "values")
        with run.frozen:
            vector = readout.vectors(run, run.output)[0]
        along = torch.zeros_like(vector, requires_grad=True)
        (back,) = torch.autograd.grad(vector, run.hidden[0], along, create_graph=True)
        tokens = _forward(back, along, run.hidden[0].detach())
        told = [places.sum() for _, places in run.frozen.ledger.told]
        (biases,) = torch.autograd.grad(sum(told, start=0 * along.sum()), along)
    return _Vector(_plain(vector), _plain(tokens), _plain(biases), run.trace)


def _forward(
    back: Float[Tensor, "1 token d_model"],
    along: Float[Tensor, " d"],
    x: Float[Tensor, "1 token d_model"],
) -> Float[Tensor, "token d"]:
    """Each token's embedding alone, through the network whose gradient is `back`."""
    alone = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)[:, None, :, None]
    found = [
        torch.autograd.grad(back, along, some * x, retain_graph=True, is_grads_batched=True)[0]
        for some in alone.split(BATCH)
    ]
    return torch.cat(found)


def _plain(x: Tensor) -> Float[np.ndarray, "*place d"]:
    return x.detach().double().cpu().numpy()
