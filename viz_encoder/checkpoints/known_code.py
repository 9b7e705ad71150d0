"""Checks that a model in memory runs known code, because only its weights are read."""

from torch import nn

from viz_encoder.errors import UnknownFamily

OF_TRANSFORMERS = ("torch", "transformers", "apex")  # apex: norms of T5, where it is installed
OF_TORCH = ("torch",)
OWN = ("torch", "viz_encoder")


def require_known_code(model: nn.Module, packages: tuple[str, ...]) -> None:
    """Refuse a module of another package, and one whose forward was replaced.

    Raises:
        UnknownFamily: the module, by its name.
    """
    for name, module in model.named_modules():
        package, kind = type(module).__module__, type(module).__name__
        replaced = "forward" in vars(module) and not hasattr(module, "_hf_hook")  # moves tensors
        if package.partition(".")[0] in packages and not replaced:
            continue
        where = f"its module {name}" if name else "the model"
        code = "a forward of its own" if replaced else f"code of {package}"
        raise UnknownFamily(
            f"{type(model).__name__} cannot be loaded, because only weights are read: {where} "
            f"({kind}) runs {code}."
        )
