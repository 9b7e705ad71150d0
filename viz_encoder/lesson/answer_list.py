"""The teacher's list: each seat's text and answers, and what the codes of a class say."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.lesson.asked import Asked, asked_of
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.result_code import Result, StepLevel, decode
from viz_encoder.lesson.seats import OWN_SENTENCE, seat
from viz_encoder.lesson.texts import FIRST, Shown, Texts, TextValue, Token, texts_of
from viz_encoder.trace.capture import captured

MOST_CODES = 10_000


def asked_at(encoder: LoadedEncoder, number: int) -> Asked:
    """A seat's sentence, run, and where the lesson looks in it; seat 0 has the lesson's own."""
    inputs = encoder.read(seat(number).text if number else OWN_SENTENCE)
    place: dict[str, Any] = seat(number).place if number else {}
    return asked_of(encoder, inputs, captured(encoder, inputs)[0], seat=number, **place)


def answer_lines(
    encoder: LoadedEncoder, numbers: Iterable[int], language: str = FIRST
) -> Iterator[str]:
    """For each seat its text, then a line for each exercise: step, level, name and answer."""
    texts = texts_of(language)
    for number in numbers:
        asked, one = asked_at(encoder, number), seat(number)
        query, key = (Token(asked.token(at)) for at in (asked.query, asked.key))
        said: dict[str, TextValue] = {"seat": number, "text": one.text, "word": one.word}
        said |= {"head": asked.name, "query": query, "key": key}
        yield texts.say(texts.answers["seat"], said)
        for each in exercises(asked, language=language):
            name = f"{each['step']}.{each['level']}"
            yield f"  {name:5} {each['id']:16} {_answer(each, texts)}"


def code_lines(
    encoder: LoadedEncoder, codes: Iterable[str], language: str = FIRST
) -> Iterator[str]:
    """For each code its seat, what was right and what was not; a code that is none is said to be.

    Then for each exercise how many had it right of those who tried it.
    """
    texts, right, tried = texts_of(language), Counter[StepLevel](), Counter[StepLevel]()
    known: dict[int, list[StepLevel]] = {}
    n_codes = 0
    for code in codes:
        try:
            result = decode(code)
        except InputError as fault:
            yield f"{code}  {fault}"
            continue
        if result.seat not in known:
            known[result.seat] = _places(encoder, result.seat)
        n_codes += 1
        right.update(result.right)
        tried.update(result.right | result.wrong)
        yield _result(code, result, known[result.seat], texts)
    if n_codes:
        shares = tuple(f"{_name(place)} {right[place]}/{tried[place]}" for place in sorted(tried))
        yield texts.say(texts.answers["summary"], {"n": n_codes, "shares": shares})


def read_codes(text: str) -> list[str]:
    """The codes of a file, one a line; what follows a comma or tab is the teacher's own.

    Raises:
        InputError: none, or too many.
    """
    lines = (line.replace("\t", ",").partition(",")[0].strip() for line in text.splitlines())
    codes = [line for line in lines if line]
    if not codes or len(codes) > MOST_CODES:
        raise InputError(
            f"The file has {len(codes):,} codes; give 1 to {MOST_CODES:,}, one on each line."
        )
    return codes


def _result(code: str, result: Result, posed: list[StepLevel], texts: Texts) -> str:
    counts: dict[str, TextValue] = {"code": code, "seat": result.seat}
    counts |= {"right": len(result.right), "tried": len(result.right | result.wrong)}
    said = [texts.say(texts.answers["result"], counts)]
    untried = [place for place in posed if place not in result.right | result.wrong]
    for kind, places in (("wrong", sorted(result.wrong)), ("untried", untried)):
        if places:
            names = {"exercises": tuple(map(_name, places))}
            said.append(texts.say(texts.answers[kind], names))
    return "; ".join(said)


def _places(encoder: LoadedEncoder, number: int) -> list[StepLevel]:
    """The exercises that a seat is asked; seat 0 has the lesson's own sentence: all of them."""
    asked = asked_at(encoder, number or 1)
    posed = exercises(asked)
    return [(each["step"], each["level"]) for each in posed]


def _answer(exercise: dict[str, Any], texts: Texts) -> str:
    if exercise["kind"] == "choice":
        return str(exercise["choices"][exercise["answer"]])
    return texts.write(Shown(exercise["answer"], exercise["decimals"])) + exercise["unit"]


def _name(place: StepLevel) -> str:
    return f"{place[0]}.{place[1]}"
