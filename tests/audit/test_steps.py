"""Steps with a cache that see too much or too little, and what may be left out alone."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit
from tests.audit.cause_cases import Kernel
from tests.audit.plants import Stack, banded, causal, padding
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


@pytest.mark.parametrize(
    "wrong, kind",
    [
        *((one, "fused") for one in ("rows", "short", "of one", "of three", "filling", "")),
        *((one, "unseen") for one in ("rows", "short", "filling")),
    ],
)
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


def number_of(valid):
    return (torch.arange(valid.shape[1]) >= 4).long().expand(valid.shape)


def two_documents(valid):
    number = number_of(valid)
    return (number[:, :, None] == number[:, None, :]) & valid[:, None, :]


class EveryThird(Stack):
    """Looks at itself and at every third place."""

    def forward(self, x, keep):
        places = torch.arange(x.shape[1])
        return super().forward(x, keep & ((places % 3 == 0) | (places[:, None] == places)))


def test_a_document_may_leave_out_other_links_alone():
    scope = AuditScope(documents=number_of, may_leave_out=True)
    report = audit(EveryThird().eval(), two_documents, scope=scope)
    assert report.check("documents").verdict == "PASS" and report.ok, str(report)


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("kept", [2, None])
def test_a_cache_may_drop_keys(kept, padded):
    """A prompt is read densely, and each further token sees the last keys only."""
    model = Stack(1).eval()

    def cached(x, cache, mask=None):
        x = x if cache is None else torch.cat([cache, x], 1)
        keep = causal(torch.ones(x.shape[:2]).bool()) if mask is None else mask
        if cache is not None and kept:
            keep = keep.triu(1 - kept)
        return model(x, keep)[:, (0 if cache is None else cache.shape[1]) :], x

    step = (lambda x, cache, mask: cached(x, cache, mask)) if padded else cached
    for may in (True, False):
        report = audit(model, causal, scope=AuditScope(step=step, may_leave_out=may), n_layers=1)
        wrong = "NOT TESTED" if may else "FAIL"
        assert report.check("cache").verdict == (wrong if kept else "PASS"), str(report)
        assert report.ok is (may or not kept), str(report)


class ProbSparse(nn.Module):
    """Two queries attend, those that stand out from a look at some keys; others take the mean."""

    def __init__(self, *, among_all=False, draws=False):
        super().__init__()
        torch.manual_seed(0)
        self.among_all, self.draws, self.qkv = among_all, draws, nn.Linear(8, 24)

    def forward(self, x, valid):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.mT / 3).masked_fill(~valid[:, None], -torch.inf)
        n_tokens = x.shape[1]
        keys = torch.randint(n_tokens, (3,)) if self.draws else torch.arange(n_tokens)
        most = scores[:, :, keys].amax(-1).clamp(min=-99)
        top = most.masked_fill(~valid & (not self.among_all), -100).topk(2).indices[..., None]
        real = valid[..., None]
        out = ((v * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)).expand_as(v)
        attended = scores.gather(1, top.expand(-1, -1, n_tokens)).softmax(-1) @ v
        return x + out.scatter(1, top.expand_as(attended), attended)


def test_queries_that_are_chosen_among_real_tokens_and_among_padding():
    def report(model):
        return vz.audit_mask(model.eval(), padding, lambda valid: valid, d_model=8, n_layers=1)

    assert report(ProbSparse()).verdict == "PASS"
    found = report(ProbSparse(among_all=True)).failed[0]
    assert found.code == "sampled" and found.cause.startswith("consistent with"), found


def test_keys_that_are_drawn_in_each_call_are_not_called_dropout():
    model = ProbSparse(draws=True).eval()

    def seeded(x, valid):
        torch.manual_seed(0)
        return model(x, valid)

    scope = AuditScope(may_leave_out=True)
    given = {"d_model": 8, "n_layers": 1, "module": model, "scope": scope}
    report = vz.audit_mask(model, padding, lambda valid: valid, **given)
    assert report.verdict == "NOT TESTED" and "torch.manual_seed(0)" in str(report)
    report = vz.audit_mask(seeded, padding, lambda valid: valid, **given)
    assert report.verdict in ("PASS", "WARN"), str(report)
