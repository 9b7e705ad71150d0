"""Planted bugs of the zoo with the cause that is right for each: on every kernel, and mended."""

from functools import partial

from tests.audit.cause_cases import KERNELS, CauseCase, attend
from viz_encoder.audit.zoo import SPECIMENS

CODES = {
    "A7-token-types": "other_tensor",
    "C8-kept-mask": "cached_mask",
    "C9-sorted": "sample_order",
    "C11-in-place": "in_place",
    "C13-one-sample": "batch_of_one",
    "C14-copies": "copies",
    "C16-mask-of-one": "mask_batch",
    "C17-squeezed": "one_sample",
    "C18-sample-0": "first_sample",
    "C19-shuffled": "other_sample",
    "C20-sorted-masks": "sorted",
    "C21-over-batch": "over_batch",
    "D5-one-too-many": "window",
    "D5-one-too-few": "window",
    "D5-one-side": "one_sided",
    "D6-packed": "documents",
    "D8-global": "one_way",
    "D8-lost": "globals_lost",
    "D9-edge": "edge",
    "D14-order": "order",
    "D16-both-sides": "causal_lost",
    "D17-beside": "window_shifted",
    "D19-blocks": "blocks",
    "D20-next-chunk": "chunks",
    "D21-stride": "stride",
    "D22-document-edges": "document_edges",
    "D23-random-keys": "as_passed",
    "D24-longest": "longest_sample",
    "D25-places": "pattern_places",
    "D28-triangle": "transposed",
    "D29-window-only": "padding_ignored",
    "D30-tree": "tree",
    "D31-choices": "choices",
    "D32-to-device": "causal_lost",
    "D33-own-block": "frames",
    "D34-frames": "frames",
    "D35-edges": "edges_one_way",
    "D36-self-loops": "self_loops",
    "E1-centering": "besides_attention",
    "E1-convolution": "besides_attention",
    "E12-batch-divisor": "batch_divisor",
    "E13-lengths": "lengths",
    "E15-shares": "fraction",
    "E16-side": "side",
    "E17-group-norm": "norm",
    "E19-rounded": "rounded",
}
NEAR = {"C14-copies": ("batch_of_one",), "D28-triangle": ("reversed",)}


def cases(mended: bool = False) -> list[CauseCase]:
    """Each on each kernel, wrong or mended."""
    return [_case(name, kind, mended) for name in CODES for kind in KERNELS]


def _case(name: str, kind: str, mended: bool) -> CauseCase:
    made = partial(SPECIMENS[name].build, fixed=mended, kernel=partial(attend, kind))
    given = made()
    return CauseCase(
        f"{name}, {kind}",
        lambda: ((one := made()).model, one.make_mask),
        given.intent,
        (CODES[name],),
        NEAR.get(name, ()),
        given.options,
    )
