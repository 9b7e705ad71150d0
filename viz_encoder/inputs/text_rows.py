"""Text rows: texts that were read, as one batch; padding never counts as a word."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from viz_encoder.inputs.encoded import Encoded
from viz_encoder.inputs.sample import Inputs, Sample


@dataclass(frozen=True)
class TextRow:
    """One text or pair: its tokens, the text read, and notes."""

    encoded: Encoded
    texts: tuple[str, ...]
    notes: tuple[str, ...]
    n_behind: int = 0  # padding that was typed behind the text
    n_prompt: int = 0

    def __len__(self) -> int:
        """Tokens, with the padding behind the text."""
        return len(self.encoded) + self.n_behind


def batch_of(rows: Sequence[TextRow], pad_id: int, pad_token: str, padded_to: int) -> Inputs:
    """The rows filled up to the longest; up to `padded_to`, what fills them counts as real."""
    longest = max(padded_to, max(map(len, rows)))
    ids = torch.full((len(rows), longest), pad_id)
    segments = torch.zeros(len(rows), longest, dtype=torch.long)
    valid = torch.zeros(len(rows), longest, dtype=torch.bool)
    for index, row in enumerate(rows):
        length = len(row.encoded)
        ids[index, :length] = torch.tensor(row.encoded.ids)
        segments[index, :length] = torch.tensor(row.encoded.encoding.type_ids)
        valid[index, : max(length, padded_to)] = True
        valid[index, list(row.encoded.padding)] = False
    samples = tuple(_sample(row, longest, pad_token) for row in rows)
    return Inputs(ids, valid, samples, segments, padded=not bool(valid.all()))


def _sample(row: TextRow, longest: int, pad_token: str) -> Sample:
    """Padding is neither a word nor part of the text, wherever it is."""
    encoded, n_pad = row.encoded, longest - len(row.encoded)
    encoding, padding = encoded.encoding, encoded.padding
    special = (bool(its) or at in padding for at, its in enumerate(encoding.special_tokens_mask))
    words = (None if at in padding else its for at, its in enumerate(encoding.word_ids))
    spans = ((0, 0) if at in padding else its for at, its in enumerate(encoded.spans))
    return Sample(
        tokens=(*encoded.tokens, *[pad_token] * n_pad),
        special=(*special, *[True] * n_pad),
        words=(*words, *[None] * n_pad),
        spans=(*spans, *[(0, 0)] * n_pad),
        segments=(*encoding.type_ids, *[0] * n_pad),
        texts=row.texts,
        notes=row.notes,
        n_prompt=row.n_prompt,
    )
