"""A class: each seat's sentence, its result code, and the teacher's list of answers."""

import re

import pytest
import torch

from scripts.grammar import BRACKETS, LETTERS, WORDS, is_held_out
from tests.lesson.by_hand import Run, without
from tests.slow import slow
from tests.test_grammar import belongs
from viz_encoder.cli import main
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.lesson.answer_list import asked_at
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.result_code import PLACES, Result, decode, encode
from viz_encoder.lesson.seats import LAST_SEAT, seat

CODE = "072WW8-6DM17V-707Z5F"
ALL_RIGHT = "07VDX0-BGW291-HPJTS2"
RIGHT, WRONG = frozenset({(1, 1), (4, 4), (12, 3)}), frozenset({(2, 1), (9, 5)})


def every_seat():
    return [seat(number) for number in range(1, LAST_SEAT + 1)]


def test_each_seat_has_a_sentence_of_its_own_that_was_never_trained_on():
    seats = every_seat()
    assert len({one.text for one in seats}) == LAST_SEAT
    assert {one.rule for one in seats[:30]} == {"agreement", "reference"}
    bare = {*LETTERS, *BRACKETS, *BRACKETS.values(), ":"}
    assert not any(bare & set(one.text.split()) for one in seats)
    for one in seats:
        words = one.text.split()
        assert words.count("[MASK]") == 1 and words[one.masked] == "[MASK]"
        words[one.masked] = one.word
        assert is_held_out(words) and belongs(one.rule, words)


def test_only_one_word_is_right_on_each_seat():
    for one in every_seat()[:60]:
        words = one.text.split()
        right = {
            word
            for word in WORDS
            if belongs(one.rule, [*words[: one.masked], word, *words[one.masked + 1 :]])
        }
        assert right == {one.word}


@pytest.mark.parametrize("numbers", [slice(0, 90, 3), slow(slice(0, 90))])
def test_one_word_decides_on_each_seat_and_its_link_goes_to_it(numbers):
    """Hiding it changes the answer, hiding any other does not, and a head looks at it most."""
    for one in every_seat()[numbers]:
        whole, at, key = Run(one.text), one.masked + 1, one.source + 1
        own = [place for place in range(1, len(whole.words) - 1) if place != at]
        assert [place for place in own if without(one.text, place).said(at) != one.word] == [key]
        layer, head = one.head
        assert int(whole.blocks[layer]["weights"][head, at].argmax()) == key, one


@pytest.mark.parametrize("seats", [range(1, 31, 6), slow(range(1, 31))])
def test_each_seat_is_asked_every_question_and_looks_at_the_word_that_decides(grammar, seats):
    for number in seats:
        asked = asked_at(grammar, number)
        posed = {each["id"]: each for each in exercises(asked)}
        assert len(posed) == len(PLACES) and posed["smallest-window"]["answer"] > 1
        deciding = posed["deciding-word"]
        chosen = deciding["choices"][deciding["answer"]]
        assert chosen == f"{asked.key}: {asked.token(asked.key)}" and not deciding["also"]


def test_the_model_says_what_is_right_on_every_seat(grammar):
    """In batches, with their padding; the first ones by numpy too."""
    wrong = []
    for start in range(0, LAST_SEAT, 80):
        some = every_seat()[start : start + 80]
        inputs = grammar.read([one.text for one in some])
        with torch.inference_mode():
            output = grammar.model(inputs.values, inputs.valid).output
            best = grammar.model.heads["masked"](output).argmax(dim=-1)
        for row, one in zip(best, some, strict=True):
            said = grammar.reader.tokenizer.id_to_token(int(row[one.masked + 1]))
            wrong += [one] * (said != one.word)
    assert not wrong
    for one in every_seat()[:12]:
        assert Run(one.text).said(one.masked + 1) == one.word


def test_there_is_no_other_seat():
    for number in (0, -1, 241, 10**9):
        with pytest.raises(SelectionError, match=f"no seat {number}; choose 1 to 240"):
            seat(number)


def test_codes_that_the_browser_makes_too():
    """tests/web/result_code.test.js has the same three."""
    assert encode(Result(0, frozenset())) == "070YS2-W5RBZW-0P00DN"
    assert encode(Result(17, RIGHT, WRONG)) == CODE
    assert encode(Result(240, frozenset(PLACES))) == ALL_RIGHT


