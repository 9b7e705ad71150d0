"""1,000 different texts, one after the other, as a server holds them: whether its memory stays flat."""

import psutil

BUDGET = 32 * 10**6  # bytes of runs that are held; each takes some 0.9 MB with its survey
EARLY, LATE = 300, 1000  # runs; the budget is full after some 35
MODEL = "all-MiniLM-L6-v2"
TEXT = "visitor {0} asks why the cat of house {0} did not cross the street because it was too tired"


def growth_of_memory(rounds: int) -> float:
    """Resident memory after 1,000 runs ÷ after 300; each is described and surveyed as for a page."""
    # Gradio comes with them: seconds, and memory that must not show in the other rows' peaks.
    from viz_encoder.ui.state.limits import give_back
    from viz_encoder.ui.state.models import Models
    from viz_encoder.ui.state.runner import Runner
    from viz_encoder.ui.state.store import TraceStore

    store, process = TraceStore(BUDGET, dropped=give_back), psutil.Process()
    runner = Runner(Models("cpu"), store)
    held: dict[int, int] = {}
    for number in range(1, LATE + 1):
        entry = store.get(runner.text(MODEL, TEXT.format(number))["key"])
        for layer in range(entry.trace.n_layers):
            entry.survey(layer)
        if number in (EARLY, LATE):
            held[number] = process.memory_info().rss
    assert len(store._entries) < EARLY / 2, "the budget was never reached"
    return held[LATE] / held[EARLY]
