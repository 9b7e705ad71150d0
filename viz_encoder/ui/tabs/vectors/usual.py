"""How alike two unrelated texts are to a model, by each pooling: others are held against it."""

from weakref import WeakKeyDictionary

import numpy as np

from viz_encoder.analyses.collection import collection
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.tabs.vectors.set_items import BUILT_IN, example

Usual = dict[tuple[str, int], float]  # (method, layer)
_known: WeakKeyDictionary[LoadedEncoder, Usual] = WeakKeyDictionary()


def usual_cosines(encoder: LoadedEncoder) -> Usual:
    """The mean cosine of two texts of the built-in set on different topics, made once a model.

    Empty where this model cannot read them.
    """
    if encoder not in _known:
        try:
            _known[encoder] = _measured(encoder)
        except VizEncoderError:
            _known[encoder] = {}
    return _known[encoder]


def _measured(encoder: LoadedEncoder) -> Usual:
    found = collection(encoder, example(BUILT_IN))
    labels = np.array(found.labels)
    apart = labels[:, None] != labels
    means = {
        (method, state): float(np.nanmean(found.cosine(method, state)[apart]))
        for method in found.methods
        for state in found.states
    }
    return {place: mean for place, mean in means.items() if mean == mean}
