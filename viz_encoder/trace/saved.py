"""Saved traces: what a file holds of a run."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_encoder.arguments import AnyPath, public
from viz_encoder.errors import TraceError
from viz_encoder.trace.layer import TENSORS
from viz_encoder.trace.saved_file import FileKind, read, write
from viz_encoder.trace.trace import Trace
from viz_encoder.trace.unpack import unpack

KIND = FileKind("viz_encoder.trace", "a run", "saved trace", "trace.save(path)")


@public(fault=TraceError)
def save(trace: Trace, path: AnyPath) -> None:
    """See `Trace.save`."""
    write(KIND, tensors_of(trace), facts_of(trace), path)


@public(fault=TraceError)
def load(path: AnyPath) -> Trace:
    """See `Trace.load`."""
    return read(KIND, path, unpack)


def tensors_of(trace: Trace) -> dict[str, Tensor]:
    """The tensors of a run, by name."""
    named: dict[str, Tensor] = {"output": trace.output, "valid": trace.valid}
    named |= {f"hidden.{i}": state for i, state in enumerate(trace.hidden_states)}
    for i, layer in enumerate(trace.layers):
        for part in TENSORS:
            if getattr(layer, part) is not None:
                named[f"layers.{i}.{part}"] = getattr(layer, part)
    if trace.sample.picture is not None:
        named["picture"] = torch.from_numpy(np.array(trace.sample.picture))
    return named


def facts_of(trace: Trace) -> dict[str, Any]:
    """Everything but the tensors, as JSON; rare parts are left out if absent."""
    sample = {k: v for k, v in vars(trace.sample).items() if k not in ("grid", "picture")}
    grid = trace.sample.grid
    return {
        "sample": {**sample, "grid": asdict(grid) if grid else None},
        "origin": asdict(trace.origin),
        "layers": [
            {"scale": layer.scale, "name": layer.name, "cross": layer.cross}
            for layer in trace.layers
        ],
        "n_hidden": len(trace.hidden_states),
        "key_tokens": trace.key_tokens,
        "notes": trace.notes,
        **({"removed": trace.removed} if trace.removed else {}),
    }
