"""From a model folder to an encoder that reads texts or pictures."""

from viz_encoder.checkpoints.builtin import BUILTIN as BUILTIN
from viz_encoder.checkpoints.load import LoadedEncoder as LoadedEncoder
from viz_encoder.checkpoints.load import ModelCard as ModelCard
from viz_encoder.checkpoints.load import load as load
