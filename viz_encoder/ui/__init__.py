"""The page: layout, events, sessions and the routes that feed its canvases."""

from viz_encoder.ui.serve import Settings as Settings
from viz_encoder.ui.serve import serve as serve
