"""switched: a trained encoder with its positions off or made causal, on the very same weights."""

from collections.abc import Iterable
from dataclasses import replace

import torch

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import EncoderConfig, Positions
from viz_encoder.effects.change import Change
from viz_encoder.errors import SelectionError
from viz_encoder.model import Encoder


def switched(
    encoder: LoadedEncoder, *, positions: bool = True, causal: bool = False
) -> LoadedEncoder:
    """The same weights without positions, or with a causal mask, unlike in training.

    Without positions nothing of a table is added, q and k are not turned, and the scores get no
    number by distance, so that a text whose words are swapped gives the same vectors, swapped.

    Args:
        encoder: the model as it was trained.
        positions: False switches them off.
        causal: True lets a token attend to itself and the tokens before it alone.

    Raises:
        SelectionError: there is nothing to switch: it has no positions, or is causal already.
    """
    config = encoder.config
    if not positions:
        config = _without_positions(config, encoder.card.name)
    if causal:
        if config.causal:
            raise SelectionError(f"{encoder.card.name} is causal as it is.")
        config = replace(config, causal=True)
    with torch.device("meta"):
        model = Encoder(config)
    kept = model.state_dict().keys()
    state = {name: each for name, each in encoder.model.state_dict().items() if name in kept}
    model.load_state_dict(state, assign=True)  # shares memory
    return replace(encoder, model=model.train(encoder.model.training))


def as_switched(encoder: LoadedEncoder, changes: Iterable[Change]) -> LoadedEncoder:
    """The encoder that runs with these changes: switched, or the very same."""
    kinds = {change.kind for change in changes}
    if not kinds & {"p", "c"}:
        return encoder
    return switched(encoder, positions="p" not in kinds, causal="c" in kinds)


def _without_positions(config: EncoderConfig, name: str) -> EncoderConfig:
    if (
        config.positions is Positions.NONE
        and config.rotary_base is None
        and not config.relative_buckets
    ):
        raise SelectionError(f"{name} has no positions that could be switched off.")
    return replace(
        config,
        positions=Positions.NONE,
        rotary_base=None,
        rotary_base_local=None,
        relative_buckets=0,
    )
