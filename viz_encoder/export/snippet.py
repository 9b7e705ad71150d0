"""Snippet: the few lines of Python that compute a view again."""

from collections.abc import Sequence
from pathlib import Path

from viz_encoder.audit.mask_input.capture_code import InputSource
from viz_encoder.trace.map_view import MapView


def snippet(
    source: InputSource,
    view: MapView,
    *,
    model: str = "",
    part: str = "",
    query: int | None = None,
    changes: Sequence[str] = (),
) -> str:
    """Python that gives `weights`: "query key", or "key" for one query.

    Args:
        source: a text, a (text A, text B) pair or the path of a picture; of a saved run, if no
            model is named.
        view: the map; where it hides, renormalizes or merges, `viz_encoder.export.arrays` gives it.
        model: what `viz_encoder.load` takes.
        part: "text" or "vision", for a model that has both.
        query: the number of one token, for its row alone.
        changes: the changes of the run, as the codes that `vz.effects.changed` takes.

    Any text is quoted by `repr`, so none can end the string it stands in.
    """
    lines = ["import viz_encoder as vz", "", *run_lines(source, model, part, changes)]
    if isinstance(source, Path):
        lines.insert(0, "from pathlib import Path\n")
    axes = "keys (who is looked at)"
    if query is None:
        axes = f"rows = queries (who looks), columns = {axes}"
    changed = _changed(view)
    if changed:
        lines.insert(
            lines.index("import viz_encoder as vz") + 1, "from viz_encoder.export import arrays"
        )
        row = "" if query is None else f", query={query}"
        lines.append(f"# {axes}")
        lines.append(
            f'weights = arrays(trace, {view.layer}, {view.head!r}{row}, {changed})["weights"]'
        )
        return "\n".join(lines) + "\n"
    lines.append(f"weights = {_weights(view, query)}  # {axes}")
    if query is None:
        chosen = f"layer={view.layer}, head={view.head!r}"
        lines.append(f"figure = vz.figures.attention_map(trace, {chosen})")
    return "\n".join(lines) + "\n"


def run_lines(
    source: InputSource,
    model: str = "",
    part: str = "",
    changes: Sequence[str] = (),
    name: str = "trace",
) -> list[str]:
    """The lines that make the run, of the arguments of `snippet`; `name` is its variable."""
    if not model:
        return [f"{name} = vz.Trace.load({quoted_source(source)})"]
    half = f", part={part!r}" if part else ""
    made = f"vz.effects.changed(encoder, {quoted_source(source)}, {list(changes)!r})"
    return [
        f"encoder = vz.load({model!r}{half})",
        f"{name} = {made if changes else f'vz.capture(encoder, {quoted_source(source)})'}",
    ]


def quoted_source(source: InputSource) -> str:
    """What was read, as Python writes it."""
    return f"Path({str(source)!r})" if isinstance(source, Path) else repr(source)


def _changed(view: MapView) -> str:
    """The options that differ from their defaults, as they are written in a call."""
    names = "hide_special", "renormalize", "words"
    return ", ".join(f"{name}=True" for name in names if getattr(view, name))


def _weights(view: MapView, query: int | None) -> str:
    """The expression; `rows` computes one query's row without the others."""
    rows = "" if query is None else f", rows=slice({query}, {query + 1})"
    one = "" if query is None else "[0]"
    head = view.head
    if isinstance(head, int):
        return f"trace.attention(layer={view.layer}, head={head}{rows}){one}"
    every = f"trace.attention(layer={view.layer}{rows})"
    if isinstance(head, tuple):
        return f"{every}[{list(head)}].mean(dim=0){one}"
    return f"{every}.{'mean' if head == 'mean' else 'amax'}(dim=0){one}"
