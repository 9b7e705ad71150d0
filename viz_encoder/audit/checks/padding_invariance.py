"""Whether a sample is the same alone as with padding in a batch."""

from torch import Tensor

from viz_encoder.audit.bench import Answer, Bench, Gap, Question, gap, passes, untested
from viz_encoder.audit.naming import say
from viz_encoder.audit.report import Verdict
from viz_encoder.audit.setting import Case, ModelFault


def ask(bench: Bench) -> Answer:
    """Every sample of the base case."""
    return look(bench, bench.base, bench.out) or passes(
        f"Real rows alone and with padding agree to {bench.tolerance(bench.out):.1g}."
    )


def look(bench: Bench, case: Case, out: Tensor) -> Answer | None:
    """The largest difference of a sample alone; None where they agree."""
    if not case.padded:
        return None
    worst, refused, cut = Gap(0.0, 0, 0), [], 0
    for sample in range(len(case.valid)):
        alone = bench.setting.alone(case, sample)
        if alone is None or bool(case.valid[sample].all()):
            continue
        cut += 1
        try:
            other = bench.subject.run(alone)
        except ModelFault as fault:
            refused.append(str(fault))
            continue
        padded = (
            out[sample : sample + 1] if out.ndim == 2 else out[sample, case.valid[sample]][None]
        )
        apart = gap(padded, other)
        worst = max(worst, apart._replace(sample=sample))
    if refused and len(refused) == cut:
        return untested(f"It takes only {case.valid.shape[1]} tokens: {refused[0]}.")
    if refused:
        return Answer(Verdict.FAIL, f"The model raised {refused[0]}.")
    if worst.amount <= bench.tolerance(out):
        return None
    who = "Its output" if out.ndim == 2 else f"Its token {worst.query}"
    text = (
        f"Sample {worst.sample} is not the same alone and with padding: {who.lower()} differs by "
        f"{worst.amount:.2g}."
    )
    found = Answer(Verdict.FAIL, text, sample=worst.sample, query=worst.query, amount=worst.amount)
    if bench.passed("gradient") and out.ndim == 2:
        return found.because(say("pooling", sure=False))
    if bench.passed("gradient"):
        cause = (
            "consistent with: positions counted from the padding, pooling over padding, or a part "
            "besides attention that counts padded tokens."
        )
        return found._replace(cause=cause)
    return found


QUESTION = Question(
    "padding_invariance",
    "Alone and with padding",
    ask,
    (
        "runs",
        "static",
        "constants",
        "batch_independence",
        "maps",
        "row_sums",
        "gradient",
        "perturbation",
    ),
)
