"""The steps of the lesson, a file each, found by discovery; none knows another."""

import importlib
import pkgutil

from viz_encoder.lesson.exercise import Step


def _discover() -> tuple[Step, ...]:
    modules = (
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    )
    return tuple(sorted((module.STEP for module in modules), key=lambda step: step.number))


STEPS = _discover()
