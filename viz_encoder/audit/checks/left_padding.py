"""Whether padding may also stand on the other side of the tokens."""

from viz_encoder.audit.bench import Answer, Bench, Question, passes, untested
from viz_encoder.audit.checks import gradient, maps, padding_invariance
from viz_encoder.audit.maps import maps_of
from viz_encoder.audit.report import Verdict
from viz_encoder.audit.setting import Case, ModelFault

CURE = "Pass position_ids that count from the first real token: (valid.cumsum(1) - 1).clamp(min=0)"


def ask(bench: Bench) -> Answer:
    """Red where it was asked for (positions="both"); else told, for most encoders pad right."""
    side = "right" if bench.setting.left else "left"
    if bench.setting.given is not None:
        return untested(f"Padding on the {side}: valid was given.")
    valid = bench.setting.padding(bench.base.valid.shape[1], left=not bench.setting.left)
    case = bench.setting.case(valid)
    found = _look(bench, case)
    if found is None:
        return passes(f"With padding on the {side} real rows are right, too.")
    if found.verdict is Verdict.NOT_TESTED:
        return found._replace(evidence=f"Padding on the {side}: {found.evidence}")
    text = f"With padding on the {side}: {found.evidence[:1].lower()}{found.evidence[1:]}"
    if bench.options.positions == "both":
        return found._replace(evidence=text)
    return found._replace(verdict=Verdict.INFO, evidence=text, cure=found.cure or CURE)


def _look(bench: Bench, case: Case) -> Answer | None:
    try:
        out = bench.subject.run(case)
        bad = ~out.isfinite().flatten(out.ndim - 1).all(dim=-1)
        real = bad & case.valid if bad.shape == case.valid.shape else bad[:, None]
        if bool(real.any()):
            sample, query = (int(n) for n in real.nonzero()[0])
            text = f"Token {query} of sample {sample} is NaN."
            return Answer(Verdict.FAIL, text, sample=sample, query=query)
        leak = maps.look(bench, case, maps_of(bench.subject, case))
        if leak is None and not isinstance(found := bench.gradients_on(case), str):
            leak = gradient.look(bench, case, found)
            if leak is not None and leak.key is None:
                leak = None  # NaN gradients of rows that look at nothing; told in evidence above
        return leak or padding_invariance.look(bench, case, out)
    except ModelFault as fault:
        return Answer(Verdict.FAIL, f"The model raised {fault}.")


QUESTION = Question(
    "left_padding",
    "Padding on the other side",
    ask,
    (
        "runs",
        "static",
        "batch_independence",
        "maps",
        "row_sums",
        "gradient",
        "perturbation",
        "padding_invariance",
    ),
)
