"""ablate: remove heads of any PyTorch model while it runs, before W_O mixes them."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from viz_encoder.arguments import AS_IT_IS, public, read_index, said
from viz_encoder.arguments.kinds import MISS, whole
from viz_encoder.effects.heads_seen import HeadMode, by_head
from viz_encoder.effects.rerun import HeadPlace
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.trace.left_out import is_compiled
from viz_encoder.trace.run_facts import Said, noted

HeadCut = Literal["zero"] | Tensor  # replaces a head's output: a tensor that fits "… token d_value"
Cuts = Annotated[Mapping[HeadPlace, HeadCut], AS_IT_IS]  # see `checked`


@public(fault=TraceError)
@contextmanager
def ablate(module: nn.Module, cuts: Cuts) -> Iterator[None]:
    """Remove heads from `module` inside the block: their output is replaced before W_O.

    It works on whatever attention `vz.record` sees: our encoder, models that call
    scaled_dot_product_attention, nn.MultiheadAttention, nn.TransformerEncoder (whose fused kernel
    is off meanwhile, so numbers differ in the last digits), and softmax times values of
    "batch head query key". No weight is changed, gradients flow, and after the block the model is
    as it was, even if the block raised. Layers are numbered in the order in which their attention
    runs, cross-attention included; if a model has several stacks, pass one: `model.encoder`.

    Args:
        module: the model, or the part of it that has the heads.
        cuts: what replaces each (layer, head): "zero", or a tensor of shape "d_value",
            "token d_value" or "batch token d_value".

    Raises:
        SelectionError: a layer or head that is not there, or an invalid cut.
        TraceError: a compiled module, attention whose heads cannot be told apart, attention of two
            kinds, or no attention at all. Do not use the model's output in these cases.
    """
    if is_compiled(module.modules()):
        raise TraceError(
            f"{type(module).__name__} is compiled, so its heads cannot be reached. Use ablate on "
            "the model before torch.compile, or on its ._orig_mod."
        )
    wanted = checked(cuts)
    mode = _Ablation(module, wanted)
    handles = (
        register_module_forward_pre_hook(mode.refuse_backward),
        module.register_forward_pre_hook(mode.enter),
        module.register_forward_hook(mode.leave, always_call=True),
    )
    try:
        with mode, noted(_said(module, wanted)):
            yield
    finally:
        for handle in handles:
            handle.remove()
    mode.require_done()


def _said(module: nn.Module, cuts: Mapping[int, Mapping[int, HeadCut]]) -> Said:
    places = [(layer, head) for layer in sorted(cuts) for head in sorted(cuts[layer])]
    names = [f"{layer}.{head}" for layer, head in places]
    heads = f"Head {names[0]} was" if len(names) == 1 else f"Heads {', '.join(names)} were"
    note = (
        f"{heads} removed by ablate: the map is the one that was computed, but the output was "
        "replaced. If the recording was begun inside the block, it saw the replaced output, and "
        "verification fails there."
    )
    zero = tuple((at, head) for at, head in places if isinstance(cuts[at][head], str))
    return Said(note, module, zero)


def checked(cuts: Any) -> dict[int, dict[int, HeadCut]]:
    """The cuts by layer and head."""
    if not isinstance(cuts, Mapping):
        raise SelectionError(f"cuts is {said(cuts)}; give a dict such as {{(3, 0): 'zero'}}.")
    found: dict[int, dict[int, HeadCut]] = {}
    for place, cut in cuts.items():
        pair: Any = place if isinstance(place, tuple) and len(place) == 2 else (None, None)
        pair = tuple(map(whole, pair))
        if MISS in pair or min(pair) < 0:
            raise SelectionError(
                f"{said(place)} is not a head; give a layer and a head, such as (3, 0)."
            )
        if not _is_cut(cut):
            raise SelectionError(
                f'The cut for {said(place)} is {said(cut)}; give "zero" or a tensor of '
                "floating-point numbers, one per dimension of the head."
            )
        found.setdefault(int(pair[0]), {})[int(pair[1])] = cut
    return found


def _is_cut(cut: Any) -> bool:
    if isinstance(cut, Tensor):
        plain = cut.layout == torch.strided and not cut.is_meta
        return plain and cut.is_floating_point() and cut.ndim > 0
    return isinstance(cut, str) and cut == "zero"


class _Ablation(HeadMode):
    """Counts the attention calls of one module's run, and edits what they give."""

    def __init__(self, module: nn.Module, cuts: dict[int, dict[int, HeadCut]]) -> None:
        super().__init__()
        self._module, self._cuts = module, cuts
        self._parts = {id(part) for part in module.modules()}
        self._depth = self._layer = 0
        self._n_layers: list[int] = []  # per run
        self._thread = threading.get_ident()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run func; edit it if it is attention of the module."""
        if self._depth:
            return super().__torch_function__(func, types, args, kwargs)
        return func(*args, **(kwargs or {}))

    def refuse_backward(self, module: nn.Module, args: Any) -> None:
        """Torch takes the mode away in the backward pass, so what runs again there is not cut."""
        if torch._C._current_graph_task_id() != -1 and id(module) in self._parts:
            raise TraceError(
                "The backward pass runs a layer again (gradient checkpointing), and its heads "
                "cannot be removed there. Turn checkpointing off."
            )

    def enter(self, module: nn.Module, args: Any) -> None:
        """The module starts."""
        if threading.get_ident() != self._thread:
            return  # somebody else's run, which stays as it is
        if not self._depth:
            self._layer, self.by_softmax = 0, False
        self._depth += 1

    def leave(self, module: nn.Module, args: Any, out: Any) -> None:
        """The module has ended, or failed."""
        if threading.get_ident() != self._thread:
            return
        self._depth -= 1
        if not self._depth:
            self._n_layers.append(self._layer)

    def heads(self, mixed: Tensor, n_heads: int | None) -> Tensor:
        """The heads' outputs of the next layer, with its cuts."""
        layer, self._layer = self._layer, self._layer + 1
        cuts = self._cuts.get(layer)
        if not cuts:
            return mixed
        apart = by_head(mixed, n_heads)
        if apart is None:
            raise TraceError(
                f"Layer {layer} attends with its heads folded into the batch "
                f"{tuple(mixed.shape)}, so they cannot be told apart. Load the model with "
                'attn_implementation="sdpa", if it supports that.'
            )
        edited = apart.clone()
        for head, cut in cuts.items():
            read_index("head", head, apart.shape[-3])
            edited[..., head, :, :] = _fitting(cut, apart[..., head, :, :])
        return edited.view(mixed.shape)

    def mixed_kinds(self) -> None:
        """Refuse a model whose layers would have other numbers here than in a recording."""
        raise TraceError(
            f"{type(self._module).__name__} computes some of its attention by a softmax of its own "
            "and some by scaled_dot_product_attention, so its layers cannot be numbered as "
            "vz.record numbers them. Give ablate the part of the model that has the head."
        )

    def require_done(self) -> None:
        """Refuse a block in which a cut was never made."""
        if not self._cuts:
            return
        if not self._n_layers:
            raise TraceError(
                f"{type(self._module).__name__} was not run in the block, on this thread; call it "
                "there."
            )
        fewest, wanted = min(self._n_layers), max(self._cuts)
        if not fewest:
            raise TraceError(
                f"{type(self._module).__name__} ran without any attention that ablate can see, so "
                "nothing was removed."
            )
        read_index("layer", wanted, fewest)


def _fitting(cut: HeadCut, said: Tensor) -> Tensor:
    if isinstance(cut, str):
        return torch.zeros_like(said)
    try:
        return cut.to(said).expand_as(said)
    except RuntimeError as fault:
        raise SelectionError(
            f"The cut has shape {tuple(cut.shape)} and the head's output {tuple(said.shape)}; give "
            "one that fits, such as one value per dimension."
        ) from fault
