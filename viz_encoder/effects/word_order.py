"""Word order: two tokens swapped, with the model's positions and without them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import EncoderConfig, Positions
from viz_encoder.effects.change import Change
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.model import Encoder
from viz_encoder.shown import OneLine
from viz_encoder.trace.capture import captured


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


NO_WORDS = "Only the words of a text can be swapped, and this input has no token ids; use a text."
ALIKE = "Swapping takes two different words, and this text does not have them; type another word."


@dataclass(frozen=True, eq=False, repr=False)
class WordOrder(OneLine):
    """Effect of swapping two tokens on the outputs, each compared at its token's new position.

    vectors: of each token, in the text as it was and swapped, with positions (0) and without (1).
    apart: the mean over real tokens of ‖swapped − as it was‖ / ‖as it was‖, with and without.
    """

    one: int
    two: int
    vectors: Float[np.ndarray, "positions swapped token d_model"]
    apart: tuple[float, float]


def word_order(
    encoder: LoadedEncoder, inputs: Inputs, one: int | None = None, two: int | None = None
) -> WordOrder:
    """Run the input four times: as it is and with two tokens swapped, with positions and without.

    Where nothing tells a model the order, a swap only moves the outputs (up to rounding).

    Args:
        encoder: the model.
        inputs: one text, from `encoder.read`.
        one: index of a token that is not special; by default, the first.
        two: index of another with a different id; by default, or where these two cannot be
            swapped, the first such token.
    """
    if inputs.values.is_floating_point():
        raise SelectionError(NO_WORDS)
    one, two = _pair(inputs, one, two)
    order = list(range(inputs.values.shape[1]))
    order[one], order[two] = two, one
    plain, moved = inputs, replace(inputs, values=inputs.values[:, order])
    models = (encoder, switched(encoder, positions=False))
    vectors = torch.stack(
        [torch.stack([_output(model, plain), _output(model, moved)[order]]) for model in models]
    ).numpy()
    real = inputs.valid[0].cpu().numpy()
    before, after = vectors[:, 0, real], vectors[:, 1, real]
    lengths = np.linalg.norm(before, axis=-1)
    apart = (np.linalg.norm(after - before, axis=-1) / lengths).mean(axis=-1)
    return WordOrder(one, two, vectors.astype(np.float32), (float(apart[0]), float(apart[1])))


def _output(encoder: LoadedEncoder, inputs: Inputs) -> Float[torch.Tensor, "token d_model"]:
    return captured(encoder, inputs)[0].output.double().cpu()


def _pair(inputs: Inputs, one: int | None, two: int | None) -> tuple[int, int]:
    """The given tokens if they are different words of the text, else the first two that are."""
    ids, special = inputs.values[0].tolist(), inputs.samples[0].special
    own = [at for at, made in enumerate(special) if not made]
    if one in own and two in own and ids[one] != ids[two]:
        return one, two
    first = one if one in own else next(iter(own), 0)
    for at in own:
        if ids[at] != ids[first]:
            return first, at
    raise SelectionError(ALIKE)
