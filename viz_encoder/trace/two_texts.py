"""Two texts, each read alone by one model: an existing run, and a run of another text."""

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.trace.capture import capture
from viz_encoder.trace.trace import Trace


def two_texts(encoder: LoadedEncoder, trace: Trace, other: str | Trace = "") -> tuple[Trace, Trace]:
    """Return the runs of two texts to compare.

    Args:
        encoder: the model that ran.
        trace: its run of the first text.
        other: the second text, or its run. Without it, the two texts of a pair are each read alone,
            and a single text is compared with itself.

    Raises:
        SelectionError: a second text was given to an image model.
        InputError: a text cannot be read.
    """
    if isinstance(other, Trace):
        return trace, other
    texts = trace.sample.texts
    if other.strip():
        if encoder.kind != "text":  # an image path would open a local file
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
