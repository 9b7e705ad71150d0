"""The Masks tab: see a mask, paint it, run with it, and compare."""

from viz_encoder.ui.form.components import script_view
from viz_encoder.ui.tab import Place, Tab


def build(place: Place) -> None:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    script_view("masks/tab.js", elem_id="viz-masks")


TAB = Tab("masks", "Masks", 50, build)
