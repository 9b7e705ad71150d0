"""Two texts, each read alone by one model: the run that is there, and that of another text."""

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.trace.capture import capture
from viz_encoder.trace.trace import Trace


def two_texts(encoder: LoadedEncoder, trace: Trace, other: str | Trace = "") -> tuple[Trace, Trace]:
    """The runs of two texts that can be compared.

    Args:
        encoder: the model that ran.
        trace: its run of the first text.
        other: the second text, or its run. Without it, the two texts of a pair are each read
            alone, and a single text is its own second.

    Raises:
        SelectionError: a second text for a model that reads pictures.
        InputError: a text that cannot be read.
    """
    if isinstance(other, Trace):
        return trace, other
    texts = trace.sample.texts
    if other.strip():
        if encoder.kind != "text":  # as a picture's name it would open a file of this machine
            raise SelectionError(
                f"{encoder.card.name} reads pictures, and a second one cannot be named here. In "
                "Python, give its run: other=trace."
            )
        found: Trace = capture(encoder, other)
        return trace, found
    if len(texts) == 2:
        one, two = (capture(encoder, text) for text in texts)
        return one, two
    return trace, trace
