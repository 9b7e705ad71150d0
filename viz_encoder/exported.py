"""The public names of a package, without the modules that define them."""

from collections.abc import Mapping
from typing import Any


def exported(package: Mapping[str, Any]) -> list[str]:
    """The names for a package's `__dir__`, given its `globals()`.

    Python adds each module that was imported to its package, where it would stand among the
    functions that an editor offers.
    """
    own = (name for name in package if not name.startswith("_"))
    return sorted(
        name
        for name in own
        if getattr(package[name], "__module__", "").startswith("viz_encoder")
        and package[name] is not exported
    )
