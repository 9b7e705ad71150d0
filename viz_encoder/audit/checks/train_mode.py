"""Whether masks hold in training mode as well, with every dropout at 0."""

import torch
from torch import Tensor, nn

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.faults import gradients, weights
from viz_encoder.audit.measure.changes import first_nonfinite, gap
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.measure.watch import NoDropout, hooked, without_dropout
from viz_encoder.audit.pictures import picture_of_map
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, raised, untested
from viz_encoder.shown import continued

BATCH_NORM = nn.modules.batchnorm._BatchNorm
DRAWS = 4  # to sample dropout's randomness
ENOUGH = 1000  # forbidden pairs: of so many, one draw opens some


@question(
    "Training mode", Evidence.USE, after="runs grad_mode", needs="lengths", needs_numbers=True
)
def train_mode(context: AuditContext) -> Check:
    """Without the randomness of dropout first, then with it."""
    try:
        found = _without(context)
        if found.code == "random":
            return _with_dropout(context, context.base) or found.but(code="")
        if found.verdict is not Verdict.PASS:
            return found
        return _with_dropout(context, context.base) or _longer(context) or found
    except ModelFault as fault:  # such as masks of SpecAugment that are longer than the input
        found = raised(fault, title="Training mode")
        if found.verdict is Verdict.NOT_TESTED:
            return found
        return untested(
            f"Training mode: in it alone, {fault.clause}, on inputs that the audit "
            "made; give such as it trains on: AuditScope(lengths=[…]), or AuditInputs(make=…)."
        )


def _without(context: AuditContext) -> Check:
    """Compare train mode without dropout to eval mode; if it differs, check for leaks."""
    whole = context.subject.whole
    if not [one for one in whole.modules() if one is not whole and one is not whole.parts]:
        return untested("Training mode: no module was found (module=).")
    if any(isinstance(one, BATCH_NORM) for one in whole.modules()):
        return _of_batch_norms(context)
    found = _difference(context, context.base, context.out)
    return found or passes("With every dropout at 0, training mode gives the same real rows.")


def _longer(context: AuditContext) -> Check | None:
    """The first difference at another length, without the randomness of dropout and with it."""
    for case, out in context.other_cases():
        at = f" {case.at_length}"
        found = _difference(context, case, out, at) or _with_dropout(context, case, at)
        if found is not None and found.verdict is not Verdict.NOT_TESTED:
            asked = context.was_asked_for(case.valid.shape[1])
            return found if asked else untested(found.evidence)
    return None


def _difference(context: AuditContext, case: Case, out: Tensor, at: str = "") -> Check | None:
    """A leak, or that rows differ from eval mode's; None where they do not."""
    grad, subject = not context.grad_fault, context.subject
    with subject.in_mode(training=True), without_dropout(subject.whole):
        trained = subject.run(case, grad=grad).detach()
        if (place := first_nonfinite(trained, case)) and not first_nonfinite(out, case):
            return _of_nan(place, at)
        apart = gap(trained, out, case.valid)
        if apart.amount <= context.tolerance(trained):
            return None
        if gap(trained, subject.run(case, grad=grad).detach(), case.valid).amount > 0:
            why = "Training mode: it is random even with every dropout at 0, so that only leaks"
            return untested(f"{why} were looked for.").but(code="random")
        leak = weights.find_fault(context, case, maps_of(subject, case, grad=grad))
        if leak is None and not isinstance(found := context.gradients_on(case), str):
            leak = gradients.find_fault(context, case, found)
    start = f"In training mode, with every dropout at 0{at}"
    if leak is not None:
        return leak.but(evidence=f"{start}: {continued(leak.evidence)}")
    text = (
        f"{start}, token {apart.query} of sample {apart.sample} differs by {apart.amount:.2g}; no "
        "forbidden token is involved."
    )
    return Check(Verdict.WARN, text).at(apart)


def _of_nan(place: tuple[int, int], at: str) -> Check:
    """A row that only training mode makes NaN, as where all keys of a query are dropped."""
    sample, query = place
    text = (
        f"In training mode, with every dropout at 0{at}, output row {query} of sample {sample} is "
        "NaN or inf."
    )
    found = fails(text, sample=sample, query=query)
    return found.because(diagnose("empty_row", sure=False))


