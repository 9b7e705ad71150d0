"""Reads a model's prediction heads at any hidden state."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import read_index
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, Task
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import TextReader
from viz_encoder.trace.trace import Trace

SAYS = (Task.MASKED, Task.CLASSIFY, Task.TOKENS, Task.REPLACED)  # a pooled vector predicts nothing

MASKS = ("[mask]", "<mask>")


def masked_tokens(tokens: Sequence[str]) -> list[int]:
    """Positions of [MASK], in any tokenizer family's spelling."""
    return [at for at, token in enumerate(tokens) if token.strip("▁Ġ ").lower() in MASKS]


def tasks(encoder: LoadedEncoder) -> tuple[Task, ...]:
    """Tasks that this model's heads can predict."""
    return tuple(head.task for head in encoder.config.prediction_heads if head.task in SAYS)


def choose_head(encoder: LoadedEncoder, task: Task | str = "") -> HeadConfig:
    """Choose a task's head; by default the first that predicts anything.

    Raises:
        SelectionError: there is no such head.
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


def read_label(encoder: LoadedEncoder, head: HeadConfig, label: int | str) -> int:
    """The number of a label, or of a word of the vocabulary, by its name or number.

    Raises:
        SelectionError: the head knows no such label.
    """
    if not isinstance(label, str):
        return read_index("label", label, head.n_out, also=", or one of its names")
    if head.labels:
        if label in head.labels:
            return head.labels.index(label)
        known = ", ".join(head.labels[:20])
        raise SelectionError(f"There is no label {label!r}; choose {known}.")
    if isinstance(encoder.reader, TextReader):
        for spelling in (label, f"Ġ{label}", f"▁{label}"):
            number = encoder.reader.id_of(spelling)
            if number is not None:
                return int(number)
    raise SelectionError(f"{label!r} is not a single token of this model; choose a word that is.")


def head_input(
    encoder: LoadedEncoder, trace: Trace, state: int | None = None
) -> Float[Tensor, "token d_model"]:
    """The output, or a hidden state through the final norm, on the model's device.

    Raises:
        SelectionError: there is no such state.
    """
    hidden = trace.output if state is None else trace.hidden(state)
    hidden = hidden.to(device=encoder.device, dtype=encoder.dtype)
    with torch.inference_mode():
        return hidden if state is None else encoder.model.final_norm(hidden)


def likelihoods(head: HeadConfig, logits: Float[Tensor, "*place label"]) -> tuple[Tensor, str]:
    """Convert a head's logits to values and their unit: "probability", or raw "score"."""
    separate = head.multi_label or head.task is Task.REPLACED
    if head.regression or (logits.shape[-1] == 1 and not separate):  # trained for regression
        return logits, "score"
    return logits.sigmoid() if separate else logits.softmax(dim=-1), "probability"
