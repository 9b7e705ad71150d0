"""The encoder: plain PyTorch modules that read from top to bottom."""

from viz_encoder.model.attention import LayerRecord as LayerRecord
from viz_encoder.model.attention import attention_weights as attention_weights
from viz_encoder.model.encoder import Encoder as Encoder
from viz_encoder.model.encoder import EncoderOutput as EncoderOutput
from viz_encoder.model.pooling import pool as pool
