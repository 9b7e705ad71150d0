"""PaddingIds: which token id fills rows up, and what a model makes of it."""

from dataclasses import dataclass

from tokenizers import Tokenizer

from viz_encoder.checkpoints.family import Family, Json

ENDS = ("eos_token_id", "sep_token_id", "bos_token_id", "cls_token_id")


@dataclass(frozen=True)
class PaddingIds:
    """The padding of a model that takes token ids."""

    id: int | None = None  # None: neither config.json nor the tokenizer says
    ends_texts: bool = False  # the same id ends each text, as in CLIP's tokenizers
    no_position: bool = False  # positions are counted past it, as in RoBERTa
    attended: bool = False  # the model attends to it, as SigLIP does


NO_PADDING = PaddingIds()


def padding_of(
    pad_id: int | None, file: Json, family: Family, tokenizer: Tokenizer | None
) -> PaddingIds:
    """Padding settings from config.json, the family and the tokenizer."""
    text = file.get("text")
    own = text if isinstance(text, dict) else {}
    return PaddingIds(
        pad_id,
        ends_texts=pad_id is not None and _ends_texts(pad_id, file, tokenizer),
        no_position=family.pads_take_no_position or own.get("padding_has_no_position") is True,
        attended=bool(family.padded_to or own.get("padded_to")),
    )


def _ends_texts(pad_id: int, file: Json, tokenizer: Tokenizer | None) -> bool:
    """Whether a text without padding contains the id, by the tokenizer if there is one."""
    if tokenizer is not None:
        return pad_id in tokenizer.encode("a").ids
    ends = [file.get(name) for name in ENDS]
    return pad_id in [one for end in ends for one in (end if isinstance(end, list) else [end])]
