"""Relevance: attention weighted by how much a model's answer would rise with it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import Token, public, read_index, read_token
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, HeadPool, Task
from viz_encoder.errors import InputError, SelectionError, TooLong, TraceError
from viz_encoder.inputs import Inputs, TextReader
from viz_encoder.model.pooling import head_shares
from viz_encoder.model.written_out import WrittenOut
from viz_encoder.result import ArrayResult
from viz_encoder.trace.run_facts import require_no_knock

MAX_TOKENS = 1024  # all maps and their gradients are held at once, each T × T
ANSWERS = (Task.CLASSIFY, Task.MASKED, Task.TOKENS, Task.REPLACED)
TOLERANCE = 1e-4  # relative to the largest value; in half precision, 16 roundings


@dataclass(frozen=True, eq=False, repr=False)
class Relevance(ArrayResult, main="rows"):
    """What raised one label's score, at the tokens that the head reads.

    rows[n] is R after n + 1 layers, from each input token; it starts as the identity, so a token
    that is read has its share of 1 there from the start. Rows have no fixed sum and no unit
    (products of scores): compare cells of one answer, not two answers.
    """

    rows: Float[np.ndarray, "layer key"]
    reads: Float[np.ndarray, " token"]  # each query's share of the rows: 1 for one query
    task: Task
    token: int | None  # where the label stands; None: of the whole input
    label: str
    number: int  # index of the label among the head's outputs
    score: float  # of the label, before softmax or sigmoid
    apart: float  # largest difference of this run's output from an ordinary run's, as a share


@public
def relevance(
    encoder: LoadedEncoder,
    inputs: Any,
    *,
    task: Task | str = "",
    label: int | str | None = None,
    token: Token | None = None,
    query: Token | None = None,
) -> Relevance:
    """R ← R + mean over heads of (∇A ∘ A)⁺ · R, first layer to last (Chefer, Gur & Wolf, 2021).

    ∇A is the gradient of the label's score by the map (arXiv:2103.15679, equations 5 and 6). It
    measures, to first order, through which weights the score would rise; what the values, the
    feed-forward networks and negative gradients do is left out, and it does not prove a cause. The
    model runs again with eager attention, in this thread only, and is not changed; its output is
    held against an ordinary run's. Memory: about 3 · n_layers · n_heads · T² · 4 bytes.

    Args:
        encoder: a model with a head that answers.
        inputs: one text or picture of at most 1,024 tokens, or what `encoder.read` made of it.
        task: which head, if there are several; the first if not given.
        label: its number or name (a token of the vocabulary, for a masked-token head); the most
            likely one if not given.
        token: where the label stands, for heads that answer for each token.
        query: whose row of R is read; if not given, `token`'s or the one that the head reads,
            [CLS] mostly. A head that reads several gets their mean, by its own weights where it
            looks by a learned query: the paper has no such head.

    Raises:
        SelectionError: no such head, label, token or query, or a model in training mode.
        InputError: several sequences, or (TooLong) more than 1,024 tokens.
        TraceError: with eager attention the output differs from that of the ordinary run.
    """
    require_no_knock(encoder.model, "relevance")
    head, inputs = _choose(encoder, task), encoder.read(inputs)
    _check(encoder, inputs)
    valid, names = inputs.valid[0], inputs.samples[0].tokens
    token = _place(head, token, names, valid)
    query = token if query is None else read_token(query, names, "query", valid=valid)
    with torch.inference_mode():
        plain = _run(encoder, inputs)
    # The caller may be in inference mode or under no_grad; this turns gradients on again.
    with torch.inference_mode(False), WrittenOut() as written:
        output = _run(encoder, inputs)
        scores = encoder.model.heads[str(head.task)](output, inputs.valid.to(output.device))[0]
        scores = scores if token is None else scores[token]
        number = _number(label, head, encoder, scores)
        gradients = torch.autograd.grad(scores[number], written.maps)
    apart = _apart(output.detach(), plain, valid)
    reads = _reads(head, query, valid, len(encoder.config.prefix))
    if head.pool is HeadPool.PROBE and query is None:
        with torch.inference_mode():
            speak = encoder.model.heads[str(head.task)]
            reads = head_shares(plain, inputs.valid.to(plain.device), speak)[0].mean(dim=0).cpu()
    rows = _rows(written.maps, gradients, reads)
    name = encoder.output_name(head, number)
    score = float(scores[number].detach())
    return Relevance(rows, reads.numpy(), head.task, token, name, number, score, apart)


def _run(encoder: LoadedEncoder, inputs: Inputs) -> Float[Tensor, "1 token d_model"]:
    device = encoder.device
    values = inputs.values.to(device)
    if values.is_floating_point():
        values = values.to(encoder.dtype)
    if not torch.is_inference_mode_enabled() and values.is_inference():
        values = values.clone()  # such a tensor cannot be kept for gradients
    segments = None if inputs.segments is None else inputs.segments.to(device)
    output: Tensor = encoder.model(
        values, inputs.valid.to(device) if inputs.padded else None, segments
    ).output
    return output


def _rows(
    maps: list[Tensor], gradients: tuple[Tensor, ...], reads: Float[Tensor, " token"]
) -> Float[np.ndarray, "layer key"]:
    """The rows that are read, after each layer."""
    reads = reads.to(maps[0].device)
    total = torch.eye(len(reads), device=maps[0].device)
    rows = []
    for weights, gradient in zip(maps, gradients, strict=True):
        through = (gradient * weights.detach())[0].clamp_min(0).mean(dim=0)
        total = total + through.to(total.dtype) @ total
        rows.append(reads @ total)
    return torch.stack(rows).cpu().numpy()


def _apart(output: Tensor, plain: Tensor, valid: Bool[Tensor, " token"]) -> float:
    """Largest difference of real rows, as a share of the largest value, if it is small."""
    valid = valid.to(output.device)
    ours, theirs = output[0, valid].float(), plain[0, valid].float()
    apart = float((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-30))
    allowed = max(TOLERANCE, 16 * torch.finfo(output.dtype).eps)
    if not apart <= allowed:
        raise TraceError(
            "With eager attention, the model's output differs from its ordinary run by "
            f"{apart:.1g} of its largest value, more than {allowed:.1g}; load it with dtype "
            "float32, or on the CPU."
        )
    return apart


def _reads(
    head: HeadConfig, query: int | None, valid: Bool[Tensor, " token"], n_prefix: int
) -> Float[Tensor, " token"]:
    """Each token's share in what is read; they sum to 1."""
    one = torch.eye(len(valid))
    if query is not None:
        return one[query]
    each = valid.float()
    each[:n_prefix] = 0
    match head.pool:
        case HeadPool.CLS:
            return one[0]
        case HeadPool.CLS_DIST:
            return (one[0] + one[1]) / 2
        case HeadPool.CLS_MEAN:
            return (one[0] + each / each.sum()) / 2
        case HeadPool.LAST:
            return one[int(valid.nonzero()[-1])]
        case _:
            return each / each.sum()


