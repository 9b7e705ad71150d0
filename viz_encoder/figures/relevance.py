"""What raised a label's score, as a layer × key heatmap of gradient-weighted attention."""

from typing import Any

import plotly.graph_objects as go

from viz_encoder.analyses.relevance import ANSWERS, Relevance
from viz_encoder.analyses.relevance import relevance as compute
from viz_encoder.arguments import Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Task
from viz_encoder.figures.depth import depth_figure
from viz_encoder.figures.shown_keys import shown_keys
from viz_encoder.figures.theme import apply, caption, plain
from viz_encoder.figures.untrained import marked
from viz_encoder.figures.view import HIDE_SPECIAL, RENORMALIZE, Control, Place, View
from viz_encoder.shown import quoted

BAR = "Relevance added by attention<br>(no fixed unit; compare within this figure)"
MEASURED = (
    "to first order, through which attention weights this label's score would rise, multiplied "
    "through the layers; the read token's own starting value of 1 is subtracted."
)
NOT_MEASURED = (
    "what lowers the score, what the values and feed-forward networks do, and whether the answer "
    "would change without a token."
)


@marked
@public
def relevance(
    encoder: LoadedEncoder,
    inputs: Any,
    *,
    task: str = "",
    label: int | str | None = None,
    token: Token | None = None,
    query: Token | None = None,
    hide_special: bool = False,
    renormalize: bool = False,
) -> go.Figure:
    """Relevance of each input token after each layer (Chefer, Gur & Wolf, 2021, arXiv:2103.15679).

    Args:
        encoder: a model with a head that answers.
        inputs: one text or picture of at most 1,024 tokens, or what `encoder.read` made of it.
        task: which head, if there are several; the first if not given.
        label: its number or name; the most likely one if not given.
        token: where the label stands, for heads that answer for each token.
        query: whose row is read; if not given, `token`'s or the one that the head reads.
        hide_special: whether special tokens are left out of what is shown; relevance itself always
            runs through all tokens.
        renormalize: whether each row is divided by its sum over the keys that are shown.

    Raises:
        SelectionError: no such head, label, token or query.
        InputError: several sequences, or too long a one.
        TraceError: the run with gradients differs from the ordinary run.
    """
    label, inputs = _number(encoder, label), encoder.read(inputs)
    found = compute(encoder, inputs, task=task, label=label, token=token, query=query)
    tokens, special = inputs.samples[0].tokens, inputs.samples[0].special
    switches = {"hide_special": hide_special, "renormalize": renormalize}
    shown = shown_keys(found.rows - found.reads, special, **switches)
    figure, _ = depth_figure(
        shown.rows,
        tokens,
        bar=shown.bar(BAR),
        key_title="Key (which input token)",
        numbers=shown.tokens,
    )
    apply(figure, _title(found, tokens))
    caption(figure, f"Measured: {MEASURED} Not measured: {NOT_MEASURED}{shown.says}")
    return figure


def _number(encoder: LoadedEncoder, label: int | str | None) -> int | str | None:
    """Digits are a number only for heads without names: "3" may be the name of label 7."""
    if not (isinstance(label, str) and label.isascii() and label.isdigit()):
        return label
    named = any(head.labels or head.task is Task.MASKED for head in encoder.config.prediction_heads)
    return label if named else int(label)


def _title(found: Relevance, tokens: tuple[str, ...]) -> str:
    """Name the label, its position, and the row."""
    where = "" if found.token is None else f" at {found.token} {quoted(plain(tokens[found.token]))}"
    read = found.reads.nonzero()[0].tolist()
    whose = (
        f"{read[0]} {quoted(plain(tokens[read[0]]))}" if len(read) == 1 else f"{len(read)} tokens"
    )
    return f"Relevance to {quoted(plain(found.label))}{where}, read at {whose}"


VIEW = View(
    "Relevance to an answer",
    relevance,
    (
        Control("task", "Prediction head", ("", *map(str, ANSWERS))),
        Control("label", "Label or word", counts="name"),
        Control("token", "Target token", counts="token"),
        Control("query", "Read at", counts="token"),
        HIDE_SPECIAL,
        RENORMALIZE,
    ),
    takes=("encoder", "inputs"),
    needs=("answer",),
    measured=MEASURED,
    not_measured=NOT_MEASURED,
    source="Chefer, Gur & Wolf, 2021, arXiv:2103.15679",
    place=Place(
        "flow",
        "answer",
        3,
        "Relevance to the answer",
        row="Relevance: through which attention weights the answer’s score would rise[, read at "
        "{query}], {after}",
    ),
    look="Look for the tokens that get most relevance in the last row.",
)
