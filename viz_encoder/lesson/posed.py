"""Posed: the exercises of a step in words, as a page shows them and compares what is typed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from viz_encoder.errors import SelectionError, VizEncoderError
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Ask, Number, Question
from viz_encoder.lesson.steps import STEPS
from viz_encoder.lesson.texts import FIRST, Shown, Texts, TextValue, Token, texts_of


def exercises(asked: Asked, step: int | None = None, language: str = FIRST) -> list[dict[str, Any]]:
    """The exercises of a step, or of all, in order of their level; plain values for JSON.

    Args:
        asked: the run and the place in it.
        step: 1 to 12; all if not given.
        language: which file of texts.

    Returns:
        Dicts of id, step, level, question, kind ("number" or "choice"), unit, decimals, answer (a
        number, or which choice), tolerance, choices, also (other choices that are right), cell (of
        a vector, if one of its numbers is asked for), mistakes (value, tolerance, says), right,
        wrong and hint.

    Raises:
        SelectionError: no such step or language.
    """
    texts = texts_of(language)
    return [worded(each, texts) for each in questions(asked, step)]


class Asking(NamedTuple):
    """A question of one run, the name of its exercise, and the place of that in the lesson."""

    identifier: str
    step: int
    level: int
    question: Question


def questions(asked: Asked, step: int | None = None) -> list[Asking]:
    """The questions of a step, or of all, to be put into words of any language.

    One whose step this model lacks is left out: rotary models add no position, a model without a
    prediction head fills no [MASK].

    Raises:
        SelectionError: no such step.
    """
    if step is not None and step not in range(1, len(STEPS) + 1):
        raise SelectionError(f"There is no step {step}; the lesson has steps 1 to {len(STEPS)}.")
    return [
        Asking(ask.__name__.replace("_", "-"), number, level, question)
        for number in ([step] if step else range(1, len(STEPS) + 1))
        for level, ask in enumerate(STEPS[number - 1], 1)
        if (question := _question(asked, ask)) is not None
    ]


def _question(asked: Asked, ask: Ask) -> Question | None:
    try:
        return ask(asked)
    except VizEncoderError:  # this run keeps no such part
        return None


def worded(asking: Asking, texts: Texts) -> dict[str, Any]:
    """A question in words, as `exercises` gives it."""
    identifier, step, level, question = asking
    told = _of_variant(texts.exercises[identifier], question.variant)
    given = {**question.given, "answer": _answer(question, told, texts)}

    def say(template: str) -> str:
        return texts.say(template, given)

    plain = float if isinstance(question, Number) else int
    choices: list[str] | None = None
    if isinstance(question, AnswerChoice):
        named = question.choices
        choices = list(named) if question.verbatim else [say(told["choices"][n]) for n in named]
    mistakes = [
        {
            "value": plain(value),
            "tolerance": question.tolerance,
            "says": say(told["mistakes"][name]),
        }
        for name, value in question.distinct_mistakes.items()
    ]
    return {
        "id": identifier,
        "step": step,
        "level": level,
        "question": say(told["question"]),
        "kind": "number" if choices is None else "choice",
        "unit": question.unit,
        "decimals": question.decimals,
        "answer": plain(question.answer),
        "tolerance": question.tolerance,
        "choices": choices,
        "also": list(question.also),
        "mistakes": mistakes,
        "cell": question.cell,
        **{name: say(told[name]) for name in ("right", "wrong", "hint")},
    }


def _of_variant(told: Mapping[str, Any], variant: str) -> Mapping[str, Any]:
    """The texts of an exercise, those of one of its questions in place of the common ones."""
    found = dict(told)
    for one in variant.split():
        own = [name for name in told if name.endswith(f"_{one}")]
        found |= {name.removesuffix(f"_{one}"): told[name] for name in own}
    return found


def _answer(question: Number | AnswerChoice, told: Any, texts: Texts) -> TextValue:
    """The answer as the reasons name it."""
    if isinstance(question, Number):
        return Shown(question.answer, question.decimals)
    if question.named is not None:
        return question.named
    chosen = question.choices[question.answer]
    if question.verbatim:
        return Token(chosen)
    return texts.say(told["choices"][chosen], question.given)
