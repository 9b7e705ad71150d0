"""Runs as a store holds them: made elsewhere, or like another one."""

from viz_encoder.ui.state.attributed import PURPOSE
from viz_encoder.ui.state.recipe import Reading, Recipe, as_changes
from viz_encoder.ui.state.store import Entry


def changed_run(runner, key, codes):
    """The key of a run with these changes and no others."""
    return runner.rerun(key, PURPOSE, changes=as_changes(codes))


def entry_of(trace, encoder=None, inputs=None, owners=()):
    """A run that was made elsewhere, of the pages that show it."""
    reading = None if encoder is None or inputs is None else Reading(encoder, inputs)
    recipe = Recipe.of_saved(trace)
    return Entry(trace, recipe, encoder, inputs, reading, owners=set(owners))


def put(store, *given, **named):
    """The key of such a run."""
    return store.keep(entry_of(*given, **named))
