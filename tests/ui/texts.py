"""The inputs of the page's examples, as the tests run them."""

from viz_encoder.ui.state.examples import EXAMPLES, PICTURES

SENTENCES = tuple(each.text for each in EXAMPLES[:2])
LABELS = tuple(each.label for each in EXAMPLES[:2])
MASKED = EXAMPLES[2].text, EXAMPLES[2].model

__all__ = ["LABELS", "MASKED", "PICTURES", "SENTENCES"]
