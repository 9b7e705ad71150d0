"""Where torch.compile gives up on one of an audit's many sizes, it is said to be not tested."""

import pytest
import torch
from torch._dynamo.exc import TorchDynamoException

from tests.audit.audits import audit, own
from tests.audit.plants import Stack, causal
from viz_encoder.audit import AuditInputs, AuditScope

BFLOAT16 = AuditScope(dtype=torch.bfloat16)
LENGTHS = AuditScope(lengths=(7, 12))
N_TOKENS = AuditScope().first_length
BOTH = AuditInputs(padding_side="both")


class Compiled(Stack):
    """Gives up where it is told to."""

    def __init__(self, gives_up, fault):
        super().__init__()
        self.gives_up, self.fault = gives_up, fault

    def forward(self, x, keep):
        if self.gives_up(self, x, keep):
            raise self.fault("a limit is reached")
        return super().forward(x, keep)


def training(model, x, keep):
    return model.training


def alone_with_padding(model, x, keep):
    return len(x) == 1 and not keep.any(dim=1).all()


def each_alone(model, x, keep):
    return len(x) == 1 and x.shape[1] < N_TOKENS


def one_alone(model, x, keep):
    return len(x) == 1 and x.shape[1] == N_TOKENS - 2


def padded_on_the_left(model, x, keep):
    return not keep[:, :, 0].any(dim=1).all()


def longer(model, x, keep):
    return x.shape[1] == 12


def narrow(model, x, keep):
    return x.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("gives_up", "where", "more"),
    [
        (training, "Training mode:", {}),
        (alone_with_padding, "With a padded batch of one", {}),
        (one_alone, "Alone and with padding:", {}),
        (padded_on_the_left, "Padding on the left:", {"inputs": BOTH}),
        (longer, "At 12 tokens", {"scope": LENGTHS}),
        (narrow, "In bfloat16", {"scope": BFLOAT16}),
    ],
)
def test_what_torch_cannot_compile_is_not_tested(gives_up, where, more):
    report = audit(Compiled(gives_up, TorchDynamoException).eval(), causal, **more)
    assert report.verdict == "PASS", str(report)
    told = f"{where} torch could not compile the model (TorchDynamoException); audit it before"
    assert any(line.startswith(told) for line in report.not_tested), report.not_tested
    other = audit(Compiled(gives_up, ValueError).eval(), causal, **more)
    # What training mode alone refuses may be the fault of the inputs that were made.
    assert other.verdict == ("PASS" if gives_up is training else "FAIL")


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (TorchDynamoException, "Alone and with padding: torch could not compile the model"),
        (ValueError, "Alone and with padding: without its padding, the model raised ValueError"),
    ],
)
def test_why_samples_alone_were_not_tested(fault, told):
    report = audit(Compiled(each_alone, fault).eval(), causal)
    assert any(line.startswith(told) for line in report.not_tested), report.not_tested


class CountsFromTheEnd(Compiled):
    """Positions are counted from the padding's end: a bug that no compiler is to hide."""

    def forward(self, x, keep):
        place = torch.arange(x.shape[1] - 1.0, -1.0, -1.0)
        return super().forward(x + 0.3 * place[None, :, None], keep)


def test_a_difference_is_told_though_another_sample_could_not_be_compiled():
    report = audit(CountsFromTheEnd(one_alone, TorchDynamoException).eval(), causal)
    evidence = report.check("padding_invariance").evidence
    assert "is not the same alone and with padding" in evidence


def test_a_model_that_torch_cannot_compile_at_all_fails():
    report = audit(Compiled(lambda *_: True, TorchDynamoException).eval(), causal)
    assert report.verdict == "FAIL" and "raised TorchDynamoException" in str(report)


class Unmasked(Stack):
    """Looks at all tokens."""

    def forward(self, x, keep):
        return super().forward(x, torch.ones_like(keep))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("right", [True, False])
def test_a_traced_model_is_judged_by_its_outputs(right):
    """Its code is not Python's; traced without its mask, it has lost it."""
    model, x = (Stack() if right else Unmasked()).eval(), torch.randn(2, N_TOKENS, 8)
    keep = causal(torch.ones(2, N_TOKENS, dtype=torch.bool))
    traced = torch.jit.trace(model, (x, keep))
    report = audit(lambda x, keep: traced(x, keep), causal)
    assert (report.verdict == "FAIL") != right and not own(report, "ERROR"), str(report)
