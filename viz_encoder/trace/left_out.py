"""What belongs to none of a run's calls though it may be attention; why a recording is empty."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Literal

from torch import nn
from torch.jit import ScriptModule

from viz_encoder.shown import counted
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.trace.softmax import SeenSoftmax

Fate = Literal["dropped", "not followed", "lost"]
SeenIn = tuple[str, SeenSoftmax]  # name of the calling module
CURES: dict[Fate, str] = {
    "dropped": (
        "It is left out because something else attends, too: record(model, eager=True) keeps it."
    ),
    "not followed": (
        "If it is attention, record(model, eager=True) keeps it, unless something that cannot be "
        "followed is done to its weights before they meet the values."
    ),
    "lost": (
        "If it is attention, something that cannot be followed is done to its weights before they "
        "meet the values, so that its maps cannot be shown."
    ),
}


def notes_of_left_out(
    softmaxes: Iterable[SeenIn],
    calls: Collection[RecordedCall],
    shown: Collection[RecordedCall],
    is_within: Callable[[str], bool],
) -> tuple[str, ...]:
    """Notes for a trace of the shown calls, a subset of those kept."""
    sizes = {call.shape[2:] for call in shown}
    missing: dict[Fate, list[SeenIn]] = defaultdict(list)
    for name, seen in of_no_call(softmaxes, calls, sizes):
        if is_within(name):
            missing[_fate(seen)].append((name, seen))
    return tuple(
        f"{which_ran(found)} and is not among these layers, which are numbered without it. "
        f"{CURES[fate]}"
        for fate, found in missing.items()
    )


def unseen_beside(softmaxes: Iterable[SeenIn], calls: Collection[RecordedCall]) -> str:
    """A clause about what ran outside the kept calls; empty if everything was kept."""
    found = of_no_call(softmaxes, calls)
    return f". {which_ran(found)}, which no call holds" if found else ""


def of_no_call(
    softmaxes: Iterable[SeenIn],
    calls: Collection[RecordedCall],
    sizes: Collection[tuple[int, int]] = frozenset(),
) -> list[SeenIn]:
    """Softmaxes that may be attention but belong to no call."""
    kept = {id(call.attention.softmax) for call in calls}
    return [
        (name, seen)
        for name, seen in softmaxes
        if id(seen) not in kept and not seen.put_together and may_be_attention(seen, sizes)
    ]


def may_be_attention(seen: SeenSoftmax, sizes: Collection[tuple[int, int]] = frozenset()) -> bool:
    """Whether its sizes fit attention: tokens by tokens, as large as another map, or several heads.

    The softmax of a classifier or router has at most three axes, and fewer columns than rows.
    """
    rows, columns = seen.rows_and_columns
    return columns > 1 and (rows == columns or (rows, columns) in sizes or len(seen.sizes) > 3)


def which_ran(found: list[SeenIn]) -> str:
    """Name the first of them, and count the other modules that called one."""
    name, first = found[0]
    others = len({name for name, _ in found}) - 1
    more = f" (and one in {counted(others, 'other module')})" if others else ""
    rows, columns = first.rows_and_columns
    return f"A softmax over {rows:,} × {columns:,} ran in {name or 'the model itself'!r}{more}"


def _fate(seen: SeenSoftmax) -> Fate:
    if not seen.followed:
        return "not followed"
    return "dropped" if seen.met_values else "lost"


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
