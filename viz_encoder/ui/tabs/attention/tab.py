"""The Attention tab: the maps of a run, and what is known of every head."""

from viz_encoder.ui.tab import Place, Tab


def build(place: Place) -> None:
    """Lay it out; its script follows the run that the form made."""


TAB = Tab("attention", "Attention", 10, build)
