"""Restoring: the run that a link asks for, as it is held, or made again from what it holds."""

from reprlib import repr as shown  # truncates: client input can be of any length

from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.ui.state.built import built_by_link
from viz_encoder.ui.state.changed_run import run_changed
from viz_encoder.ui.state.examples import OPENING, PICTURES
from viz_encoder.ui.state.mask_link import mask_from_code
from viz_encoder.ui.state.mask_mistake import Mistake
from viz_encoder.ui.state.masked_run import TOO_LARGE, run_masked
from viz_encoder.ui.state.padded_run import run_padded
from viz_encoder.ui.state.run_description import RunDescription
from viz_encoder.ui.state.runner import KINDS, Runner, Tell, silent

UNCHANGED, UNMASKED = "the run is shown unchanged.", "the run is shown without a mask."
LEFT_OUT = "its changes are left out."
NOT_AS_LINKED = (UNCHANGED, UNMASKED, LEFT_OUT)  # how a note ends that says so
BOTH = "This link has both a mask and changes, but a run can have only one of them"
KEPT = "the model and the link's other choices are kept."
GONE = {
    "image": "a link cannot hold a picture of your own; drop it again and press Run",
    "file": "a link cannot hold a saved run; open its file again",
    "text": "its text was too long for a link; paste it again and press Run",
}


def restore(
    runner: Runner, query: dict[str, str], owner: str | None = None, tell: Tell = silent
) -> RunDescription:
    """The description of the run that a link asks for; without one, of the first example.

    A run that is held is shown; one that has expired is made again, with its mask.

    Raises:
        SelectionError: it has expired, and the link does not hold its input; or no such model.
    """
    asked = query.get("run") or (runner.first if "kind" not in query else None)
    if asked:
        try:
            return runner.again(asked, owner)
        except SelectionError:
            if "kind" not in query or asked == runner.first:
                raise
            _require_input(query)
    made = _made(runner, query, owner, tell)
    if query.get("ran"):
        masked = _with_mask(runner, query, made)
        return _noted(masked, BOTH, LEFT_OUT) if query.get("cut") else masked
    return _with_changes(runner, query["cut"], made) if query.get("cut") else made


def _require_input(query: dict[str, str]) -> None:
    """Refuse a link whose run is gone and whose input it cannot hold, in a sentence."""
    image = query["kind"] == "image"
    if "example" in query if image else "a" in query:
        return
    why = GONE["file" if query.get("from") == "file" else "image" if image else "text"]
    raise SelectionError(f"The run of this link has expired on the server, and {why}; {KEPT}")


def _made(runner: Runner, query: dict[str, str], owner: str | None, tell: Tell) -> RunDescription:
    if query.get("kind", "text") not in KINDS:
        raise SelectionError(
            f"This link asks for {shown(query['kind'])}; a link opens {', '.join(KINDS)}."
        )
    if query.get("build"):
        return built_by_link(runner, query, owner)
    if query.get("kind") == "image":
        model = query.get("model") or runner.models.names("image")[0]
        example = query.get("example", next(iter(PICTURES)))
        return runner.picture(model, None, example, owner, tell)
    model = query.get("model") or runner.models.names("text")[0]
    texts = query.get("a", OPENING.text), query.get("b", "")
    return runner.text(model, *texts, owner, tell)


def _with_mask(runner: Runner, query: dict[str, str], plain: RunDescription) -> RunDescription:
    """Apply the link's mask; if it cannot be made, return the run as is, and why."""
    try:
        if query["ran"] == TOO_LARGE:
            raise SelectionError("The mask of this run was too large for its link")
        key = plain["key"]
        if query.get("pad"):
            key = run_padded(runner.store, key, query["pad"])
        mask = mask_from_code(query["ran"], runner.store.get(key).trace.n_tokens)
        mistake = Mistake(query.get("mistake", Mistake.NONE))
        scope = query.get("scope", "")
        return runner.again(run_masked(runner.store, key, mask, mistake, scope))
    except (SelectionError, TooLong) as fault:
        return _noted(plain, str(fault), UNMASKED)


def _with_changes(runner: Runner, codes: str, plain: RunDescription) -> RunDescription:
    """Apply the link's changes; if they cannot be made, return the run as is, and why."""
    try:
        return runner.again(
            run_changed(runner.store, plain["key"], [code for code in codes.split(",") if code])
        )
    except SelectionError as fault:
        return _noted(plain, str(fault), UNCHANGED)


def _noted(plain: RunDescription, why: str, how: str) -> RunDescription:
    return {**plain, "notes": [*plain["notes"], f"{why.rstrip('.')}; {how}"]}
