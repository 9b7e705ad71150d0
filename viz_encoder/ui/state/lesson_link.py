"""The lesson's link: a step and a seat name the sentence that everybody there runs."""

from viz_encoder.lesson.seats import LAST_SEAT, seat
from viz_encoder.ui.state.examples import LESSON

STEP, SEAT = "learn", "seed"
SEATS = frozenset(map(str, range(1, LAST_SEAT + 1)))


def as_linked(query: dict[str, str]) -> dict[str, str]:
    """Complete a link that names only a step with the lesson's model and sentence.

    `?learn=1` has the lesson's own sentence, `?learn=1&seed=17` that of seat 17; a seat that is
    not there has the lesson's own too.
    """
    if STEP not in query or "kind" in query or "run" in query:
        return query
    number = query.get(SEAT, "")
    text = seat(int(number)).text if number in SEATS else LESSON.text
    return {"kind": "text", "model": LESSON.model, "a": text, **query}
