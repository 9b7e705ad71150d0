"""The command `figure`: any view of a saved run as a page, a picture, JSON or a table."""

import argparse
import importlib.util
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be of any length
from typing import Any

from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.trace import Trace
from viz_encoder.whole_file import require_writable, shortened, write_whole

KINDS = (".html", ".json", ".csv", ".npz", ".png", ".svg")
# Nothing may be sent anywhere: Plotly would offer its cloud.
CONFIG = {"displaylogo": False, "showSendToCloud": False}


def add_figure(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    figure = commands.add_parser("figure", help="write any view of a saved run to a file")
    figure.add_argument("trace", help="a saved run: run.safetensors")
    figure.add_argument("view", help="which view, such as rollout; a wrong name lists them all")
    figure.add_argument("-o", "--output", required=True, help=f"ends in {', '.join(KINDS)}")
    figure.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the view, such as query=3; may be given several times",
    )
    figure.add_argument(
        "--model", help="the model that ran, for views that need it: a name or a folder"
    )
    figure.add_argument("--part", default="", help="text or vision, for a model that has both")
    figure.add_argument("--source", help="the picture that was run, for relevance")
    figure.set_defaults(run=_figure)


def _figure(given: argparse.Namespace) -> None:
    from viz_encoder.figures.options import read_options
    from viz_encoder.figures.views import VIEWS  # Plotly is slow to import

    kind = Path(given.output).suffix.lower()
    if kind not in KINDS:
        name = shortened(Path(given.output).name)
        raise SelectionError(f"{name!r} has no known ending; choose one of {', '.join(KINDS)}.")
    if given.view not in VIEWS:
        raise SelectionError(
            f"There is no view {shown(given.view)}; choose one of {', '.join(VIEWS)}."
        )
    require_writable(given.output)
    view, trace = VIEWS[given.view], Trace.load(given.trace)
    options = read_options(view, dict(_pair(text) for text in given.option))
    figure = view.draw(*_taken(view, trace, given), **options)
    size = _write(figure, Path(given.output), kind, trace.origin.model)
    print(f"{given.output}: {size:,} bytes. {trace.proof.sentence}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SelectionError(
            f"{shown(text)} is not an option; write it as name=value, such as query=3."
        )
    return name, value


def _taken(view: Any, trace: Trace, given: argparse.Namespace) -> list[Any]:
    """What the view draws: the run, and where it needs them, the model and what it read."""
    from viz_encoder.checkpoints import load

    if view.takes == ("trace",):
        return [trace]
    if not given.model:
        raise SelectionError(
            f"{view.name} needs the model that ran; add --model {trace.origin.model or 'NAME'}."
        )
    encoder = load(given.model, part=given.part)
    parts: dict[str, Any] = {"trace": trace, "encoder": encoder, "weights": encoder}
    if "inputs" in view.takes:
        parts["inputs"] = encoder.read(_source(trace, given.source))
    return [parts[name] for name in view.takes]


def _source(trace: Trace, path: str | None) -> Any:
    """The text that the run holds, or the picture's file."""
    if path:
        return Path(path)
    texts = trace.sample.texts
    if not texts:
        raise SelectionError("This run holds no text to run again; give its picture with --source.")
    return (texts[0], texts[1]) if len(texts) > 1 else texts[0]


def _write(figure: Any, path: Path, kind: str, model: str) -> int:
    from viz_encoder.export.figure_tables import figure_csv, figure_npz

    if kind == ".html":  # Plotly's script is in it, so it opens without a network
        content = figure.to_html(include_plotlyjs=True, config=CONFIG).encode()
    elif kind == ".json":
        content = figure.to_json().encode()
    elif kind == ".csv":
        content = "".join(figure_csv(figure, model)).encode("utf-8", "backslashreplace")
    elif kind == ".npz":
        content = figure_npz(figure, model)
    else:
        content = _picture(figure, kind)
    return write_whole([content], path)


def _picture(figure: Any, kind: str) -> bytes:
    if importlib.util.find_spec("kaleido") is None:
        raise TraceError(
            f"{kind} files are drawn by kaleido, which is not installed. Run: pip install kaleido "
            "(it needs Chrome), or choose .html, .json, .csv or .npz."
        )
    # A page has room above and a ground of its own; a file has neither.
    figure.update_layout(margin_t=170, margin_l=120, title_y=0.98, paper_bgcolor="white")
    try:
        content: bytes = figure.to_image(format=kind[1:], width=1000, height=800)
    except Exception as fault:  # kaleido's own, Chrome's and Plotly's
        raise TraceError(f"kaleido could not draw {kind}: {str(fault)[:300]}") from fault
    return content
