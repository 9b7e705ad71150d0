"""The Mask zoo tab: every planted bug with its symptom, its picture and its corrected line."""

from viz_encoder.ui.form.components import script_view
from viz_encoder.ui.tab import Place, Tab


def build(place: Place) -> None:
    """Lay it out; it needs no run."""
    script_view("zoo/tab.js", elem_id="viz-zoo")


TAB = Tab("zoo", "Mask zoo", 60, build)