def _check(encoder: LoadedEncoder, inputs: Inputs) -> None:
    if len(inputs.samples) != 1:
        raise InputError(f"There are {len(inputs.samples)} sequences; give one at a time.")
    if inputs.valid.shape[1] > MAX_TOKENS:
        raise TooLong(
            f"The input has {inputs.valid.shape[1]:,} tokens; relevance holds every map and its "
            f"gradient, so it takes at most {MAX_TOKENS:,}. Shorten the input."
        )
    if encoder.model.training:
        raise SelectionError(
            f"{encoder.card.name} is in training mode, where dropout changes its answers; call "
            "encoder.model.eval() first."
        )


def _choose(encoder: LoadedEncoder, task: Task | str) -> HeadConfig:
    known = {
        str(head.task): head for head in encoder.config.prediction_heads if head.task in ANSWERS
    }
    if not known:
        raise SelectionError(f"{encoder.card.name} has no prediction head that gives an answer.")
    wanted = str(task) or next(iter(known))
    if wanted not in known:
        raise SelectionError(
            f"{encoder.card.name} has no prediction head {str(task)!r}; it has {', '.join(known)}."
        )
    return known[wanted]


def _place(
    head: HeadConfig,
    token: Token | None,
    names: tuple[str, ...],
    valid: Bool[Tensor, " token"],
) -> int | None:
    if head.pool is not HeadPool.EACH:
        if token is not None:
            raise SelectionError(
                f"The prediction head {head.task} answers for the whole input; give no token."
            )
        return None
    if token is None:
        raise SelectionError(
            f"The prediction head {head.task} answers for each token; say which, such as token=3."
        )
    return read_token(token, names, valid=valid)


def _number(
    label: int | str | None, head: HeadConfig, encoder: LoadedEncoder, scores: Tensor
) -> int:
    if label is None:
        return int(scores.argmax())
    known = head.labels.index(label) if label in head.labels else None
    if known is None and isinstance(label, str) and head.task is Task.MASKED:
        reader = encoder.reader
        known = reader.id_of(label) if isinstance(reader, TextReader) else None
    number = label if known is None else known
    return read_index("label", number, len(scores), also=", or one of its names")
