"""What a batch of one's own tells by itself: ids of padding among real tokens, and its lengths."""

from collections.abc import Iterator

from torch import Tensor, int32, int64

from viz_encoder.audit.measure.flex_masks import tensors_in
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.report import Check, Verdict, passes, untested
from viz_encoder.shown import counted


def ids_of_padding(case: Case, pad_id: int | None) -> Check:
    """Whether the tokens with the id of the padding are those that no query may attend to."""
    if pad_id is None:
        return untested("Real tokens with the id of the padding: no pad_id= was given.")
    for name, ids in _ids(case):
        real = (ids == pad_id) & case.valid
        other = (ids != pad_id) & ~case.valid
        place = (real | other).nonzero()
        if bool(real.any()):
            sample, query = (int(n) for n in place[0])
            text = (
                f"{int(real.sum())} real tokens of {name!r} have the id of the padding, {pad_id}; "
                "a mask made of ids != pad_id would hide them."
            )
            return Check(Verdict.WARN, text, code="pad_id", sample=sample, query=query)
        if bool(other.any()):
            text = (
                f"{int(other.sum())} tokens that no query may attend to do not have the padding id."
            )
            return Check(Verdict.WARN, text, code="hidden", sample=int(place[0, 0]))
        return passes(f"In {name!r} padding is where the id is {pad_id}, and nowhere else.")
    return untested(
        "Real tokens with the id of the padding: the batch holds no ids (batch, token)."
    )


def _ids(case: Case) -> Iterator[tuple[str, Tensor]]:
    """Integer tensors "batch token" that are not masks, input_ids first."""
    found = [
        (name, one)
        for name, one in tensors_in(case.passed)
        if one.shape == case.valid.shape and one.dtype in (int64, int32)
    ]
    named = [pair for pair in found if pair[0] == "input_ids"]
    yield from named or [pair for pair in found if not set(pair[1].unique().tolist()) <= {0, 1}]


def lengths_of(case: Case) -> Check:
    """Reported as INFO: what cutting and sorting leave behind."""
    valid = case.valid
    counts, n_tokens = valid.sum(dim=1), valid.shape[1]
    full = int((counts == n_tokens).sum())
    told = [f"{int(counts.min())} to {int(counts.max())} real tokens of {n_tokens}"]
    if n_unseen := int((~valid.any(dim=0)).sum()):
        rows = f"rows of {counted(n_unseen, 'token')}"
        told.append(f"{rows} that none may attend to are taken for padding, and not judged")
    if full > 1 and full > len(counts) // 10:
        told.append(f"{full} of {len(counts)} samples fill it completely, as truncated texts do")
    steps = counts.diff()
    if len(counts) > 2 and bool(steps.any()) and (bool((steps >= 0).all() | (steps <= 0).all())):
        told.append("samples are sorted by length")
    text = f"{'; '.join(told)}."
    return passes(text) if len(told) == 1 else Check(Verdict.INFO, text)
