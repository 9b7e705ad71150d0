"""Parts of a model beside attention: what is attention is held to the same part on every batch."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from tests.audit.plants import causal
from viz_encoder.audit.diagnose import part_cause
from viz_encoder.audit.measure.parts import MixingPart
from viz_encoder.audit.measure.setting import Case


def case_of(n_tokens: int) -> Case:
    valid = torch.ones(2, n_tokens, dtype=torch.bool)
    return Case(torch.zeros(2, n_tokens, 4), valid, (causal(valid),), None)


def parts_of(case: Case) -> tuple[MixingPart, ...]:
    """A norm over tokens, and attention that sees the next token too."""
    n_tokens = case.valid.shape[1]
    every = torch.ones(2, n_tokens, n_tokens, dtype=torch.float64)
    return MixingPart("norm", "GroupNorm", every, False), MixingPart(
        "own", "Kernel", every.tril(1), False
    )


@pytest.fixture
def told(monkeypatch):
    """What the cause of the maps is looked for in."""
    given = []
    monkeypatch.setattr(part_cause, "mixing_parts", lambda subject, case: parts_of(case))
    monkeypatch.setattr(part_cause, "over_queries", lambda context, case: None)
    monkeypatch.setattr(part_cause, "half_masked", lambda *where: None)
    monkeypatch.setattr(
        part_cause, "diagnose_maps", lambda seen, excluded: given.append(seen) or part_cause.UNKNOWN
    )
    return given


def test_each_batch_shows_the_same_part(told):
    context = SimpleNamespace(
        n_layers=1,
        subject=SimpleNamespace(flattened=lambda times: nullcontext()),
        setting=SimpleNamespace(fixed=True),
        scope=SimpleNamespace(documents=False),
        intent=lambda case, number: case.allowed[0],
        pattern=lambda case, number=None: case.allowed[0],
        batches=SimpleNamespace(further=lambda case: [case_of(5), case_of(9)]),
    )
    base = case_of(7)
    part_cause.by_parts(context, base)
    [seen] = told
    assert [one.opened.shape[-1] for one in seen] == [7, 5, 9]
    for one in seen:
        assert torch.equal(one.opened[0, 0], torch.ones(one.opened.shape[-2:]).tril(1).bool())
