"""The table of checkpoints: each file here holds the lines of some families."""

import importlib
import pkgutil

from tests.checkpoints.parity import Case


def _found() -> list[Case]:
    files = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    return [case for file in files for case in file.CASES]


CASES = _found()

# One of each kind of architecture, with what is peculiar to it: of all cases, `make test` tries
# these, and each family once against its reference; `make test-all` tries all of them.
KINDS = {
    "BERT": "post-norm, segments, places in a table",
    "ALBERT": "one layer for all, narrow embeddings",
    "RoBERTa": "places counted past the padding",
    "ModernBERT": "pre-norm, windows, rotary, gated",
    "EuroBERT": "root mean squares, keys for several queries",
    "GTE as new, scaled": "one tensor for q, k and v, code of its own",
    "T5": "distances in place of positions, no scale",
    "SigLIP, its text part": "a half of two, padding that is read",
    "SigLIP vision": "pooled by a learned query",
    "DINOv3": "patches, registers, rotary in two directions",
    "timm vit_tiny_patch4_reg4_dinov2": "a name and settings of timm",
    "torch.nn, pre-norm, gelu, final norm": "vectors, tensors of torch",
}
FIRST = {case.model_type: case.name for case in reversed(CASES)}
