"""Tokenizers and picture settings that a person holds in memory, read without their library."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from viz_encoder.errors import CheckpointError


@dataclass(frozen=True)
class GivenReaders:
    """A tokenizer or image processor passed with a model; None if absent."""

    tokenizer: Tokenizer | None = None
    pad_id: int | None = None  # the padding that the tokenizer names
    image: Mapping[str, Any] | None = None  # as preprocessor_config.json has it


NOTHING = GivenReaders()


def read_given(tokenizer: object = None, processor: object = None) -> GivenReaders:
    """The tokenizer and the picture settings of what was given.

    Args:
        tokenizer: a `tokenizers.Tokenizer`, a fast tokenizer of transformers, or what holds one.
        processor: an image processor of transformers, or what holds one.

    Raises:
        CheckpointError: neither of these.
    """
    held = None if tokenizer is None else _tokenizer(tokenizer)
    pad_id = None if tokenizer is None else _pad_id(tokenizer)
    return GivenReaders(held, pad_id, None if processor is None else _settings(processor))


def _tokenizer(given: object) -> Tokenizer:
    """A copy of it, for reading switches its padding and truncation off."""
    inner = getattr(given, "tokenizer", given)  # inside a processor
    inner = getattr(inner, "backend_tokenizer", inner)
    if not isinstance(inner, Tokenizer):
        raise CheckpointError(
            f"tokenizer is {type(given).__name__}, which holds no tokenizers.Tokenizer; give a "
            "fast tokenizer, such as AutoTokenizer.from_pretrained(...) returns."
        )
    try:
        return Tokenizer.from_str(inner.to_str())
    except Exception as fault:  # the tokenizers library raises bare Exception
        raise CheckpointError(
            f"The tokenizer cannot be copied: {str(fault)[:200].rstrip('.')}; parts of it that are "
            "written in Python cannot be read here."
        ) from fault


def _pad_id(given: object) -> int | None:
    inner = getattr(given, "tokenizer", given)
    if isinstance(inner, Tokenizer):
        padding = inner.padding
        return None if padding is None else padding["pad_id"]
    pad_id = getattr(inner, "pad_token_id", None)
    return pad_id if isinstance(pad_id, int) and not isinstance(pad_id, bool) else None


def _settings(given: object) -> Mapping[str, Any]:
    inner = getattr(given, "image_processor", given)
    write = getattr(inner, "to_json_string", None)
    try:
        content = json.loads(write()) if callable(write) else None
    except (TypeError, ValueError) as fault:
        raise CheckpointError(f"The picture settings cannot be read: {fault}.") from fault
    if not isinstance(content, Mapping):
        raise CheckpointError(
            f"processor is {type(given).__name__}; give an image processor, such as "
            "AutoImageProcessor.from_pretrained(...) returns."
        )
    return content
