"""What is run: one input, or a list of them, each by itself and so without padding."""

from numbers import Integral
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder, as_loaded
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs


def encoder_of(given: Any) -> LoadedEncoder:
    """The encoder, where it is one of ours.

    Raises:
        InputError: something else.
    """
    found = as_loaded(given)
    if found is None:
        raise InputError(
            f"This takes what vz.load returns, not {type(given).__name__}. For your own model, use "
            "vz.knock: with vz.knock(model, {(3, 0): 'zero'}): model(…)."
        )
    return found


def one_by_one(encoder: LoadedEncoder, given: Any) -> list[Any]:
    """Each input by itself; a list of numbers is one input, a list of anything else is several.

    Raises:
        InputError: none.
    """
    if not isinstance(given, list):
        return [given]
    if not given:
        raise InputError("The list is empty; give at least one input.")
    return [given] if isinstance(given[0], Integral) else given


def read(encoder: LoadedEncoder, source: Any) -> Inputs:
    """What the encoder takes; what `encoder.read` gave is taken as it is.

    Raises:
        InputError: what this encoder cannot read.
    """
    return source if isinstance(source, Inputs) else encoder.read(source)
