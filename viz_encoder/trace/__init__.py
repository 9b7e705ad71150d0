"""A captured run: Trace, how one is made, and the proof that its maps are the ones that ran."""

from viz_encoder.trace.capture import capture as capture
from viz_encoder.trace.proof import Proof as Proof
from viz_encoder.trace.trace import LayerTrace as LayerTrace
from viz_encoder.trace.trace import Origin as Origin
from viz_encoder.trace.trace import Trace as Trace
