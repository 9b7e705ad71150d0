"""Whether the pooled vector of a sample changes with its padding."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, Bench, Gap, Question, gap, passes, untested
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.report import Verdict

POOLED = {  # what a pooled vector equals, and what it should be made of
    "the mean over all rows, padding too": "(out * m).sum(1) / m.sum(1), with m = valid[..., None]",
    "the maximum over all rows, padding too": "out.masked_fill(~valid[..., None], -inf).amax(1)",
    "the last row, padding or not": "out[torch.arange(len(out)), valid.sum(1) - 1]",
}


def ask(bench: Bench) -> Answer:
    """pooled(output, valid), in the batch and alone."""
    if bench.options.pooled is None:
        if bench.is_pooled:
            return passes(
                "The model pools: it is judged by its padding, its gradients and changes."
            )
        return untested("Pooling of the outputs: no pooled= was given.")
    case = bench.base
    whole = _pool(bench, case)
    bad = case.valid.any(dim=1) & ~whole.isfinite().all(dim=-1)
    if bool(bad.any()) and not bench.is_spoiled:
        sample = int(bad.nonzero()[0])
        return Answer(Verdict.FAIL, f"The pooled vector of sample {sample} is NaN.", sample=sample)
    worst = Gap(0.0, 0, 0)
    for sample in range(len(case.valid)):
        alone = bench.setting.alone(case, sample)
        if alone is not None:
            apart = gap(_pool(bench, alone), whole[sample : sample + 1])
            worst = max(worst, apart._replace(sample=sample))
    if worst.amount <= bench.tolerance(whole):
        return passes("The pooled vectors are the same alone and with padding.")
    text = (
        f"The pooled vector of sample {worst.sample} changes by {worst.amount:.2g} with its "
        "padding."
    )
    answer = Answer(Verdict.FAIL, text, code="pooling", sample=worst.sample, amount=worst.amount)
    for what, cure in POOLED.items():
        if torch.allclose(whole, _candidate(bench.out, what), atol=bench.tolerance(whole), rtol=0):
            return answer._replace(cause=f"it is {what}.", cure=cure)
    return answer._replace(cause="consistent with: padding has a share in it.")


def _pool(bench: Bench, case: Case) -> Tensor:
    assert bench.options.pooled is not None
    with torch.no_grad():
        return bench.options.pooled(bench.subject.run(case), case.valid)


def _candidate(out: Tensor, what: str) -> Tensor:
    if "mean" in what:
        return out.mean(dim=1)
    return out.amax(dim=1) if "maximum" in what else out[:, -1]


QUESTION = Question("output_pooling", "Pooling", ask, ("runs", "padding_invariance"))
