"""viz_encoder: what each layer and head of a transformer encoder attends to, exactly."""

__version__ = "0.1.0"

from importlib import import_module
from typing import Any

from viz_encoder.audit import assert_mask as assert_mask
from viz_encoder.audit import audit_mask as audit_mask
from viz_encoder.checkpoints import load as load
from viz_encoder.config import EncoderConfig as EncoderConfig
from viz_encoder.errors import VizEncoderError as VizEncoderError
from viz_encoder.model import Encoder as Encoder
from viz_encoder.model import pool as pool
from viz_encoder.trace import Trace as Trace
from viz_encoder.trace import capture as capture
from viz_encoder.trace import record as record

_LAZY = {"launch": "viz_encoder.ui.launch", "figures": "viz_encoder.figures"}  # slow to import


def __getattr__(name: str) -> Any:
    """Import Gradio and Plotly only when they are asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'viz_encoder' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return getattr(module, name) if name == "launch" else module


def __dir__() -> list[str]:
    """The public names, those that are imported late too."""
    return sorted(
        {*(n for n in globals() if not n.startswith("_")), *_LAZY} - {"Any", "import_module"}
    )
