"""Masks of a run: presets, files, runs, their maps and code; and the zoo, which needs no run."""

import json
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Request, Response

from viz_encoder.analyses.mask_leaks import mask_panels
from viz_encoder.audit.mask_input.conventions import Convention
from viz_encoder.audit.mask_input.presets import PairMask
from viz_encoder.audit.mask_input.recognized import ASKEW, INVERTED, recognized
from viz_encoder.ui.state.padding import Padding
from viz_encoder.ui.state.painted_mask import (
    MOST_CHARACTERS,
    Mistake,
    bits_code,
    packed_bits,
)
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.recipe import ALONE, OF_TEXT
from viz_encoder.ui.tabs.masks import requests
from viz_encoder.ui.tabs.masks.audits import AUDITS, kept, zoo
from viz_encoder.ui.tabs.masks.masked_runs import (
    PURPOSE,
    masked_of,
    result_of,
    run_masked,
    scope_plain,
)
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Layer, Runs, parse_head
from viz_encoder.ui.wire.body_limits import body_of, read_json, sent
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute, ToldRoute
from viz_encoder.ui.wire.watch import watch
from viz_encoder.whole_file import shortened

ROUTER = APIRouter(prefix="/viz/run/{run}/mask", route_class=ToldRoute)
ZOO = APIRouter(prefix="/viz/zoo", route_class=ErrorRoute)  # nothing of a stranger's is ever run
PLACES, AUDITING = Places(1), Places(1)
MADE_BY = {INVERTED: str(Mistake.INVERTED), ASKEW: str(Mistake.TRANSPOSED)}


async def _size(entry: Held) -> int:
    return requests.require_size(entry.trace.n_tokens)


MaskSize = Annotated[int, Depends(_size)]


async def _sent_mask(n_tokens: MaskSize, request: Request) -> PairMask:
    bits = await body_of(request, requests.n_bytes(n_tokens), "The mask")
    return requests.unpacked(bits, n_tokens)


async def _sent_file(n_tokens: MaskSize, request: Request, name: str) -> bytes:
    what = shortened(printable(name))
    return await body_of(request, requests.file_bytes(n_tokens), what)


Sent = Annotated[Any, Depends(_sent_mask)]
SentFile = Annotated[bytes, Depends(_sent_file)]
Named = Annotated[bytes, sent(requests.MAX_JSON, "What was sent")]  # a preset, as JSON


@ROUTER.get("/offered")
def offered(run: str, entry: Held, runs: Runs) -> Response:
    """Available masks; and for a masked run, the original run and the mask's name."""
    missing = entry.model_gone(PURPOSE) if entry.reading is None else ""
    missing = OF_TEXT if entry.recipe.of_new_text else missing
    plain = entry.masked and runs.again(runs.rerun(run, PURPOSE, mask=None))
    scope = entry.masked.scope.code if entry.masked else ""
    alone = entry.recipe.pad and runs.again(runs.rerun(run, PURPOSE, **ALONE))
    told = {"missing": missing, "plain": plain, "scope": scope, "alone": alone}
    most = requests.file_bytes(entry.trace.n_tokens)
    return answers.plain({**requests.offered(entry), **told, "fileBytes": most}, FRESH)


@ROUTER.get("/intent")
def intent(entry: Held) -> Response:
    """The mask that was meant with a run, as bits."""
    return _bits(masked_of(entry).intent)


@ROUTER.get("/scope")
def scope(entry: Held, layers: str = "", heads: str = "") -> Response:
    """The layers and heads that were typed, such as "3–5" and "1, 4"."""
    return answers.plain(scope_plain(requests.typed_scope(layers, heads, entry.trace)))


@ROUTER.post("/preset")
def preset(n_tokens: MaskSize, given: Named) -> Response:
    """The mask of a preset, named as JSON, as bits."""
    return _bits(requests.made_by(read_json(given), n_tokens))


