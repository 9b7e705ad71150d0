"""Finds the family that reads a config.json, and reports garbled ones in plain sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import repr as shown  # truncates: untrusted input can be of any length

from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.errors import CheckpointError, ConfigError, UnknownFamily, UnsafeFile

WHOLE = ("projection_dim", "id2label", "num_labels", "problem_type")  # said of both parts at once


def family_of(file: Json, part: str) -> tuple[Family, Json]:
    """The family that reads this file, and the part of the file that is meant.

    Raises:
        UnsafeFile: the file asks to run code of its own.
        UnknownFamily: its model_type is not one that we load.
        CheckpointError: it garbles what tells its family.
    """
    if "auto_map" in file:
        raise UnsafeFile(
            "config.json asks to run code of its own (auto_map); that is never done. If its "
            "model_type is one that we load, delete auto_map from a copy of the folder."
        )
    model_type = file.get("model_type")
    for family in FAMILIES.values():
        if model_type is None and family.claims is not None:
            with plainly():
                claimed = family.claims(file)
            if claimed:
                return family, file
        if family.part_of == (model_type, part or "vision"):
            half = file.get(f"{family.part_of[1]}_config")
            if not isinstance(half, dict):
                raise CheckpointError(f"config.json has no {family.part_of[1]}_config.")
            own = {key: value for key, value in half.items() if key not in WHOLE}
            return family, own | {key: file[key] for key in WHOLE if key in file}
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        whole = {family.part_of[0] for family in FAMILIES.values() if family.part_of}
        raise UnknownFamily(
            f"config.json says model_type {shown(model_type)}; we load "
            f"{', '.join(sorted({*FAMILIES, *whole}))}."
        )
    return FAMILIES[model_type], file


@contextmanager
def plainly() -> Iterator[None]:
    """Say in a sentence what a stranger's config.json made a family stumble over."""
    try:
        yield
    except ConfigError as fault:
        raise CheckpointError(
            f"config.json does not describe a possible encoder: {fault}"
        ) from fault
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as fault:
        raise CheckpointError(
            f"A setting in config.json is missing or not valid: {str(fault)[:200]}."
        ) from fault
