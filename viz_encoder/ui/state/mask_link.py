"""A mask in a link: the name of a preset, or its bits, packed; and back again."""

import base64
import zlib
from reprlib import repr as shown  # truncates: client input can be of any length

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.presets import MAX_TOKENS, PRESETS
from viz_encoder.errors import SelectionError

MOST_CHARACTERS = 3000
BITS = "z."  # before zlib's bytes as base64, for links
UNREAD = "The mask in this link cannot be read"


def mask_code(mask: Bool[Tensor, "query key"]) -> str:
    """The mask as a short text, of more than MOST_CHARACTERS where no link holds it.

    A preset with its usual sizes is its name; any other mask is its bits, row by row, through zlib.
    """
    for name, preset in PRESETS.items():
        if torch.equal(preset.mask(len(mask)), mask):
            return name
    packed = zlib.compress(np.packbits(mask.cpu().numpy()).tobytes(), 9)
    return BITS + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def mask_from_code(code: str, n_tokens: int) -> Bool[Tensor, "query key"]:
    """The mask of a code, over that many tokens.

    Raises:
        SelectionError: the code is neither a preset nor a packed mask of that many tokens.
    """
    if n_tokens > MAX_TOKENS:
        raise SelectionError(f"{UNREAD}: this run has {n_tokens:,} tokens, over {MAX_TOKENS:,}.")
    if code in PRESETS:
        return PRESETS[code].mask(n_tokens)
    size = (n_tokens**2 + 7) // 8
    try:
        letters = code.removeprefix(BITS)
        letters += "=" * (-len(letters) % 4)
        packed = base64.b64decode(letters, altchars=b"-_", validate=True)
        stream = zlib.decompressobj()
        bits = stream.decompress(packed, size + 1)
    except (ValueError, zlib.error):
        raise SelectionError(
            f"{UNREAD}: {shown(code)} is neither a preset nor a packed mask."
        ) from None
    if not code.startswith(BITS) or len(bits) != size or not stream.eof:
        raise SelectionError(f"{UNREAD}: it does not fit the {n_tokens:,} tokens of this run.")
    cells = np.unpackbits(np.frombuffer(bits, np.uint8), count=n_tokens**2)
    return torch.from_numpy(cells.astype(bool).reshape(n_tokens, n_tokens))
