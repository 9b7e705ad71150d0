"""viz_encoder: what each layer and head of a transformer encoder attends to, exactly."""

from collections.abc import Callable as _Callable
from functools import wraps as _wraps
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from viz_encoder.attribution import Attribution as Attribution
from viz_encoder.attribution import attribute as attribute
from viz_encoder.attribution import attribute_pair as attribute_pair
from viz_encoder.attribution import saved as _saved_attribution
from viz_encoder.audit import assert_mask as assert_mask
from viz_encoder.audit import audit_batch as audit_batch
from viz_encoder.audit import audit_mask as audit_mask
from viz_encoder.checkpoints import LoadedEncoder as _LoadedEncoder
from viz_encoder.checkpoints import load as load
from viz_encoder.checkpoints import own_folder as _own_folder
from viz_encoder.config import EncoderConfig as EncoderConfig
from viz_encoder.corpora import HeadTable as _HeadTable
from viz_encoder.corpora import corpus as corpus
from viz_encoder.corpora import table_files as _table_files
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
from viz_encoder.trace import saved as _saved
from viz_encoder.training import watch as watch
from viz_encoder.version import __version__ as __version__

if TYPE_CHECKING:
    from viz_encoder import analyses as analyses
    from viz_encoder import effects as effects
    from viz_encoder import figures as figures
    from viz_encoder.ui.launch import launch as launch

# Imported only when asked for: Gradio and Plotly are slow, and a start needs none of these.
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
    return getattr(module, name, module)  # what the module defines, or the package itself


def __dir__() -> list[str]:
    """The promised names; folders are imported by name, as viz_encoder.trace, but are none."""
    return sorted({*exported(globals()), *_LAZY})


def _show(trace: Trace, **chosen: _Any) -> _Any:
    from viz_encoder.ui.notebook.show import show  # Plotly and FastAPI are slow to import

    return show(trace, **chosen)


# What a class declares and a function of a layer above it does: data does not reach up.
_METHODS: dict[type, dict[str, _Callable[..., _Any]]] = {
    Trace: {"save": _saved.save, "load": _saved.load, "show": _show},
    Attribution: {"save": _saved_attribution.save, "load": _saved_attribution.load},
    _LoadedEncoder: {"save": _own_folder.save_encoder},
    _HeadTable: {"save": _table_files.save_table, "load": _table_files.load_table},
}


def _bind(kind: type, name: str, function: _Callable[..., _Any]) -> None:
    """Let the function do what the method declares; its name, signature and words stay."""
    declared = getattr(kind, name)

    @_wraps(declared)
    def method(*given: _Any, **named: _Any) -> _Any:
        return function(*given, **named)

    is_static = isinstance(vars(kind)[name], staticmethod)
    setattr(kind, name, staticmethod(method) if is_static else method)


for _kind, _functions in _METHODS.items():
    for _name, _function in _functions.items():
        _bind(_kind, _name, _function)
