"""Lines that audit one's own model, with the intent of a specimen written out."""

from contextlib import suppress
from functools import cache

import torch
from torch import Tensor

from viz_encoder.audit.zoo import Specimen
from viz_encoder.audit.zoo.directions import ancestors, clean_before, own_choice
from viz_encoder.audit.zoo.frames import first_and_former, first_frame
from viz_encoder.audit.zoo.patterns import (
    chunks_so_far,
    every_key,
    from_first_real,
    own_prefix,
    with_global,
)
from viz_encoder.audit.zoo.specimen import (
    Intent,
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    real_tokens,
    windows_of,
)

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
WINDOWS = """\
    rows, columns = ((torch.arange(n) + {moved}) // 4 for n in ({height}, {width}))  # 4 × 4 windows
    window = (rows[:, None] * 8 + columns).flatten()
    return may & (window[:, None] == window)"""
STEP = 2  # between the keys of a strided pattern
BOTH = """\
    document = torch.arange(valid.shape[1]) // 4
    return may.tril(2).triu(-2) & (document[:, None] == document)"""
CHUNKS = """\
    chunk = torch.arange(valid.shape[1]) // 2
    return may & (chunk <= chunk[:, None])"""
STRIDED = """\
    place = torch.arange(valid.shape[1])
    apart = (place[:, None] - place).abs()
    return may & (apart % {step} == 0) & (apart <= 2 * {step})"""
PREFIX = """\
    prefix = torch.arange(valid.shape[1]) < valid.sum(dim=1, keepdim=True) // 2
    return may.tril() | (may & prefix[:, None, :])"""
FIRST_REAL = """\
    first = valid & (valid.cumsum(dim=1) == 1)
    return may.tril(1).triu(-1) | (may & (first[:, None, :] | first[:, :, None]))"""
TREE = """\
    keep = torch.eye(valid.shape[1], dtype=torch.bool)
    for node in range(1, len(keep)):  # here, every token has two children
        keep[node] |= keep[(node - 1) // 2]
    return may & keep"""
CHOICES = """\
    choice = (torch.arange(valid.shape[1]) - 2).div(2, rounding_mode="floor")
    return may & ((choice < 0) | (choice[:, None] == choice))"""
COPIES = """\
    place, half = torch.arange(valid.shape[1]), valid.shape[1] // 2
    clean, block = place >= half, place % half // 2
    same = (block[:, None] == block) & (clean[:, None] == clean)
    return may & (same | ((block[:, None] > block) & clean))"""
FIRST_FRAME = "    return may & (torch.arange(valid.shape[1]) < 2)"
FRAMES = """\
    frame = torch.arange(valid.shape[1]) // 2
    return may & ((frame == 0) | (frame == frame[:, None] - 1))"""
SHIFTED = "each sees its shifted window of the picture"
INTENTS = (  # in words, and as code
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
    (
        lambda valid: neighbors(2)(valid) & own_document(4)(valid),
        "neighbors up to 2 away, within documents, here of 4 tokens",
        BOTH,
    ),
    (chunks_so_far, "each sees its chunk of two tokens and those before it", CHUNKS),
    (every_key(STEP), "each sees keys some steps apart", STRIDED.format(step=STEP)),
    (own_prefix, "a prefix, here the first half, is seen by all; the rest is causal", PREFIX),
    (from_first_real, "neighbors; the first real token sees all and is seen by all", FIRST_REAL),
    (ancestors, "each sees its ancestors in a tree, and itself", TREE),
    (own_choice, "all see the question; a choice sees itself", CHOICES),
    (first_frame, "all see the first frame, here of 2 tokens", FIRST_FRAME),
    (first_and_former, "each frame of 2 tokens sees the first and the one before it", FRAMES),
    (clean_before, "a noised block sees itself and the clean blocks before it", COPIES),
    (windows_of(8, 4, 4, 2), SHIFTED, WINDOWS.format(moved=2, height=8, width=4)),
    (windows_of(8, 8, 4, 2), SHIFTED, WINDOWS.format(moved=2, height=8, width=8)),
    (windows_of(7, 4, 4, 2), SHIFTED, WINDOWS.format(moved=2, height=7, width=4)),
    (
        windows_of(8, 4, 4),
        "each sees its window of the picture",
        WINDOWS.format(moved=0, height=8, width=4),
    ),
)
YOURS = "yours to write: here, all see real tokens"
ASKED = torch.tensor([[1] * 11, [1] * 7 + [0] * 4, [0] * 3 + [1] * 8]).bool()  # tells them apart


@cache
def own_code(specimen: Specimen) -> str:
    """The lines to copy, with what the corrected specimen means as the intent.

    Where no line is known for it, a comment says that the intent is the reader's to write.
    """
    built = specimen.build(fixed=True)
    meant, asked = built.intent, ASKED if built.inputs.valid is None else built.inputs.valid
    says, lines = YOURS, ALL
    if callable(meant):
        same = (more for one, *more in INTENTS if _is_same(one, meant, asked))
        says, lines = next(same, (says, lines))
    imports = "import torch\n" if "torch." in lines else ""
    return CODE.format(imports=imports, says=says, lines=lines)


def _is_same(one: Intent, meant: Intent, asked: Tensor) -> bool:
    """Whether they mean the same; those of a picture say nothing of other numbers of tokens."""
    with suppress(RuntimeError):
        return torch.equal(one(asked), meant(asked))
    return False
