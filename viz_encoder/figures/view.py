"""View: a figure and its controls as plain data, so that page, command line and notebook agree."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Annotated, Any, Literal, ParamSpec

import plotly.graph_objects as go

from viz_encoder.arguments import OneOf, public
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.figures.theme import caption
from viz_encoder.trace.map_view import Head

Arguments = ParamSpec("Arguments")
MARK = "untrained: random weights"


def _labeled(draw: Callable[Arguments, go.Figure], says: str) -> Callable[Arguments, go.Figure]:
    """The figure with that caption, if it has none, and a mark in the title where untrained."""

    @wraps(draw)
    def labeling(*given: Arguments.args, **options: Arguments.kwargs) -> go.Figure:
        figure = draw(*given, **options)
        if says and not any(each.name == "caption" for each in figure.layout.annotations):
            caption(figure, says)
        if any(_is_untrained(each) for each in (*given, *options.values())):
            said = figure.layout.title.text or ""
            figure.update_layout(title_text=f"{said} ({MARK})" if said else MARK)
        return figure

    return labeling


def _is_untrained(given: object) -> bool:
    origin, card = getattr(given, "origin", None), getattr(given, "card", None)
    return bool(getattr(origin, "weights", "")) or getattr(card, "untrained", False) is True


HeadOrSum = Annotated[int | Literal["sum"], 'the number of a head, or "sum"']
SWITCH = ("no", "yes")  # choices of an option that is True or False in Python
VIEWS: dict[str, "View"] = {}  # by name; each is put here by `drawn`


@dataclass(frozen=True)
class Control:
    """One option of a view: its keyword, label, and choices if they are fixed."""

    name: str
    label: str
    choices: tuple[str, ...] = ()  # empty: a whole number within the run
    words: tuple[str, ...] = ()  # allowed besides numbers
    # What its numbers count: layer, state (one more), head, token; "" is any number or text, and
    # "name" is a text even where it is all digits.
    counts: str = ""


@dataclass(frozen=True)
class PagePlace:
    """Where a view appears on the page, besides the list of all views.

    Tabs and slots: "explore" has "map" and "overlay", the pictures that stand for the map itself;
    "vectors" has "similarity", "change", "pca" and "logit_lens", the figure of a panel. Of several
    in a slot the first that the run can have is meant.
    """

    tab: str
    slot: str
    order: int = 0  # among those of its tab, from the first on


@dataclass(frozen=True)
class View:
    """A way to draw a run."""

    title: str
    draw: Callable[..., go.Figure]
    controls: tuple[Control, ...] = ()
    # What is drawn, in order: "trace", "inputs", "encoder" (the model), "weights" (the model, or
    # the parts that were read of a recorded one), or "attribution" (the answer to QUESTION).
    takes: tuple[str, ...] = ("trace",)
    needs: tuple[str, ...] = ()  # also "picture", "every head" (none removed)
    look: str = ""  # what to look at first, one sentence
    measured: str = ""  # a sentence each: what it shows, and what it does not
    not_measured: str = ""
    source: str = ""  # of the method: author, year, arXiv
    place: PagePlace | None = None

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.draw.__name__

    @property
    def says(self) -> str:
        """What is measured, and what is not, as its caption says; "" where a figure has its own."""
        said = f"Measured: {self.measured} Not measured: {self.not_measured}"
        return said if self.measured else ""

    @property
    def options(self) -> tuple[Control, ...]:
        """Its controls, after those of the question that it answers."""
        return (*(QUESTION if "attribution" in self.takes else ()), *self.controls)


# What an attribution is asked: the arguments of `vz.attribute`.
QUESTION = (
    Control(
        "of",
        "Explain",
        ("", "answer", "state", "pooled", "masked", "classify", "tokens", "replaced"),
    ),
    Control("label", "Label or word", counts="name"),
    Control("token", "Token", counts="token"),
    Control("against", "Against", counts="name"),
)
LABELS = {  # of an option, by its name
    "center": "Mean subtracted",
    "fuse": "Combine heads by",
    "head": "Head",
    "hide_special": "Hide special tokens",
    "layer": "Layer",
    "least": "Least part of the score",
    "mean": "Mean token",
    "measure": "Measure",
    "method": "Pooling",
    "other": "Other text",
    "query": "Query",
    "renormalize": "Renormalize rows",
    "scale": "Color scale",
    "show": "Show",
    "state": "After n blocks (0 = embeddings)",
    "statistic": "Statistic",
    "task": "Prediction head",
    "token": "Follow token",
    "words": "Merge sub-words",
}
COUNTS = {"query": "token", "other": "name", "task": "name"} | {
    x: x for x in ("layer", "state", "head", "token")
}
ALSO: dict[Any, tuple[str, ...]] = {Head: ("mean", "max"), HeadOrSum: ("sum",)}  # words for heads


def drawn(
    title: str,
    *,
    labels: Mapping[str, str] | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
    **said: Any,
) -> Callable[[Callable[Arguments, go.Figure]], Callable[Arguments, go.Figure]]:
    """Make a view of a figure function: its controls are its keywords, as annotations say.

    Args:
        title: of the view.
        labels: of controls, where they are others than in LABELS.
        choices: of controls, where the annotation does not name them.
        said: the other fields of `View`; what is measured, and what is not, is the caption of a
            figure that has no other.
    """

    def made(draw: Callable[Arguments, go.Figure]) -> Callable[Arguments, go.Figure]:
        view = View(title, draw, **said)
        drawing = _labeled(public(draw), view.says)
        controls = [
            _control(given, (labels or {}).get(name), (choices or {}).get(name, ()))
            for name, given in inspect.signature(draw).parameters.items()
            if given.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        VIEWS[view.name] = replace(view, draw=drawing, controls=tuple(controls))
        return drawing

    return made


def _control(given: inspect.Parameter, label: str | None, choices: tuple[str, ...]) -> Control:
    name, hint = given.name, given.annotation
    limits = [limit for limit in getattr(hint, "__metadata__", ()) if isinstance(limit, OneOf)]
    choices = limits[0].known if limits else SWITCH if hint is bool else choices
    return Control(name, label or LABELS[name], choices, ALSO.get(hint, ()), COUNTS.get(name, ""))


SOURCE = "Ali et al., 2022, arXiv:2202.07304"
# Makes a view of an attribution, by gradients of this run.
drawn_share = partial(
    drawn,
    takes=("attribution",),
    measured="an exact split of this score, with the attention weights, norm divisors and "
    "activation factors of this run held as they were. Shares are signed and add up to the score.",
    not_measured="what would happen without a token or head (see the effect of removing), nor why "
    "the weights are what they are.",
    source=SOURCE,
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
