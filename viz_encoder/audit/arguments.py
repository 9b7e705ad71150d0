"""What the caller asked for, checked before anything runs; each fault is a sentence."""

from collections.abc import Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any

import torch

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.setting import Intent, ModelFault
from viz_encoder.errors import InputError

LONGEST = 4096  # a map of it takes 64 MiB a head and sample
SMALLEST = {"d_model": 1, "n_layers": 1, "window": 1, "max_positions": 2, "vocab_size": 2}


def require_intents(given: Any) -> tuple[Intent, ...]:
    """The intents, one for all layers or one a layer.

    Raises:
        InputError: they are no functions.
    """
    many = isinstance(given, Sequence) and not isinstance(given, str)
    intents = (given,) if callable(given) else tuple(given) if many else ()
    if not intents or not all(callable(one) for one in intents):
        raise InputError(
            "intent is a function of valid, or a list of such functions, one a layer: "
            "lambda valid: valid[:, None, :].expand(-1, valid.shape[1], -1)"
        )
    return intents


def require_one_a_layer(intents: tuple[Intent, ...], n_layers: int | None) -> None:
    """Nothing, if there is one intent, or one for each of the layers.

    Raises:
        InputError: there are more or fewer.
    """
    if n_layers is not None and len(intents) not in (1, n_layers):
        raise InputError(f"{len(intents)} intents are given for {n_layers} layers; give 1 or all.")


def require_as_many_as_seen(context: AuditContext) -> None:
    """Nothing, if a recording shows as many layers as there are intents, or none at all.

    Raises:
        InputError: it shows another number, and the caller said none.
    """
    intents = context.setting.intents
    if len(intents) == 1 or context.options.n_layers is not None:
        return
    with suppress(ModelFault):
        seen = len(context.maps.layers)
        if seen and seen != len(intents):
            raise InputError(
                f"{len(intents)} intents are given, and {seen} attention layers were seen; give 1 "
                f"or all, or say n_layers={len(intents)} if not every layer can be seen."
            )


def require_numbers(**given: Any) -> None:
    """Nothing, if each is None or a whole number that is large enough.

    Raises:
        InputError: one is not.
    """
    for name, value in given.items():
        if value is None and name in SMALLEST:
            continue
        least = SMALLEST.get(name)
        if not _is_whole(value) or (least is not None and value < least):
            more = "" if least is None else f" of {least} or more"
            raise InputError(f"{name} is {value!r}; it must be a whole number{more}.")


def require_lengths(lengths: Any) -> None:
    """Nothing, if they are whole numbers of tokens from 2 to LONGEST.

    Raises:
        InputError: they are not.
    """
    if isinstance(lengths, str) or not isinstance(lengths, Sequence):
        raise InputError(f"lengths is {lengths!r}; it must be a list of numbers, such as [12, 40].")
    for one in lengths:
        if not _is_whole(one):
            raise InputError(f"lengths holds {one!r}; each must be a whole number.")
        if one < 2:
            raise InputError(f"lengths holds {one}; a mask needs 2 tokens at least.")
    require_short("lengths holds", lengths)


def require_short(where: str, lengths: Sequence[int]) -> None:
    """Nothing, if no length is above LONGEST.

    Raises:
        InputError: one is.
    """
    if max(lengths, default=0) > LONGEST:
        raise InputError(
            f"{where} {max(lengths):,} tokens; an audit goes up to {LONGEST:,}, for it makes whole "
            "maps. Faults of a mask show in short inputs, too."
        )


def require_dtype(dtype: Any) -> None:
    """Nothing, if it is None or a floating dtype.

    Raises:
        InputError: it is not.
    """
    if dtype is None or (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        return
    raise InputError(f"dtype is {dtype!r}; it must be a floating dtype, such as torch.bfloat16.")


def require_side(positions: Any) -> None:
    """Nothing, if it is a side that is known.

    Raises:
        InputError: it is not.
    """
    if positions not in ("right", "left", "both"):
        raise InputError(f"positions is {positions!r}; it must be 'right', 'left' or 'both'.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
