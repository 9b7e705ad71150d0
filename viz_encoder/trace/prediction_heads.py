"""Reading a model's head off a run: which heads speak, and what they say of any hidden state."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, Task
from viz_encoder.errors import SelectionError
from viz_encoder.trace.trace import Trace

SAYS = (Task.MASKED, Task.CLASSIFY, Task.TOKENS, Task.REPLACED)  # a pooled vector says nothing

MASKS = ("[mask]", "<mask>")


def masked_tokens(tokens: Sequence[str]) -> list[int]:
    """Where [MASK] stands, as the tokenizers of different families write it."""
    return [at for at, token in enumerate(tokens) if token.strip("▁Ġ ").lower() in MASKS]


def tasks(encoder: LoadedEncoder) -> tuple[Task, ...]:
    """What this model's heads can say."""
    return tuple(head.task for head in encoder.config.prediction_heads if head.task in SAYS)


def choose_head(encoder: LoadedEncoder, task: Task | str = "") -> HeadConfig:
    """The head of a task; the first that speaks where none is given.

    Raises:
        SelectionError: no such head.
    """
    known = tasks(encoder)
    if not known:
        raise SelectionError(f"{encoder.card.name} has no prediction head.")
    wanted = task or known[0]
    for head in encoder.config.prediction_heads:
        if head.task == wanted and head.task in known:
            return head
    raise SelectionError(
        f"{encoder.card.name} has no prediction head {str(task)!r}; it has "
        f"{', '.join(map(str, known))}."
    )


def head_input(
    encoder: LoadedEncoder, trace: Trace, layer: int | None = None
) -> Float[Tensor, "token d_model"]:
    """The output, or the states after some blocks through the final norm, where the model is.

    Raises:
        SelectionError: no such layer.
    """
    state = trace.output if layer is None else trace.hidden(layer)
    state = state.to(device=encoder.device, dtype=encoder.dtype)
    with torch.inference_mode():
        return state if layer is None else encoder.model.final_norm(state)


def likelihoods(head: HeadConfig, logits: Float[Tensor, "*place label"]) -> tuple[Tensor, str]:
    """What a head's numbers mean, and the unit: "probability", or "score" as they are."""
    separate = head.multi_label or head.task is Task.REPLACED
    if head.regression or (logits.shape[-1] == 1 and not separate):  # trained to give numbers
        return logits, "score"
    return logits.sigmoid() if separate else logits.softmax(dim=-1), "probability"
