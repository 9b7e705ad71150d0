"""Every family file in this folder, found by looking, and by the model_type that it claims."""

import importlib
import pkgutil

from viz_encoder.checkpoints.family import Family


def _discover() -> dict[str, Family]:
    found: dict[str, Family] = {}
    for module in pkgutil.iter_modules(__path__):
        for family in importlib.import_module(f"{__name__}.{module.name}").FAMILIES:
            for model_type in family.model_types:
                if model_type in found:
                    raise ImportError(f"Two families claim the model_type {model_type!r}.")
                found[model_type] = family
    return found


MODULES = tuple(module.name for module in pkgutil.iter_modules(__path__))
FAMILIES = _discover()
