"""The zoo: planted mask bugs, each with its story and its fix, and models that are right.

`specimen` is what a plant is, `models` what plants are made of, `correct` the right models; every
other file is one section of the catalog, found by discovery.
"""

import importlib
import pkgutil

from viz_encoder.audit.zoo.correct import CORRECT as CORRECT
from viz_encoder.audit.zoo.correct import Correct as Correct
from viz_encoder.audit.zoo.specimen import MaskedModel as MaskedModel
from viz_encoder.audit.zoo.specimen import Specimen as Specimen

_SECTIONS = [
    importlib.import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__)
]
_ALL = [one for part in _SECTIONS for one in vars(part).values() if isinstance(one, Specimen)]


def _number(specimen: Specimen) -> tuple[str, int]:
    section = specimen.identifier.partition("-")[0]
    return section[0], int(section[1:])


SPECIMENS: dict[str, Specimen] = {one.identifier: one for one in sorted(_ALL, key=_number)}
