"""Capture code: the lines of Python that run vz.capture with a mask, in all heads or in some."""

from pathlib import Path

from viz_encoder.trace.mask_scope import MaskScope

InputSource = str | tuple[str, str] | Path
Pads = tuple[int, int, bool]
NAME = "vz.capture"


def capture_imports(source: InputSource | None) -> tuple[str, ...]:
    """Imports that the code needs besides torch."""
    path = ("from pathlib import Path",) if isinstance(source, Path) else ()
    return (*path, "import viz_encoder as vz")


def capture_lines(
    scope: MaskScope | None = None,
    model: str = "",
    source: InputSource | None = None,
    pads: Pads | None = None,
) -> tuple[str, ...]:
    """The lines, after `allowed` and `n_tokens` are there.

    Args:
        scope: the layers and heads that the mask applies to; all if None.
        model: what `vz.load` takes; without it, a small untrained encoder stands for it.
        source: what it reads: a text, a pair or the path of a picture.
        pads: padding that is put beside the text: its id, how many, and whether at the start.

    Any text is quoted by `repr`, so none can end the string it stands in.
    """
    given: tuple[str, ...] = ()
    mask = "allowed"
    if scope is not None and not scope.whole:
        given, mask = (_given(scope),), "mask"
    layer, head = (0, 0) if scope is None else scope.places[0]
    if model and source is not None:
        read = f"Path({str(source)!r})" if isinstance(source, Path) else repr(source)
        encoder: tuple[str, ...] = (f"encoder = vz.load({model!r})",)
    else:
        read, encoder = "source", _stand_in(scope)
    if pads is not None and model and source is not None:
        encoder, read = (*encoder, *_padded(read, *pads)), "row"
    return (
        *encoder,
        *given,
        f"trace = vz.capture(encoder, {read}, mask={mask})",
        f"weights = trace.attention(layer={layer}, head={head})  # rows = queries, columns = keys",
    )


def _padded(read: str, pad_id: int, count: int, at_start: bool) -> tuple[str, ...]:
    ids, segments, real = "pad, read.values", "0 * pad, read.segments", "pad == pad, read.valid"
    if not at_start:
        ids, segments, real = "read.values, pad", "read.segments, 0 * pad", "read.valid, pad == pad"
    return (
        f"read, pad = encoder.read({read}), torch.full((1, {count}), {pad_id})",
        f"ids, segments = torch.cat([{ids}], dim=1), torch.cat([{segments}], dim=1)",
        "row = {",
        '    "input_ids": ids,',
        '    "token_type_ids": segments,',
        f'    "attention_mask": torch.cat([{real}], dim=1),  # `allowed` says that pad is padding',
        "}",
    )


def _given(scope: MaskScope) -> str:
    layers, heads = (list(numbers) for numbers in (scope.layers, scope.heads))
    if len(heads) == scope.n_heads:
        return f"mask = {{layer: allowed for layer in {layers}}}"
    return f"mask = {{(layer, head): allowed for layer in {layers} for head in {heads}}}"


def _stand_in(scope: MaskScope | None) -> tuple[str, ...]:
    n_layers, n_heads = (2, 2) if scope is None else (scope.n_layers, scope.n_heads)
    return (
        "config = vz.EncoderConfig(",
        f"    n_layers={n_layers}, n_heads={n_heads}, d_model={8 * n_heads}, d_ff=32,",
        "    vocab_size=n_tokens, max_positions=n_tokens",
        ")",
        "encoder = vz.Encoder(config)  # replace with yours, from vz.load",
        "source = torch.arange(n_tokens)  # replace with your text or picture",
    )
