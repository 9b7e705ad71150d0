"""Lines that audit one's own model, with the intent of a specimen written out."""

from functools import cache

import torch

from viz_encoder.audit.zoo import Specimen
from viz_encoder.audit.zoo.intents import (
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    real_tokens,
)
from viz_encoder.audit.zoo.wide_patterns import with_global

CODE = """\
{imports}import viz_encoder as vz

def intent(valid):  # {says}
    may = valid[:, None, :].expand(-1, valid.shape[1], -1)
{lines}

print(vz.audit_mask(model, intent, make_mask, d_model=768))
"""
ALL = "    return may"
DOCUMENTS = """\
    document = torch.arange(valid.shape[1]) // 4
    return may.tril() & (document[:, None] == document)"""
GLOBAL = """\
    first = torch.arange(valid.shape[1]) == 0
    return may.tril(1).triu(-1) | (may & (first[:, None] | first))"""
INTENTS = (  # what they say, and as code
    (real_tokens, "all see real tokens", ALL),
    (earlier_tokens, "each sees itself and earlier real tokens", "    return may.tril()"),
    (
        last_tokens(3),
        "each sees the last 3 tokens, itself counted",
        "    return may.tril().triu(-2)",
    ),
    (neighbors(2), "each sees real tokens up to 2 away", "    return may.tril(2).triu(-2)"),
    (own_document(4, causal=True), "causal within documents, here of 4 tokens", DOCUMENTS),
    (with_global, "neighbors; the first token sees all and is seen by all", GLOBAL),
)
YOURS = "yours to write: here, all see real tokens"
ASKED = torch.tensor([[1] * 11, [1] * 7 + [0] * 4, [0] * 3 + [1] * 8]).bool()  # tells them apart


@cache
def own_code(specimen: Specimen) -> str:
    """The lines to copy, with what the corrected specimen means as the intent.

    Where no line is known for it, a comment says that the intent is the reader's to write.
    """
    meant = specimen.build(fixed=True).intent
    says, lines = YOURS, ALL
    if callable(meant):
        same = (more for one, *more in INTENTS if torch.equal(one(ASKED), meant(ASKED)))
        says, lines = next(same, (says, lines))
    imports = "import torch\n" if "torch." in lines else ""
    return CODE.format(imports=imports, says=says, lines=lines)
