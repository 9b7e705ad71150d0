"""Runs like another one, as a page asks for them: with changes, or with a mask."""

from viz_encoder.ui.state.changed import PURPOSE
from viz_encoder.ui.state.recipe import as_changes


def changed_run(runner, key, codes):
    """The key of a run with these changes and no others."""
    return runner.rerun(key, PURPOSE, changes=as_changes(codes))
