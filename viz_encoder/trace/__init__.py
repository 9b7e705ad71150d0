"""A captured run: the Trace, the ways to make one, and the proof that its maps ran."""

from viz_encoder.trace.capture import capture as capture
from viz_encoder.trace.layer import LayerTrace as LayerTrace
from viz_encoder.trace.layer import Origin as Origin
from viz_encoder.trace.proof import Proof as Proof
from viz_encoder.trace.record import Recording as Recording
from viz_encoder.trace.record import record as record
from viz_encoder.trace.trace import Trace as Trace
