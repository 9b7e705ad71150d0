"""Explains an empty recording and its fix in a sentence or two."""

from collections.abc import Iterable

from torch import nn
from torch.jit import ScriptModule

from viz_encoder.trace.left_out import SeenIn, may_be_attention, which_ran

SEEN = (
    "record() sees scaled_dot_product_attention, nn.MultiheadAttention, nn.TransformerEncoder, "
    "flex_attention and softmax times values. It does not see flash-attn, xformers, compiled "
    "kernels, linear attention, or a softmax over another axis than the last or written out as "
    "exp and sum."
)


def why_nothing_was_captured(
    module: nn.Module,
    n_runs: int,
    ran_elsewhere: bool,
    eager: bool,
    softmaxes: Iterable[SeenIn] = (),
    raised: bool = False,
) -> str:
    """Return the most likely reason; each one that can be checked is checked."""
    name = type(module).__name__
    start = f"No attention of {name} was captured: "
    if ran_elsewhere:
        return f"{start}it ran on another thread. Call it on the thread that opened record()."
    if any(isinstance(part, ScriptModule) for part in module.modules()):
        return f"{start}it is traced or scripted (TorchScript). Record the original nn.Module."
    if n_runs == 0:
        return f"{start}it was not called in the block. Call the module that was given to record()."
    if raised:
        return f"{start}it raised an exception before it attended. Call it so that it runs."
    if compiled := compiled_function(module.modules()):
        return (
            f"{start}it calls {compiled}, which is compiled. To see it run uncompiled, put "
            "torch.compiler.set_stance('force_eager') around the block."
        )
    kernel = getattr(getattr(module, "config", None), "_attn_implementation", None)
    if kernel not in (None, "sdpa", "eager"):
        return (
            f"{start}its attention is {kernel!r}, which record() cannot see. "
            "Load it with attn_implementation='sdpa'."
        )
    found = [(name, seen) for name, seen in softmaxes if may_be_attention(seen)]
    if found and not eager:
        return f"{start}it computes its softmax itself. Try record(module, eager=True)."
    if found:
        ran = which_ran(found)
        return (
            f"{start}{ran[0].lower()}{ran[1:]}, but its weights do not "
            "meet the values whole: they are cut into parts before, as in windowed, sparse and "
            "chunked attention, or changed in a way that cannot be followed."
            f"{own_weights(module)}"
        )
    return f"{start}it ran, but without any attention that record() can see. {SEEN}"


def way_to_full_attention(module: nn.Module) -> str:
    """Advice for a model that uses block attention but can run full attention."""
    if getattr(getattr(module, "config", None), "attention_type", None) != "block_sparse":
        return ""
    return " Load the model with attention_type='original_full', with which it has whole maps."


def own_weights(module: nn.Module) -> str:
    """Where a model of transformers gives the weights of its parts itself."""
    if not hasattr(getattr(module, "config", None), "output_attentions"):
        return ""
    return " model(…, output_attentions=True) gives them as the model has them, part by part."


def compiled_function(modules: Iterable[nn.Module]) -> str:
    """Name of a compiled function that a module holds or its forward calls; "" if none."""
    for part in modules:
        code, names = getattr(type(part).forward, "__code__", None), {}
        if code is not None:
            known = type(part).forward.__globals__
            names = {name: known[name] for name in code.co_names if name in known}
        for name, value in {**names, **vars(part)}.items():
            if hasattr(value, "_torchdynamo_orig_callable"):
                return name
    return ""


def is_compiled(modules: Iterable[nn.Module]) -> bool:
    """Whether any module was compiled with torch.compile."""
    return any(
        type(part).__name__ == "OptimizedModule" or getattr(part, "_compiled_call_impl", None)
        for part in modules
    )
