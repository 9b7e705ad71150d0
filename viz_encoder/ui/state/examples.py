"""The examples of the page: each sets its model and teaches one thing; some can swap a word."""

from collections.abc import Mapping
from dataclasses import dataclass

from viz_encoder.lesson.seats import LAST_SEAT, OWN_SENTENCE, seat

PICTURES = {"a digit": "examples/digit.png", "a wide scene": "examples/wide.png"}


@dataclass(frozen=True)
class FormExample:
    """What one button fills in; `swap` is a word of a minimal pair and its counterpart."""

    label: str
    teaches: str  # what to look for, one sentence
    kind: str = "text"
    text: str = ""
    other: str = ""  # the second text of a pair
    picture: str = ""
    model: str = "all-MiniLM-L6-v2"
    swap: tuple[str, str] | None = None


EXAMPLES = (
    FormExample(
        "it = animal or street?",
        "A head links the pronoun to the noun it stands for; another adjective moves the link.",
        text="The animal didn't cross the street because it was too tired",
        swap=("tired", "wide"),
    ),
    FormExample(
        "a loan from a bank",
        "The words of one topic look at each other.",
        text="The bank approved the loan",
    ),
    FormExample(
        "keys … [MASK]: is or are?",
        "A small model that was trained on grammar finds the subject, not the nearest noun.",
        text=OWN_SENTENCE,
        model="grammar",
        swap=("keys", "key"),
    ),
    FormExample(
        "a question and its answer",
        "Two texts in one input: which words of the answer look at the question.",
        kind="pair",
        text="Who wrote the letter?",
        other="The letter was written by my sister.",
    ),
    FormExample(
        "a digit in noise",
        "A small picture model finds the ink of a digit.",
        kind="image",
        picture="a digit",
        model="scene",
    ),
    FormExample(
        "a wide scene",
        "The same model on a wider picture: more patches, the same heads.",
        kind="image",
        picture="a wide scene",
        model="scene",
    ),
)
OPENING = EXAMPLES[0]
FIRST_PICTURE = next(at for at, each in enumerate(EXAMPLES) if each.kind == "image")


def opening_of(model: str) -> FormExample:
    """What a page opens on where this is its first model: the model's own first text, if any."""
    texts = (example for example in EXAMPLES if example.kind == "text" and example.model == model)
    return next(texts, OPENING)


LESSON = EXAMPLES[2]  # default of the Learn tab, unless a seat has its own sentence


def swap_of(text: str) -> tuple[str, str] | None:
    """The word to swap and its twin, of an example's text or of its twin's."""
    for example in EXAMPLES:
        if example.swap is None:
            continue
        old, new = example.swap
        if text == example.text:
            return old, new
        if text == example.text.replace(old, new):
            return new, old
    return None


def is_example(link: Mapping[str, str]) -> bool:
    """Whether a link opens one of the examples, with its own model."""
    asked = [link.get(name, "") for name in ("kind", "model", "a", "b", "example")]
    known = ([e.kind, e.model, e.text, e.other, e.picture] for e in EXAMPLES)
    return asked in known


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
