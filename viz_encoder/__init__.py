"""viz_encoder: what each layer and head of a transformer encoder attends to, exactly."""

__version__ = "0.1.0"

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from viz_encoder.audit import assert_mask as assert_mask
from viz_encoder.audit import audit_batch as audit_batch
from viz_encoder.audit import audit_mask as audit_mask
from viz_encoder.checkpoints import load as load
from viz_encoder.config import EncoderConfig as EncoderConfig
from viz_encoder.corpora import corpus as corpus
from viz_encoder.effects import ablate as ablate
from viz_encoder.effects import effect as effect
from viz_encoder.effects import patch as patch
from viz_encoder.errors import VizEncoderError as VizEncoderError
from viz_encoder.exported import exported
from viz_encoder.inputs.items import read_set as read_set
from viz_encoder.model import Encoder as Encoder
from viz_encoder.model import pool as pool
from viz_encoder.trace import Trace as Trace
from viz_encoder.trace import capture as capture
from viz_encoder.trace import record as record
from viz_encoder.training import watch as watch

if TYPE_CHECKING:
    from viz_encoder import analyses as analyses
    from viz_encoder import effects as effects
    from viz_encoder import figures as figures
    from viz_encoder.ui.launch import launch as launch

# Imported only when they are asked for: Gradio and Plotly are slow.
_LAZY = {
    "analyses": "viz_encoder.analyses",
    "effects": "viz_encoder.effects",
    "figures": "viz_encoder.figures",
    "launch": "viz_encoder.ui.launch",
}


def __getattr__(name: str) -> _Any:
    """A name that is imported late."""
    if name not in _LAZY:
        raise AttributeError(f"module 'viz_encoder' has no attribute {name!r}")
    module = _import_module(_LAZY[name])
    return getattr(module, name) if name == "launch" else module


def __dir__() -> list[str]:
    """The promised names; folders are imported by name, as viz_encoder.trace, but are none."""
    return sorted({*exported(globals()), *_LAZY})
