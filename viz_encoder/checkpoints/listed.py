"""Lists the families that can be loaded: a title and the model_types of each file."""

import importlib

from viz_encoder.checkpoints import families as folder


def known_families() -> dict[str, tuple[str, ...]]:
    """The title of each family file (its docstring's beginning) and what config.json may say."""
    listed: dict[str, tuple[str, ...]] = {}
    for name in folder.MODULES:
        module = importlib.import_module(f"{folder.__name__}.{name}")
        title = (module.__doc__ or name).split(":")[0].split(" (")[0].strip()
        types = [model_type for family in module.FAMILIES for model_type in family.model_types]
        whole = [family.part_of[0] for family in module.FAMILIES if family.part_of]
        listed[title] = tuple(dict.fromkeys([*types, *whole]))
    return listed
