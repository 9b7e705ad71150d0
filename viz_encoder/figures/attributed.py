"""Shared by figures of attributions: how the question is asked, and the colors of shares."""

from typing import Any

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.view import QUESTION

SOURCE = "Ali et al., 2022, arXiv:2202.07304"
MEASURED = (
    "an exact split of this score, with the attention weights, norm divisors and activation "
    "factors of this run held as they were. Shares are signed and add up to the score."
)
NOT_MEASURED = (
    "what would happen without a token or head (see the effect of removing), nor why the weights "
    "are what they are."
)


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that ask, as `vz.attribute` takes them, and those of the figure."""
    asks = {control.name for control in QUESTION}
    question = {name: options[name] for name in sorted(asks & {*options})}
    own = {name: value for name, value in options.items() if name not in asks}
    return {name: value for name, value in question.items() if value not in ("", None)}, own


def share_bar(attribution: Attribution, of: str = "Share of the score") -> str:
    """The title of the scale, with its unit."""
    return f"{of}<br>({'in logits' if attribution.unit == 'logits' else 'in the unit of lengths'})"


def special_columns(attribution: Attribution) -> tuple[bool, ...]:
    """Which columns are special tokens of the run, or of the first of two."""
    found = [False] * len(attribution.names)
    special_tokens = attribution.trace.sample.special
    for column, special in zip(attribution.parts[0].columns, special_tokens, strict=True):
        if column >= 0:
            found[column] = special
    return tuple(found)