def test_a_code_says_what_was_put_into_it():
    for number in (1, 17, 240):
        for at in range(len(PLACES)):
            right = frozenset(PLACES[at::5])
            result = Result(number, right, frozenset(PLACES[::3]) - right)
            assert decode(encode(result)) == result


def test_every_wrong_character_and_every_swap_is_found():
    plain = CODE.replace("-", "")
    for at, own in enumerate(plain):
        for other in "0123456789ABCDEFGHJKMNPQRSTVWXYZ":
            if other != own:
                with pytest.raises(InputError, match="wrong character"):
                    decode(plain[:at] + other + plain[at + 1 :])
        if at + 1 < len(plain) and own != plain[at + 1]:
            with pytest.raises(InputError, match="wrong character"):
                decode(plain[:at] + plain[at + 1] + own + plain[at + 2 :])


def test_what_is_typed_is_read_with_care():
    assert decode(" o72ww8 6dmi7v 7o7z5f ") == Result(17, RIGHT, WRONG)
    for other in ("", "keys", f"{CODE}0", "UUUUUU-UUUUUU-UUUUUU", "é" * 18):
        with pytest.raises(InputError, match="is not a result code; it has 18"):
            decode(other)
    for result in (Result(241, frozenset()), Result(1, frozenset({(13, 1)}))):
        with pytest.raises(InputError):
            encode(result)


def test_the_list_holds_each_exercise_of_each_seat_with_its_answer(capsys, grammar):
    assert main(["lesson", "--answers", "--seeds", "3-4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("Seat ")]
    assert [lines[at].split(":")[0] for at in starts] == ["Seat 3", "Seat 4"]
    assert seat(3).text in lines[0] and f"[MASK] = {seat(3).word}" in lines[0]
    asked = asked_at(grammar, 3)
    posed = exercises(asked)
    assert len(posed) == len(PLACES)
    for line, each in zip(lines[1 : starts[1]], posed, strict=True):
        place, name, said = line.split(maxsplit=2)
        assert (place, name) == (f"{each['step']}.{each['level']}", each["id"])
        if each["kind"] == "choice":
            assert said == each["choices"][each["answer"]]
        else:
            number = float(re.sub("[,%]", "", said).replace("−", "-"))
            assert abs(number - each["answer"]) <= each["tolerance"]
    assert main(["lesson", "--answers", "--seeds", "17", "--language", "de"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Platz 17: ") and "12.480" in said


def test_codes_are_counted_and_a_wrong_one_is_named(capsys, tmp_path):
    file = tmp_path / "codes.csv"
    file.write_text(f"{CODE},window side\n\n{ALL_RIGHT}\n{CODE[:-1]}G\n")
    assert main(["lesson", "--codes", str(file)]) == 0
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first.startswith(
        f"{CODE}  seat 17: 3 of 5 answers right; not right: 2.1, 9.5; not tried: 1.2, 1.3, 2.2"
    )
    assert "window" not in first
    assert second == f"{ALL_RIGHT}  seat 240: {len(PLACES)} of {len(PLACES)} answers right"
    assert "has a wrong character" in third
    assert last.startswith("Right of those who tried, of 2 handed in: 1.1 2/2, 1.2 1/1")
    assert "2.1 1/2" in last


REFUSED = {
    "": "-o lesson.html, --answers, --codes FILE, or several",
    "-o lesson.pdf": "must end in .html",
    "-o lesson.html --seeds 1-81": "room for 80 seats, not 81",
    "-o nowhere/lesson.html": "cannot be written",
    "--answers --seeds 0-3": "from 1 to 240",
    "--answers --seeds 9-3": "from 1 to 240",
    "--answers --seeds all": "from 1 to 240",
    "--answers --language fr": "choose one of en, de",
    "--codes nowhere.txt": "nowhere.txt is not a file of codes",
}


def test_what_cannot_be_listed_is_said(capsys):
    for arguments, sentence in REFUSED.items():
        assert main(["lesson", *arguments.split()]) == 1, arguments
        assert sentence in capsys.readouterr().err, arguments
