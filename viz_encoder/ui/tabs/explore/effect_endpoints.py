"""Named endpoints of changes: a changed run, and the effects of heads and tokens."""

from typing import Any

from viz_encoder.errors import InputError
from viz_encoder.ui.state.attributed import PURPOSE, outcome_of, runnable
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.explore import head_effects as of_heads
from viz_encoder.ui.tabs.explore.outcomes import flips_plain, outcome_plain, proof_plain
from viz_encoder.ui.wire.endpoints import in_queue
from viz_encoder.ui.wire.watch import watched


def what_if(runner: Runner, key: str, changes: list[str]) -> dict[str, Any]:
    """Run the input of a run with changes: their effect on the answer, and the new run's key.

    changes are codes: "h3.0" removes a head, "l3.0:6-2" cuts the link from query 6 to key 2 in it,
    "t2" hides token 2 from all, "m2" masks it, "d2" deletes its word, "r2:word" replaces its word,
    "p" switches positions off, "c" makes attention causal.
    """
    if not isinstance(changes, list):
        raise InputError('changes must be a list of codes, such as ["h3.0"].')
    made = runner.rerun(key, PURPOSE, changes=as_changes(changes))
    plain = runner.rerun(key, PURPOSE, changes=())
    entry = runner.store.get(made)
    described = {"run": runner.again(made), "plain": plain}
    if not entry.recipe.changes:
        return described
    return {**described, "said": outcome_plain(outcome_of(entry)), "proof": proof_plain(entry)}


@in_queue("effects")
def head_effects(runner: Runner, key: str, measure: str = "", how: str = "zero") -> dict[str, Any]:
    """The effect of removing each head: values[layer][head], and the answer without it.

    measure is "masked", "logit", "pooled" or "state"; how is "zero" or "mean".
    """
    plain = runnable(runner.store.get(key))
    return of_heads.head_effects(*plain, str(measure), str(how), watched(runner.limits).check)


@in_queue("effects")
def token_effects(
    runner: Runner, key: str, measure: str = "", how: str = "attention"
) -> dict[str, Any]:
    """The effect of hiding each token from all ("attention"), or of masking it ("mask")."""
    plain = runnable(runner.store.get(key))
    asked = of_heads.TokenChoice(str(measure), str(how))
    return of_heads.token_effects(*plain, asked, watched(runner.limits).check)


@in_queue("effects")
def patch_effects(runner: Runner, key: str, twin: str) -> dict[str, Any]:
    """Each head's output taken from the run of a twin text: noising and denoising, as shares."""
    plain = runnable(runner.store.get(key))
    return of_heads.twin_patch(*plain, str(twin), watched(runner.limits).check)


@in_queue("effects")
def flips(runner: Runner, key: str, most: int = 3) -> dict[str, Any]:
    """The fewest tokens, at most 3, whose hiding changes the answer."""
    return flips_plain(*runnable(runner.store.get(key)), most, watched(runner.limits).check)


EFFECT_ENDPOINTS = (what_if, head_effects, token_effects, patch_effects, flips)
