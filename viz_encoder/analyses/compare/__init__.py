"""Compare: two runs of any text, model or mask, token by token, head by head."""

from viz_encoder.analyses.compare.comparison import CellChange as CellChange
from viz_encoder.analyses.compare.comparison import Comparison as Comparison
from viz_encoder.analyses.compare.comparison import HeadChange as HeadChange
from viz_encoder.arguments import public
from viz_encoder.trace import Trace
from viz_encoder.trace.alignment import align


@public
def compare(trace: Trace, reference: Trace) -> Comparison:
    """Align the tokens of two runs; the reference is subtracted from the run on request.

    The runs may be of any texts, models, masks or padding. Tokens are aligned by the longest common
    subsequence, over words where the tokenizers differ. It says that weights differ, not why, nor
    whether the model's answer would. Nothing is computed before it is needed, and never a whole set
    of maps.

    Args:
        trace: the run that is looked at.
        reference: the run to compare with.

    Raises:
        TooLong: two long runs that have little in common.
    """
    found = align(trace, reference)
    why = _why(trace, reference)
    return Comparison(
        trace, reference, found.pairs, found.only_here, found.only_there, found.by, why
    )


def _why(trace: Trace, reference: Trace) -> str:
    """Why heads cannot be compared one by one; "" where they can."""
    for name, run in (("This run", trace), ("The reference", reference)):
        if any(layer.cross for layer in run.layers):
            return (
                f"{name} has keys that are other tokens than its queries, as in cross-attention; "
                "compare runs of self-attention."
            )
    counts = [[layer.n_heads for layer in run.layers] for run in (trace, reference)]
    if counts[0] == counts[1]:
        return ""
    here, there = (f"{len(each)} layers × {max(each)} heads" for each in counts)
    return (
        f"This run has {here} and the reference has {there}, so heads have no counterparts; "
        "only the tokens are compared. Compare runs of models of the same size head by head."
    )
