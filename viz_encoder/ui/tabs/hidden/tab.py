"""The Hidden states tab: how alike the tokens are, how they move, and what the head would say."""

from viz_encoder.ui.form.components import script_view
from viz_encoder.ui.tab import Place, Tab


def build(place: Place) -> None:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    script_view("hidden/tab.js", elem_id="viz-hidden")


TAB = Tab("hidden", "Hidden states", 30, build)
