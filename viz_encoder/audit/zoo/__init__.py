"""The zoo: planted mask bugs, each with its story and its fix, and models that are right.

`specimen` is what a plant is, `models` and `intents` what plants are made of, `correct` the right
models; every other file is one section of the catalog.
"""

from types import ModuleType

from viz_encoder.audit.zoo import (
    batches,
    branches,
    causal_windows,
    conventions,
    directions,
    empty_rows,
    frames,
    hard,
    in_place,
    lengths_and_norms,
    meant_besides,
    memory,
    one_or_several,
    padding,
    pooling,
    repeated_patterns,
    shapes,
    steps,
    wide_patterns,
    windows,
)
from viz_encoder.audit.zoo.correct import CORRECT as CORRECT
from viz_encoder.audit.zoo.correct import Correct as Correct
from viz_encoder.audit.zoo.specimen import MaskedModel as MaskedModel
from viz_encoder.audit.zoo.specimen import Specimen as Specimen

_SECTIONS: tuple[ModuleType, ...] = (
    conventions,
    empty_rows,
    shapes,
    causal_windows,
    padding,
    pooling,
    hard,
    batches,
    memory,
    wide_patterns,
    meant_besides,
    in_place,
    one_or_several,
    windows,
    lengths_and_norms,
    directions,
    repeated_patterns,
    branches,
    frames,
    steps,
)
_ALL = [one for part in _SECTIONS for one in vars(part).values() if isinstance(one, Specimen)]


def _number(specimen: Specimen) -> tuple[str, int]:
    section = specimen.identifier.partition("-")[0]
    return section[0], int(section[1:])


SPECIMENS: dict[str, Specimen] = {one.identifier: one for one in sorted(_ALL, key=_number)}
