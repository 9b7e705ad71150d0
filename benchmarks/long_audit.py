"""A whole audit at one length: processor seconds, which two cores share."""

import time
from collections.abc import Callable

import torch

import viz_encoder as vz
from benchmarks.models import Shape, torch_encoder
from viz_encoder.audit import AuditScope

SMALL = Shape("4 layers, 4 heads", n_layers=4, n_heads=4, d_model=64, d_ff=128)


def audit_seconds(n_tokens: int, *, wrong: bool = False) -> Callable[[int], float]:
    """Of nn.TransformerEncoder with padding; its dropout is tried in training mode, too.

    If it is wrong, its mask is inverted, which spoils most checks and asks for a cause of each.
    """

    def measure(rounds: int) -> float:
        model, scope = torch_encoder(SMALL), AuditScope(lengths=[n_tokens])
        start = time.process_time()
        report = vz.audit_mask(model, _padding, _inverted if wrong else None, scope=scope)
        assert report.verdict == ("FAIL" if wrong else "PASS"), str(report)
        assert not wrong or report.failed[0].code == "inverted"
        return time.process_time() - start

    return measure


def _padding(valid: torch.Tensor) -> torch.Tensor:
    return valid[:, None, :].expand(-1, valid.shape[1], -1)


def _inverted(valid: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"src_key_padding_mask": valid}