@ROUTER.post("/padded")
@PLACES
def padded(run: str, runs: Runs, code: str) -> Response:
    """The run with real [PAD] beside it and no mask, such as "end:2"; as runs are described."""
    made = runs.rerun(run, PURPOSE, **{**ALONE, "pad": Padding.parsed(code)})
    return answers.plain(runs.again(made), FRESH)


@ROUTER.post("/upload")
@PLACES
def upload(
    n_tokens: MaskSize,
    content: SentFile,
    name: str,
    convention: str,
    sample: int = 0,
    meant: str = "",
) -> Response:
    """The mask of a sample of a file, as bits.

    x-about: how many samples it has, which mask it is, and whether it is another one than the
    preset `meant`, named as JSON; `mistake` is what a code does that is passed it, or its bits.
    """
    mask, samples = requests.from_file(content, name, convention, n_tokens, sample)
    wanted = requests.meant_by(read_json(meant.encode()), n_tokens) if meant else None
    found = recognized(mask, wanted, "Your file", Convention(convention))
    mistake = MADE_BY.get(found.mistake, "") if wanted else ""
    if wanted and found.wrong and not mistake and len(code := bits_code(mask)) <= MOST_CHARACTERS:
        mistake = code
    told = {"says": found.says, "wrong": found.wrong, "mistake": mistake}
    return _bits(mask, **{"x-about": json.dumps({"samples": samples, **told})})


@ROUTER.post("/run")
@PLACES
def run_route(
    run: str, mask: Sent, runs: Runs, mistake: str = Mistake.NONE, scope: str = ""
) -> Response:
    """Run the same input with a mask; what it did, and the new run's description."""
    made = run_masked(runs, run, mask, mistake, scope)
    return answers.plain(result_of(runs, made), FRESH)


@ROUTER.get("/result")
@PLACES
def result(run: str, runs: Runs) -> Response:
    """Result of a held run."""
    return answers.plain(result_of(runs, run), FRESH)


@ROUTER.get("/panels")
@PLACES
def panels(entry: Held, layer: Layer, head: str) -> Response:
    """Intended, passed, observed, leaking, lost, float32 "panel query key"; x-about: counts."""
    trace, meant = entry.trace, masked_of(entry)
    chosen = parse_head(head, trace)
    found = mask_panels(trace, meant.intent, layer, chosen, where=meant.scope.where)
    parts = found.intended, found.passed, found.observed, found.leaking, found.lost
    about = {"allowed": found.n_allowed, "lost": found.n_lost, "faint": found.n_faint}
    return answers.array(np.stack([part.astype(np.float32) for part in parts]), about=about)


@ROUTER.post("/snippet")
def snippet(entry: Held, mask: Sent, kind: str, made: str = "null", scope: str = "") -> Response:
    """The lines of Python that give this mask to a call; `made` names its preset as JSON."""
    given, call = read_json(made), requests.call_of(entry, scope)
    code = requests.code_of(mask, kind, given, call)
    return Response(code, media_type="text/plain; charset=utf-8", headers=FRESH)


def _bits(mask: Any, **more: str) -> Response:
    headers = {**FRESH, **more, "x-shape": ",".join(map(str, mask.shape))}
    return Response(packed_bits(mask), media_type=answers.BYTES, headers=headers)


@ZOO.get("")
def specimens() -> Response:
    """The specimens by section, and how to audit one's own model."""
    return answers.plain(zoo(), FRESH)


@ZOO.get("/{identifier}/kept")
def kept_audit(identifier: str) -> Response:
    """The audit of the wrong line with seed 0, as it was kept when this version was made."""
    return answers.plain(kept(identifier), FRESH)


@ZOO.get("/{identifier}")
@AUDITING
def audit(identifier: str, runs: Runs, fixed: bool = False, seed: int = 0) -> Response:
    """The audit of a specimen with its pictures, unless whoever asked went away meanwhile."""
    tell = watch(runs.limits)
    return answers.plain(AUDITS.of(identifier, fixed, seed, tell), FRESH)
