"""A cache whose steps look elsewhere than one run does: the cause by the maps of the steps."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.cause_cases import Kernel
from tests.audit.plants import banded
from viz_encoder.audit import AuditScope

WINDOW = 3


class Cached(nn.Module):
    """Two layers with a cache of their own inputs, over a window; `wrong` only with a cache."""

    def __init__(self, wrong, kind):
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.wrong = nn.ModuleList(Kernel(kind) for _ in range(2)), wrong

    def forward(self, x, _):
        return self.step(x, None)[0]

    def step(self, x, cache):
        past, kept = (0, [x[:, :0]] * 2) if cache is None else cache
        n_new, held = x.shape[1], []
        for layer, old in zip(self.layers, kept, strict=True):
            seen = torch.cat([old, x], dim=1)
            place = torch.arange(past + n_new)[-seen.shape[1] :]
            rows = place[-n_new:, None]
            first = rows - past if self.wrong == "rows" else rows
            keep = (place <= rows) & (place > first - WINDOW)
            square = torch.ones(seen.shape[1], seen.shape[1]).tril().bool()
            square[-n_new:] = keep
            if self.wrong == "of one" and past and len(x) == 1:
                square[-n_new:, 0] = True
            if self.wrong == "of three" and past and n_new == 3:
                square[-n_new:, -n_new:] = True
            if self.wrong == "filling" and past:
                seen, square = F.pad(seen, (0, 0, 1, 0)), F.pad(square, (1, 0, 1, 0), value=True)
            x = x + layer(seen, square.expand(len(x), -1, -1))[:, -n_new:]
            lost = self.wrong in ("short", "filling") and cache is not None
            held.append(seen[:, 1 if lost else 0 :])
        return x, (past + n_new, held)


@pytest.mark.parametrize("kind", ["fused", "unseen"])
@pytest.mark.parametrize("wrong", ["rows", "short", "of one", "of three", "filling", ""])
def test_what_a_step_sees_too_much_or_too_little_is_named(wrong, kind):
    model = Cached(wrong, kind).eval()
    options = {"d_model": 8, "n_layers": 2, "scope": AuditScope(step=model.step)}
    found = vz.audit_mask(model, banded(WINDOW), **options).check("cache")
    codes = {
        "rows": "cache_pattern" if kind == "fused" else "",
        "short": "cache_short",
        "of one": "one_sample_step",
        "of three": "open_piece",
        "filling": "open_slots" if kind == "fused" else "",
        "": "",
    }
    assert (found.verdict, found.code) == ("FAIL" if wrong else "PASS", codes[wrong]), found
    assert "not the mask" not in found.cause


@pytest.mark.parametrize("where", ["mask", "path"])
def test_a_path_of_dropout_without_the_mask_is_not_called_dropout_on_the_mask(where):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer, self.rate = Kernel("fused"), 0.3

        def forward(self, x, keep):
            drops = self.training and self.rate > 0
            if drops and where == "path":
                keep = torch.ones_like(keep)
            elif drops:
                keep = nn.functional.dropout((~keep).float(), self.rate) == 0
            return x + nn.functional.dropout(self.layer(x, keep), self.rate, self.training)

    found = vz.audit_mask(Model().eval(), banded(WINDOW), d_model=8).check("train_mode")
    assert found.verdict == "FAIL" and found.code == (
        "mask_dropout" if where == "mask" else "ignored"
    )
