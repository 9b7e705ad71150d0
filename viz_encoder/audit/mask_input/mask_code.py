"""Mask code: a mask as the few lines of Python that give it to a call, in that call's convention.

Each snippet runs as it is; its sizes and its `x` stand for one's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.capture_code import NAME as CAPTURE
from viz_encoder.audit.mask_input.capture_code import (
    InputSource,
    Pads,
    capture_imports,
    capture_lines,
)
from viz_encoder.audit.mask_input.presets import custom, preset
from viz_encoder.errors import SelectionError
from viz_encoder.trace.mask_scope import MaskScope

N_NAMED = 5  # empty rows that are named, of however many there are
BY_KEY = (
    "{target} takes one row for all queries, and in this mask queries differ: {one} may attend to "
    "other keys than 0. Pass it as (query, key), as the other calls take it."
)


@dataclass(frozen=True)
class Target:
    """A call that takes masks: what it is named, and how it is called with `allowed`."""

    name: str
    imports: tuple[str, ...]
    lines: tuple[str, ...]
    by_key: bool = False  # takes one row per sample, for all queries


def mask_code(
    mask: Bool[Tensor, "query key"] | int,
    target: str,
    *,
    rule: str | None = None,
    sizes: Mapping[str, int] | None = None,
    scope: MaskScope | None = None,
    model: str = "",
    source: InputSource | None = None,
    file: str = "",
    pads: Pads | None = None,
) -> str:
    """Python that runs `target` with this mask and gives `output`.

    Args:
        mask: rows = queries, columns = keys, True = may attend; or the number of tokens alone,
            where a preset makes the mask.
        target: one of TARGETS.
        rule: the name of the preset that made the mask; without it the rows are written out.
        sizes: of that preset; its defaults if not given.
        scope: the layers and heads that the mask applies to; all if None.
        model, source: for "vz.capture", what it loads and reads.
        pads: for "vz.capture", padding beside the text: its id, how many, whether at the start.
        file: a .npy file that holds the mask, loaded in place of rows that are written out.

    Raises:
        SelectionError: there is no such target or preset, the target takes no scope, or it takes
            one row for all queries and these differ.
        InputError: the mask is not square and bool, or a size is wrong.
    """
    if target not in TARGETS:
        raise SelectionError(
            f"There is no mask code for {target!r}; choose one of {', '.join(TARGETS)}."
        )
    chosen = TARGETS[target]
    if rule is not None:
        n_tokens = mask if isinstance(mask, int) else len(mask)
        square, made = preset(rule).mask(n_tokens, **(sizes or {})), _by_rule(rule, n_tokens, sizes)
    else:
        if isinstance(mask, int):
            raise SelectionError("A number of tokens is not a mask; name the preset that makes it.")
        square = custom(mask)
        made = _loaded(file) if file else _written_out(square)
    if chosen.by_key and bool((differ := (square != square[0]).any(dim=1)).any()):
        raise SelectionError(BY_KEY.format(target=target, one=int(differ.int().argmax())))
    imported, lines = chosen.imports, chosen.lines
    if target == CAPTURE:
        imported, lines = capture_imports(source), capture_lines(scope, model, source, pads)
    elif scope is not None and not scope.whole:
        raise SelectionError(
            f"{target} takes one mask for everything it runs; for a mask on {scope.words} only, "
            f"use {CAPTURE}."
        )
    imports = (
        *(("import numpy as np",) if file and rule is None else ()),
        "import torch",
        *imported,
    )
    heading = ("# Rows = queries (who looks), columns = keys; True = may attend.", *made)
    return "\n".join([*imports, "", *heading, *_warnings(square), "", *lines, ""])


def _by_rule(rule: str, n_tokens: int, sizes: Mapping[str, int] | None) -> tuple[str, ...]:
    expression = preset(rule).expression(**(sizes or {}))
    return (
        f"n_tokens = {n_tokens}",
        "query, key = torch.arange(n_tokens)[:, None], torch.arange(n_tokens)[None, :]",
        f"allowed = ({expression}).expand(n_tokens, n_tokens)",
    )


def _written_out(mask: Tensor) -> tuple[str, ...]:
    rows = ("".join("01"[cell] for cell in row) for row in mask.tolist())
    return (
        "rows = [",
        *(f'    "{row}",' for row in rows),
        "]",
        'allowed = torch.tensor([[sign == "1" for sign in row] for row in rows])',
        "n_tokens = len(rows)",
    )


def _loaded(file: str) -> tuple[str, ...]:
    return (
        f"allowed = torch.from_numpy(np.load({file!r}))  # (query, key), bool",
        "n_tokens = len(allowed)",
    )


def _warnings(mask: Tensor) -> tuple[str, ...]:
    """A comment that names the rows without a key, if there are any."""
    empty = (~mask.any(dim=1)).nonzero()[:, 0].tolist()
    if not empty:
        return ()
    named = ", ".join(map(str, empty[:N_NAMED])) + (", …" if len(empty) > N_NAMED else "")
    return (
        f"# No key is allowed in {'row' if len(empty) == 1 else 'rows'} {named}: calls differ in "
        "what they make of it",
        "# (NaN, zeros or a plain average). Give it a key, or leave its output out.",
    )


_HEADS = "q, k, v = torch.randn(3, 1, 2, n_tokens, 8)  # yours: (batch, head, token, d_head)"
_ROW = "ignored = ~allowed[:1]  # (batch, token): one row for all queries; here True = ignore"
_TOKENS = "x = torch.randn(1, n_tokens, 16)  # yours: (batch, token, d_model)"
_MULTIHEAD = (
    "model = nn.MultiheadAttention(16, num_heads=2, batch_first=True).eval()  # yours",
    _TOKENS,
)
_ENCODER = (
    "layer = nn.TransformerEncoderLayer(16, nhead=2, batch_first=True)",
    "model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()  # yours",
    _TOKENS,
)
_BERT = (
    "config = BertConfig(",
    "    hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32",
    ")",
    "model = BertModel(config).eval()  # yours, from AutoModel.from_pretrained",
    _TOKENS,
)
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            "scaled_dot_product_attention",
            ("import torch.nn.functional as F",),
            (
                _HEADS,
                "output = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)"
                "  # True = may attend",
            ),
        ),
        Target(
            "nn.MultiheadAttention",
            ("from torch import nn",),
            (
                *_MULTIHEAD,
                "output, weights = model(",
                "    x, x, x, attn_mask=~allowed, average_attn_weights=False  # here True = ignore",
                ")",
            ),
        ),
        Target(
            "nn.TransformerEncoder",
            ("from torch import nn",),
            (
                *_ENCODER,
                "output = model(x, mask=~allowed)  # here True = ignore",
            ),
        ),
        Target(
            "nn.MultiheadAttention, key_padding_mask",
            ("from torch import nn",),
            (
                *_MULTIHEAD,
                _ROW,
                "output, weights = model(",
                "    x, x, x, key_padding_mask=ignored, average_attn_weights=False",
                ")",
            ),
            by_key=True,
        ),
        Target(
            "nn.TransformerEncoder, src_key_padding_mask",
            ("from torch import nn",),
            (
                *_ENCODER,
                _ROW,
                "output = model(x, src_key_padding_mask=ignored)",
            ),
            by_key=True,
        ),
        Target(
            "masked_fill, (batch, 1, 1, token)",
            (),
            (
                _HEADS,
                "keep = allowed[0].long()[None, None, None]  # (batch, 1, 1, token): 0 = ignore",
                "scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5",
                "weights = scores.masked_fill(keep == 0, -torch.inf).softmax(dim=-1)",
                "output = weights @ v",
            ),
            by_key=True,
        ),
        Target(
            "flex_attention",
            ("from torch.nn.attention.flex_attention import create_block_mask, flex_attention",),
            (
                "def may_attend(batch, head, query, key):",
                "    return allowed[query, key]",
                "",
                "",
                "block_mask = create_block_mask(",
                "    may_attend, None, None, n_tokens, n_tokens, device=allowed.device",
                ")",
                _HEADS,
                "output = flex_attention(q, k, v, block_mask=block_mask)"
                "  # torch.compile it to gain from it",
            ),
        ),
        Target(
            "transformers",
            ("from transformers import BertConfig, BertModel",),
            (
                *_BERT,
                "added = torch.zeros(n_tokens, n_tokens, dtype=model.dtype)",
                "added = added.masked_fill(~allowed, torch.finfo(model.dtype).min)"
                "  # 0 = may attend",
                "output = model(inputs_embeds=x, attention_mask=added[None, None])"
                ".last_hidden_state",
            ),
        ),
        Target(
            "transformers, attention_mask (batch, token)",
            ("from transformers import BertConfig, BertModel",),
            (
                *_BERT,
                "keep = allowed[:1].long()  # (batch, token): 1 = keep, 0 = ignore",
                "output = model(inputs_embeds=x, attention_mask=keep).last_hidden_state",
            ),
            by_key=True,
        ),
        Target(CAPTURE, capture_imports(None), capture_lines()),
    )
}
