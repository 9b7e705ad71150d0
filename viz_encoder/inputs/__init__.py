"""Readers: turn a text or an image into encoder inputs."""

from viz_encoder.inputs.image import ImageReader as ImageReader
from viz_encoder.inputs.sample import Grid as Grid
from viz_encoder.inputs.sample import Inputs as Inputs
from viz_encoder.inputs.sample import Sample as Sample
from viz_encoder.inputs.text import TextReader as TextReader
