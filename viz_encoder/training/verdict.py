"""Verdict: what a look says against the intent, with the cause where one mask explains it."""

from dataclasses import replace
from typing import Any

from torch import Tensor

from viz_encoder.audit.batch_facts import ids_of_padding, lengths_of
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.hypothesis import LayerOnBatch
from viz_encoder.audit.diagnose.map_cause import diagnose_maps
from viz_encoder.audit.diagnose.passed_mask import readings_of
from viz_encoder.audit.faults.row_sums import answer_of
from viz_encoder.audit.faults.weights import of_open_slots
from viz_encoder.audit.measure.flex_masks import tensors_in
from viz_encoder.audit.measure.reach import pattern_in
from viz_encoder.audit.measure.setting import MASS, Case
from viz_encoder.audit.report import Check, Diagnosis, Verdict, passes, untested
from viz_encoder.training.leaks import LayerIntent, LayerLeaks

LARGEST = 2**24  # pairs of a batch up to which causes are compared with it
KeptVersions = dict[str, tuple[Tensor, int]]  # version of each argument, before the call
NARROW = "vz.audit_batch(model, batch, intent) on such a batch narrows it down."


def meant_in(case: Case) -> tuple[LayerIntent, ...]:
    """Allowed pairs of each layer, or one for all."""
    return tuple(LayerIntent(allowed, case.valid) for allowed in case.allowed)


def checks_of(
    case: Case, layers: tuple[LayerLeaks, ...], pad_id: int | None, *, may_leave_out: bool = False
) -> tuple[Check, ...]:
    """Check the layers against the intent, and note the samples' lengths."""
    found = [
        ("maps", "Attention maps", _maps(case, layers, may_leave_out)),
        ("row_sums", "Rows of the maps sum to 1", _row_sums(case, layers)),
        ("pad_id", "Ids of padding", ids_of_padding(case, pad_id)),
        ("length", "Lengths of the samples", lengths_of(case)),
    ]
    return tuple(
        answer.but(name=name, title=title)
        for name, title, answer in found
        if answer.verdict is not Verdict.PASS
        and (answer.verdict is not Verdict.NOT_TESTED or name == "maps")
    )


def side_of(case: Case | None) -> str:
    """Side of the batch's padding; "" if there is none, or it is on both sides."""
    if case is None or bool(case.valid.all()):
        return ""
    before, behind = (bool((~case.valid[:, end]).any()) for end in (0, -1))
    return "" if before == behind else "before" if before else "behind"


def switched_side(side: str, usual: str) -> tuple[Check, ...]:
    """Whether padding now stands on the other side than in the looks before."""
    if not side or not usual or side == usual:
        return ()
    text = f"Padding stands {side} the tokens; in the looks before it stood {usual} them."
    found = Check(Verdict.WARN, text, name="padding_side", title="Side of the padding")
    return (found.because(diagnose("side_switched")),)


def versions_of(batch: Any) -> KeptVersions:
    """The ids and masks of a batch, with the number of changes that each has seen so far."""
    return {
        name or "its argument": (one, one._version)
        for name, one in tensors_in(batch)
        if not one.is_inference() and (one.ndim == 2 or not one.is_floating_point())
    }


def in_place(checks: tuple[Check, ...], versions: KeptVersions) -> tuple[Check, ...]:
    """The checks, and whether the call that has ended has changed what was passed.

    Then the cause of a wrong map is not looked for in a mask that was another one by its end.
    """
    changed = [name for name, (one, before) in versions.items() if one._version != before]
    if not changed:
        return checks
    text = (
        f"A call changes {' and '.join(map(repr, changed))} in place: whatever uses it later in "
        "this step gets a different tensor."
    )
    found = Check(Verdict.WARN, text, name="in_place", title="Nothing is changed in place")
    found = found.because(diagnose("in_place"))
    told = (c.but(code="", cause="", cure="") if c.name == "maps" else c for c in checks)
    return (*told, found)


def _maps(case: Case, layers: tuple[LayerLeaks, ...], may_leave_out: bool) -> Check:
    """The worst leak, else the first layer with closed pairs."""
    if not layers or len(case.allowed) not in (1, len(layers)):
        return untested(
            f"{len(layers)} self-attention calls over {case.sizes} were seen, but there are "
            f"{len(case.allowed)} intents: nothing was judged."
        )
    leaking = [n for n, one in enumerate(layers) if one.leak]
    losing = [n for n, one in enumerate(layers) if bool(one.lost.any()) and not may_leave_out]
    filled = next((n for n, one in enumerate(layers) if one.open_slots), None)
    if filled is not None and not leaking:
        return of_open_slots(filled, layers[filled].open_slots)
    if not leaking and not losing:
        return passes("All heads look where they may.")
    worst = max(leaking, key=lambda n: float(layers[n].largest.max()), default=(losing or [0])[0])
    place = layers[worst].place
    assert place is not None
    head, sample, query, key = place
    amount = float(layers[worst].largest.max())
    text = f"Layer {worst} head {head}, sample {sample}: token {query} "
    if leaking:
        bad = sum(int((one.largest > MASS).sum()) for one in layers)
        n_heads = sum(len(one.largest) for one in layers)
        kind = "token" if bool(case.valid[sample, key]) else "padding"
        text += (
            f"gives {amount:.3g} of its attention to {kind} {key}, which it may not attend to; "
            f"{bad} of {n_heads} heads leak."
        )
    else:
        text += (
            f"never looks at token {key}, which it may attend to; "
            f"{int(layers[worst].lost.max())} allowed pairs are closed."
        )
    first = (leaking or losing)[0]
    cause = _cause(case, layers[first], first)
    answer = Check(
        Verdict.FAIL,
        text,
        layer=worst,
        head=head,
        sample=sample,
        query=query,
        key=key,
        amount=amount,
    )
    return answer.because(cause) if cause.code else answer.but(cure=NARROW)


def _row_sums(case: Case, layers: tuple[LayerLeaks, ...]) -> Check:
    """Check row sums as audit_batch does, if each layer's intent is known."""
    if len(case.allowed) not in (1, len(layers)):
        return untested("Sums of the maps' rows.")
    return answer_of({n: one.short for n, one in enumerate(layers) if one.short is not None})


def _cause(case: Case, layer: LayerLeaks, number: int) -> Diagnosis:
    """Find the cause from a bool mask only: an additive bias is not one."""
    meant = LayerIntent(case.allowed[min(number, len(case.allowed) - 1)], case.valid)
    if layer.opened is None or layer.weak:
        return Diagnosis()
    n_samples, n_tokens = case.valid.shape
    n_heads = layer.opened.shape[1]
    if n_samples * n_heads * n_tokens**2 > LARGEST:
        return Diagnosis()
    opened = layer.opened.expand(n_samples, n_heads, n_tokens, n_tokens)
    pattern, passed = pattern_in(meant.allowed, case.valid), readings_of(case)
    seen = LayerOnBatch(opened, meant.allowed, pattern, case.valid, passed=passed)
    heads = seen.wrong.any(dim=3).any(dim=2).any(dim=0)
    return diagnose_maps([replace(seen, opened=opened[:, heads])], heads)
