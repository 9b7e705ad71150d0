"""The command `export`: a map of a saved run, or any other view of it, as a file."""

import argparse
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be of any length
from typing import Any

from viz_encoder.arguments.public import read_token, written_heads, written_number
from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.whole_file import PICTURES, kind_of, require_writable, write_whole

KINDS = (".html", ".json", ".csv", ".npz", *PICTURES)
# No data may leave: hide Plotly's cloud button.
CONFIG = {"displaylogo": False, "showSendToCloud": False}


def add_export(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    export = commands.add_parser("export", help="write a map or another view of a saved run")
    export.add_argument("trace", help="a saved run: run.safetensors")
    export.add_argument(
        "view",
        nargs="?",
        default="",
        help="which view, such as rollout; a wrong name lists them all; without one, the map: in "
        ".html all heads, offline",
    )
    export.add_argument("-o", "--output", required=True, help=f"ends in {', '.join(KINDS)}")
    export.add_argument("--layer", help="counted from 0 (0)")
    export.add_argument("--head", help="a number, several (1,7), mean or max (0)")
    export.add_argument(
        "--query", help="only this token's row, by number or name; in .html, the row to mark"
    )
    export.add_argument(
        "--hide-special", action="store_true", help="leave out special tokens such as [CLS]"
    )
    export.add_argument(
        "--renormalize", action="store_true", help="divide rows by their sum over the kept keys"
    )
    export.add_argument("--words", action="store_true", help="merge sub-words into words")
    export.add_argument(
        "--scale",
        help="colors in .html: up to the largest of each head, row, layer or all; shared (0 to 1), "
        "percentile (1st to 99th), sqrt, or log (head)",
    )
    export.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another option of the view, such as fuse=max; may be given several times",
    )
    export.add_argument(
        "--model",
        help="the model that ran, a name or a folder: for views that need it, and in .html for how "
        "an answer, or the query's final state, got there",
    )
    export.add_argument("--part", default="", help="text or vision, for a model that has both")
    export.add_argument("--source", help="the picture that was run, for head_effects")
    export.set_defaults(run=_export)


def _export(given: argparse.Namespace) -> None:
    require_writable(given.output)
    if not given.view and given.option:
        raise SelectionError("--option is for a view, such as rollout; name one after the run.")
    write = _write_view if given.view else _write_map
    print(write(given, Path(given.output)))


def _write_map(given: argparse.Namespace, path: Path) -> str:
    from viz_encoder.export.save import save  # Plotly is slow to import
    from viz_encoder.export.snippet import snippet

    trace = Trace.load(given.trace)
    changes = {name: getattr(given, name) for name in ("hide_special", "renormalize", "words")}
    layer, query = _number("--layer", given.layer), _token(given.query, trace)
    head = given.head or "0"
    heads = written_heads(head)  # a word; one that is none is refused later
    view = MapView(
        layer or 0, head if heads is None else heads, scale=given.scale or "head", **changes
    )
    code = snippet(Path(given.trace), view, query=query)
    found = None
    if given.model and path.suffix.lower() == ".html":
        from viz_encoder.attribution import attribute
        from viz_encoder.checkpoints import load

        encoder = load(given.model, part=given.part)
        if query is None:
            found = attribute(encoder, trace)
        else:
            found = attribute(encoder, trace, of="state", token=query)
    size = save(trace, path, view, query=query, snippet=code, explained=found)
    return f"{path}: {size:,} bytes. {trace.proof.sentence}"


def _write_view(given: argparse.Namespace, path: Path) -> str:
    from viz_encoder.figures.options import (
        VIEWS,  # Plotly is slow to import
        read_options,
    )

    kind = kind_of(path, KINDS)
    if given.view not in VIEWS:
        raise SelectionError(
            f"There is no view {shown(given.view)}; choose one of {', '.join(VIEWS)}."
        )
    view, trace = VIEWS[given.view], Trace.load(given.trace)
    options = read_options(view, _flags(given) | dict(_pair(text) for text in given.option))
    taken, options = _taken(view, trace, given, options)
    figure = view.draw(*taken, **options)
    size = write_figure(figure, path, kind, trace.origin.model)
    return f"{path}: {size:,} bytes. {trace.proof.sentence}"


def _flags(given: argparse.Namespace) -> dict[str, str]:
    """The flags that were given, as options of a view, which refuses those that it has not."""
    texts = {name: getattr(given, name) for name in ("layer", "head", "query", "scale")}
    switches = ("hide_special", "renormalize", "words")
    return {name: text for name, text in texts.items() if text is not None} | {
        name: "yes" for name in switches if getattr(given, name)
    }


def _number(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    number = written_number(text)
    if number is None:
        raise SelectionError(f"{flag} is {shown(text)}; it must be a whole number.")
    return number


def _token(text: str | None, trace: Trace) -> int | None:
    if text is None:
        return None
    number = written_number(text)
    return read_token(text if number is None else number, trace.tokens, "query")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SelectionError(
            f"{shown(text)} is not an option; write it as name=value, such as query=3."
        )
    return name, value


def _taken(
    view: Any, trace: Trace, given: argparse.Namespace, options: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """What the view takes: the run and, if needed, the model and its inputs; and its options."""
    from viz_encoder.attribution import attribute
    from viz_encoder.checkpoints import load
    from viz_encoder.figures.view import parted

    if view.takes == ("trace",):
        return [trace], options
    if not given.model:
        raise SelectionError(
            f"{view.name} needs the model that ran; add --model {trace.origin.model or 'NAME'}."
        )
    encoder = load(given.model, part=given.part)
    parts: dict[str, Any] = {"trace": trace, "encoder": encoder, "weights": encoder}
    if "inputs" in view.takes:
        parts["inputs"] = encoder.read(_source(trace, given.source))
    if "attribution" in view.takes:
        question, options = parted(options)
        parts["attribution"] = attribute(encoder, trace, **question)
    return [parts[name] for name in view.takes], options


def _source(trace: Trace, path: str | None) -> Any:
    """The text that the run holds, or the picture's file."""
    if path:
        return Path(path)
    texts = trace.sample.texts
    if not texts:
        raise SelectionError("This run holds no text to run again; give its picture with --source.")
    return (texts[0], texts[1]) if len(texts) > 1 else texts[0]


def write_figure(figure: Any, path: Path, kind: str, model: str) -> int:
    """Write a figure as the kind of file that its ending names; gives the number of bytes."""
    from viz_encoder.export.figure_tables import figure_csv, figure_npz
    from viz_encoder.export.save import picture

    if kind == ".html":  # Plotly's script is in it, so it opens without a network
        content = figure.to_html(include_plotlyjs=True, config=CONFIG).encode()
    elif kind == ".json":
        content = figure.to_json().encode()
    elif kind == ".csv":
        content = "".join(figure_csv(figure, model)).encode("utf-8", "backslashreplace")
    elif kind == ".npz":
        content = figure_npz(figure, model)
    else:
        content = picture(figure, kind, width=1000, height=800)
    return write_whole([content], path)