def _of_batch_norms(context: AuditContext) -> Check:
    """Whether their mean and variance count padding; outputs mix samples there, by right."""
    for case in (context.base, *(case for case, _ in context.other_cases())):
        if case.padded and (name := _counting_padding(context, case)):
            text = (
                f"In training mode {name} takes its mean and variance over {case.valid.numel()} "
                f"positions, of which only {int(case.valid.sum())} are real tokens."
            )
            return Check(Verdict.WARN, text).because(diagnose("norm"))
    return untested("Training mode: batch norm mixes samples there.")


def _counting_padding(context: AuditContext, case: Case) -> str:
    """The first batch norm over as many positions as there are, padding too; "" if none is."""
    whole = context.subject.whole
    norms: dict[nn.Module, str] = {
        m: name for name, m in whole.named_modules() if isinstance(m, BATCH_NORM)
    }
    counting: list[str] = []

    def count(module: nn.Module, args: tuple[Tensor, ...], kwargs: object) -> None:
        n_places = args[0].numel() // getattr(module, "num_features", 1)
        if module.training and n_places == case.valid.numel():
            counting.append(norms[module].partition(".")[2])

    training, state = context.subject.in_mode(training=True), context.subject.state
    with (
        state.put_back_after(),
        hooked(norms, count, before=True),
        training,
        without_dropout(whole),
    ):
        context.subject.run(case)
    return counting[0] if counting else ""


def _with_dropout(context: AuditContext, case: Case, at: str = "") -> Check | None:
    """Dropout may take weights away and never open a pair: no forbidden one may have any."""
    if case is not context.base and not _draws(context, case):  # cheaper than maps
        return None
    on_cpu = context.subject.device.type == "cpu"
    forbidden = min(int((~one & case.valid[:, :, None]).sum()) for one in case.allowed)
    with context.subject.in_mode(training=True):
        for _ in range(DRAWS if forbidden < ENOUGH else 1):
            before = torch.get_rng_state()
            layers = maps_of(context.subject, case, grad=not context.grad_fault).layers
            for number, layer in enumerate(layers):
                cell = _opened_by_dropout(context, case, number, layer)
                if cell is not None:
                    sample, head, query, key = cell
                    text = (
                        f"In training mode, with dropout{at}: layer {number} head {head}, sample "
                        f"{sample}: token {query} looks at token {key}, which it may not attend to."
                    )
                    place = number, head, sample
                    weights, more = layer.map(sample, head), ", in training mode"
                    shot = picture_of_map(context, case, weights, place, more)
                    found = fails(text, layer=number, head=head, sample=sample)
                    found = found.but(query=query, key=key, pictures=(shot,))
                    return _undrawn(context, case, at) or found.because(diagnose("mask_dropout"))
            if on_cpu and torch.equal(before, torch.get_rng_state()):
                break  # nothing was drawn, so another run would be the same
    return None


def _undrawn(context: AuditContext, case: Case, at: str) -> Check | None:
    """What is wrong even where dropout drops nothing: then it is not drawn, but another path."""
    with NoDropout():
        maps = maps_of(context.subject, case, grad=not context.grad_fault)
        found = weights.find_fault(context, case, maps)
    if found is None:
        return None
    start = f"In training mode, where a rate of dropout is above 0{at}"
    return found.but(evidence=f"{start}: {continued(found.evidence)}")


def _draws(context: AuditContext, case: Case) -> bool:
    """Whether a run in training mode draws any number; on other devices than CPUs, it may."""
    before = torch.get_rng_state()
    with context.subject.in_mode(training=True):
        context.subject.run(case, grad=not context.grad_fault)
    on_cpu = context.subject.device.type == "cpu"
    return not on_cpu or not torch.equal(before, torch.get_rng_state())


def _opened_by_dropout(
    context: AuditContext, case: Case, number: int, layer: LayerRun
) -> tuple[int, int, int, int] | None:
    """The first forbidden pair (sample, head, query, key) that only dropout has opened."""
    allowed = context.intent(case, number)
    leaks = layer.judged(allowed, case.valid).leak > MASS
    if not bool(leaks.any()):
        return None
    with context.subject.in_mode(training=False):
        layers = context.maps_on(case).layers
    cells = []
    for rows in layer.row_blocks():
        open_ = layer.weights(rows).nan_to_num(0.0) > MASS
        open_ = open_ & ~allowed[:, None, rows] & leaks[:, :, rows, None]
        if number < len(layers):  # not what is open without dropout, too
            open_ = open_ & ~(layers[number].weights(rows) > MASS)
        for cell in open_.nonzero()[:1].tolist():
            cells.append((cell[0], cell[1], cell[2] + rows.start, cell[3]))
    return min(cells, default=None)
