"""Tokens that would be markup or formulas, random runs, and what a written document holds."""

import base64
import json
import re
import zlib
from typing import Any

import torch

import viz_encoder as vz
from viz_encoder.inputs import Sample
from viz_encoder.trace import LayerTrace
from viz_encoder.trace.layer import Origin

HOSTILE = (
    *("</script><script>document.title='owned'</script>", "<img src=x onerror=alert(1)>"),
    *("=1+1", "+a", "-a", "@a", 'a"b,c', "a\nb", "{{script}}", "\u202eab", "&lt;b&gt;", "é"),
)


def random_trace(n_tokens: int, n_layers: int, n_heads: int, spread: float = 1.0) -> vz.Trace:
    """Normal queries and keys, d_head 64, as in BERT-base; nothing to check the maps against."""
    rng = torch.Generator().manual_seed(0)
    draw = lambda: spread * torch.randn(n_heads, n_tokens, 64, generator=rng)  # noqa: E731
    layers = tuple(LayerTrace(draw(), draw(), draw(), scale=1 / 8) for _ in range(n_layers))
    tokens = tuple(f"token{at}" for at in range(n_tokens))
    return vz.Trace(
        layers=layers,
        hidden_states=(),
        output=torch.zeros(n_tokens, 64 * n_heads),
        valid=torch.ones(n_tokens, dtype=torch.bool),
        sample=Sample(tokens=tokens, special=(False,) * n_tokens),
        origin=Origin("random"),
    )


def unpacked(document: str | bytes, name: str) -> bytes:
    """What a document holds under a name."""
    text = document if isinstance(document, str) else document.decode()
    found = re.search(rf'id="data-{name}">([^<]*)</script>', text)
    assert found is not None
    return zlib.decompress(base64.b64decode(found[1], validate=True))


def facts_of(document: str | bytes) -> dict[str, Any]:
    """What a document says besides the numbers of its maps."""
    return dict(json.loads(unpacked(document, "facts")))
