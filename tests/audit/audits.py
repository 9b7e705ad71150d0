"""An audit of a small model, and which of its checks are red of themselves."""

import torch
from torch import nn

import viz_encoder as vz
from tests.audit.plants import padding

SMALL = {"d_model": 8, "n_layers": 2}


def audit(model, intent=padding, make_mask=None, **more):
    return vz.audit_mask(model, intent, make_mask, **{**SMALL, **more})


def own(report, verdict="FAIL"):
    """The names of the checks that have this verdict of themselves."""
    return [c.name for c in report.checks if c.verdict == verdict and not c.follows_from]


def encoder_of_torch():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 2).eval()
