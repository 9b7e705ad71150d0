"""viz_encoder: what each layer and head of a transformer encoder attends to, exactly."""

__version__ = "0.1.0"

from viz_encoder.checkpoints import load as load
from viz_encoder.config import EncoderConfig as EncoderConfig
from viz_encoder.errors import VizEncoderError as VizEncoderError
from viz_encoder.model import Encoder as Encoder
from viz_encoder.model import pool as pool
from viz_encoder.trace import Trace as Trace
from viz_encoder.trace import capture as capture
