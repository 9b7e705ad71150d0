"""Every axis of the encoder as one frozen value that refuses nonsense."""

from viz_encoder.config.choices import Activation as Activation
from viz_encoder.config.choices import Embedding as Embedding
from viz_encoder.config.choices import HeadPool as HeadPool
from viz_encoder.config.choices import Norm as Norm
from viz_encoder.config.choices import NormPlacement as NormPlacement
from viz_encoder.config.choices import Positions as Positions
from viz_encoder.config.choices import Task as Task
from viz_encoder.config.encoder import EncoderConfig as EncoderConfig
from viz_encoder.config.head import HeadConfig as HeadConfig
