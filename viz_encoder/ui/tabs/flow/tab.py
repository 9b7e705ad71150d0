"""The Flow tab: where one token's information comes from, by three measures over depth."""

from viz_encoder.ui.form.components import script_view
from viz_encoder.ui.tab import Place, Tab


def build(place: Place) -> None:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    script_view("flow/tab.js", elem_id="viz-flow")


TAB = Tab("flow", "Flow", 20, build)
