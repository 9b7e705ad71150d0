"""The Masks tab: see a mask, paint it, run with it; known mask bugs, and a quiz of them."""

from typing import Any

import gradio as gr
from fastapi import APIRouter

from viz_encoder.audit.mask_input.mask_code import mask_code as code_lines
from viz_encoder.audit.mask_input.presets import custom
from viz_encoder.errors import InputError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.masks import requests, routes
from viz_encoder.ui.tabs.masks.audits import AUDITS
from viz_encoder.ui.tabs.masks.audits import zoo as specimens
from viz_encoder.ui.tabs.masks.masked_runs import reach_of, result_of, run_masked
from viz_encoder.ui.wire.endpoints import in_queue
from viz_encoder.ui.wire.watch import watched


def mask_preset(
    runner: Runner, key: str, name: str, sizes: dict[str, int] | None = None
) -> list[str]:
    """A preset's mask for a run: a row of 0 and 1 a query, 1 = may attend to that key."""
    n_tokens = runner.store.get(key).trace.n_tokens
    return _rows(requests.made_by({"name": name, "sizes": sizes}, n_tokens))


def mask_run(
    runner: Runner, key: str, rows: list[str], mistake: str = "none", scope: str = ""
) -> dict[str, Any]:
    """Run the input of a run with a mask; returns its leaks, its effect and the new run.

    mistake plants one: "ignored", "inverted" or "transposed"; the intent stays `rows`. Bits of
    another mask, as links of the page hold them, are passed in its place. scope names
    the layers and heads that the mask applies to, such as "3-5:1,4"; "" is all of them.
    """
    made = run_masked(runner, key, _mask(rows), mistake, scope)
    return result_of(runner, made)


def mask_reach(runner: Runner, key: str, rows: list[str], scope: str = "") -> list[list[str]]:
    """Tokens that can influence each token after each layer, by the mask alone: 1 = they can."""
    return [_rows(after) for after in reach_of(runner, key, _mask(rows), scope)]


def mask_code(runner: Runner, rows: list[str], call: str) -> str:
    """Python that gives this mask to a call, such as "nn.MultiheadAttention"."""
    return code_lines(_mask(rows), call)


ENDPOINTS = (mask_preset, mask_run, mask_reach, mask_code)


def _mask(rows: object) -> Any:
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise InputError('Give the mask as a list of rows such as "1101", 1 = may attend.')
    requests.require_size(len(rows))
    return custom(rows)


def _rows(mask: Any) -> list[str]:
    return ["".join("01"[cell] for cell in row) for row in mask.tolist()]


def zoo(runner: Runner) -> dict[str, Any]:
    """The planted mask bugs by section: symptom, story, the wrong line and the corrected one."""
    return specimens()


@in_queue("audit")
def zoo_audit(
    runner: Runner, identifier: str, fixed: bool = False, seed: int = 0
) -> dict[str, Any]:
    """The audit of a specimen, such as "A1-multihead", or of its corrected line, with pictures.

    seed draws the weights, 0 to 99. A picture holds intended, passed and observed by query and
    key; True = may attend.
    """
    return AUDITS.of(identifier, fixed, seed, watched(runner.limits))


ROUTER = APIRouter()
ROUTER.include_router(routes.ROUTER)
ROUTER.include_router(routes.ZOO)


def build(place: TabContext) -> gr.HTML:
    """Lay it out; its script follows the run and the selection that all tabs share."""
    return script_view("masks/tab.js", elem_id="viz-masks")


TAB = Tab("masks", "Masks", 50, build, ROUTER, (*ENDPOINTS, zoo, zoo_audit))
