"""Checks a mask passed by the caller: a tensor over queries and keys, not over real tokens."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.plain_tensor import plain_tensor

KNOWN = "leave it out: the padding is known without it"


def check_mask(mask: Any, inputs: Inputs, ready_made: Any) -> tuple[str, ...]:
    """Notes on a mask that could be misread; usually none.

    Args:
        mask: as passed.
        inputs: what the mask is for.
        ready_made: the ids, pixels or vectors the inputs came from, which can be given `valid`;
            None for others.

    Raises:
        InputError: it is not a tensor, or is a "batch token" mask, which marks real tokens.
    """
    given = mask.values() if isinstance(mask, Mapping) else [mask]
    found = (_check(one, inputs, ready_made) for one in given)
    return tuple(dict.fromkeys(said for each in found for said in each))


def _check(mask: Any, inputs: Inputs, ready_made: Any) -> tuple[str, ...]:
    if not isinstance(mask, Tensor):
        raise InputError(
            f"mask is {type(mask).__name__}; give a bool tensor, True = may attend: "
            "torch.as_tensor(mask)."
        )
    plain_tensor(mask, "mask")
    shape, n_tokens = tuple(mask.shape), inputs.valid.shape[1]
    if n_tokens == 1 or shape not in (tuple(inputs.valid.shape), (n_tokens,)):
        return ()
    cure = _cure(mask, ready_made)
    if shape == (n_tokens, n_tokens):
        said = (
            f"The mask {shape} was read as (query, key), the same for each of these {n_tokens} "
            f"rows. If it marks the real tokens, as (batch, token), {cure}."
        )
        return (said,) if cure != KNOWN else ()
    axes, row = "(batch, token)", "mask[:, None, None]"
    if len(shape) == 1:
        axes, row = "(token)", f"mask.expand({n_tokens}, {n_tokens})"
    raise InputError(
        f"The mask has the shape {axes} = {shape}, which tells the real tokens from padding; mask= "
        f"tells which query may attend to which key. To mark padding, {cure}; to close keys to all "
        f"queries, give {row}."
    )


def _cure(mask: Tensor, ready_made: Any) -> str:
    """How to mark real tokens, where that is possible."""
    if isinstance(ready_made, Mapping):
        told = "attention_mask" in ready_made
        return KNOWN if told else 'write vz.capture(encoder, {**source, "attention_mask": mask})'
    if ready_made is None:
        return KNOWN
    by = "valid" if mask.dtype == torch.bool else "attention_mask"
    return f"write vz.capture(encoder, source, {by}=mask)"
