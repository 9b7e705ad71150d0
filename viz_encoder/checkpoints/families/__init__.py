"""Every family file in this folder, found by looking, and by the model_type that it claims."""

import importlib
import pkgutil

from viz_encoder.checkpoints.family import Family

MODULES = tuple(
    importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__)
)


def _by_type() -> dict[str, Family]:
    found: dict[str, Family] = {}
    for family in (family for module in MODULES for family in module.FAMILIES):
        for model_type in family.model_types:
            if model_type in found:
                raise ImportError(f"Two families claim the model_type {model_type!r}.")
            found[model_type] = family
    return found


FAMILIES = _by_type()


def known_families() -> dict[str, tuple[str, ...]]:
    """The title of each family file (its docstring's beginning) and what config.json may say."""
    listed: dict[str, tuple[str, ...]] = {}
    for module in MODULES:
        title = (module.__doc__ or module.__name__).split(":")[0].split(" (")[0].strip()
        types = [model_type for family in module.FAMILIES for model_type in family.model_types]
        whole = [family.part_of[0] for family in module.FAMILIES if family.part_of]
        listed[title] = tuple(dict.fromkeys([*types, *whole]))
    return listed
