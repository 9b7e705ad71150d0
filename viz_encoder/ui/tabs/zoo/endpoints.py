"""Named endpoints of the mask zoo: its specimens, and the audit of one, as plain data."""

from typing import Any

from gradio.events import api

from viz_encoder.ui.tabs.zoo.results import zoo as specimens
from viz_encoder.ui.tabs.zoo.routes import AUDITS
from viz_encoder.ui.wire.endpoints import plainly


def add_zoo_endpoints() -> None:
    """Register them on the page that is being built; call inside `with gr.Blocks()`."""
    for endpoint in (zoo, zoo_audit):
        api(endpoint, api_name=endpoint.__name__, concurrency_id="model", concurrency_limit=1)


def zoo() -> dict[str, Any]:
    """The planted mask bugs by section: symptom, story, the wrong line and the corrected one."""
    return specimens()


def zoo_audit(identifier: str, fixed: bool = False, seed: int = 0) -> dict[str, Any]:
    """The audit of a specimen, such as "A1-multihead", or of its corrected line, with pictures.

    seed draws the weights, 0 to 99. A picture holds intended, passed and observed by query and
    key; True = may look.
    """
    return plainly(lambda: AUDITS.of(identifier, fixed, seed))
