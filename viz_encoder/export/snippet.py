"""Snippet: the few lines of Python that compute a view again."""

from pathlib import Path

from viz_encoder.analyses.overview import Head

Source = str | tuple[str, str] | Path


def snippet(
    source: Source,
    layer: int,
    head: Head,
    *,
    model: str = "",
    part: str = "",
    query: int | None = None,
    special: bool = True,
    renormalize: bool = False,
    words: bool = False,
) -> str:
    """Python that gives `weights`: "query key", or "key" for one query.

    Args:
        source: a text, a (text A, text B) pair or the path of a picture; of a saved run, if no
            model is named.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        model: what `viz_encoder.load` takes.
        part: "text" or "vision", of a model that has both.
        query: the number of one token, for its row alone.
        special, renormalize, words: as in `viz_encoder.export.arrays`, which then gives them.

    Any text is quoted by `repr`, so none can end the string it stands in.
    """
    lines = ["import viz_encoder as vz", ""]
    if isinstance(source, Path):
        lines.insert(0, "from pathlib import Path\n")
    if model:
        half = f", part={part!r}" if part else ""
        lines += [
            f"encoder = vz.load({model!r}{half})",
            f"trace = vz.capture(encoder, {_quoted(source)})",
        ]
    else:
        lines.append(f"trace = vz.Trace.load({_quoted(source)})")
    looks = "keys (who is looked at)"
    if query is None:
        looks = f"rows = queries (who looks), columns = {looks}"
    changed = _changed(special, renormalize, words)
    if changed:
        lines.insert(
            lines.index("import viz_encoder as vz") + 1, "from viz_encoder.export import arrays"
        )
        row = "" if query is None else f", query={query}"
        lines.append(f"# {looks}")
        lines.append(f'weights = arrays(trace, {layer}, {head!r}{row}, {changed})["weights"]')
        return "\n".join(lines) + "\n"
    lines.append(f"weights = {_weights(layer, head, query)}  # {looks}")
    if query is None:
        lines.append(f"figure = vz.figures.attention_map(trace, layer={layer}, head={head!r})")
    return "\n".join(lines) + "\n"


def _quoted(source: Source) -> str:
    return f"Path({str(source)!r})" if isinstance(source, Path) else repr(source)


def _changed(special: bool, renormalize: bool, words: bool) -> str:
    """The options that differ from their defaults, as they are written in a call."""
    given = {"special": special, "renormalize": renormalize, "words": words}
    return ", ".join(
        f"{name}={value}" for name, value in given.items() if value != (name == "special")
    )


def _weights(layer: int, head: Head, query: int | None) -> str:
    """The expression; `rows` computes one query's row without the others."""
    rows = "" if query is None else f", rows=slice({query}, {query + 1})"
    one = "" if query is None else "[0]"
    if isinstance(head, int):
        return f"trace.attention(layer={layer}, head={head}{rows}){one}"
    every = f"trace.attention(layer={layer}{rows})"
    if isinstance(head, tuple):
        return f"{every}[{list(head)}].mean(dim=0){one}"
    return f"{every}.{'mean' if head == 'mean' else 'amax'}(dim=0){one}"
