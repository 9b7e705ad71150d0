"""A class: each seat's sentence, its result code, and the teacher's list of answers."""

import re

import pytest
import torch

import viz_encoder as vz
from tests.lesson.by_hand import Run
from tests.test_grammar import belongs
from viz_encoder.cli import main
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.lesson.answer_list import asked_at
from viz_encoder.lesson.grammar import BRACKETS, LETTERS, WORDS, is_held_out
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.result_code import Result, all_places, decode, encode
from viz_encoder.lesson.seats import LAST_SEAT, seat

CODE = "2130-0001-01PA"
RIGHT = frozenset({(1, 1), (4, 2), (12, 3)})


def every_seat():
    return [seat(number) for number in range(1, LAST_SEAT + 1)]


def test_each_seat_has_a_sentence_of_its_own_that_was_never_trained_on():
    seats = every_seat()
    assert len({one.text for one in seats}) == LAST_SEAT
    assert [one.rule for one in seats[:4]] == ["agreement", "agreement", "reference", "reference"]
    assert seats[16].text == "the key by the keys near the keys [MASK] red"  # as it always was
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


def test_the_model_says_what_is_right_on_every_seat():
    """In batches, with their padding; the first ones by numpy too."""
    grammar, wrong = vz.load("grammar", device="cpu"), []
    for start in range(0, LAST_SEAT, 111):
        some = every_seat()[start : start + 111]
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


@pytest.mark.parametrize("number", [0, -1, 1000, 10**9])
def test_there_is_no_other_seat(number: int):
    with pytest.raises(SelectionError, match=f"no seat {number}; choose 1 to 999"):
        seat(number)


def test_codes_that_the_browser_makes_too():
    """tests/web/result_code.test.js has the same three."""
    assert encode(Result(0, frozenset())) == "2000-0000-002F"
    assert encode(Result(17, RIGHT)) == CODE
    assert encode(Result(999, frozenset(all_places()))) == "3YFZ-ZZZZ-ZZH2"


def test_a_code_says_what_was_put_into_it():
    for number in (1, 17, 512, 999):
        for at in range(36):
            right = frozenset(all_places()[at::5])
            assert decode(encode(Result(number, right))) == Result(number, right)


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


def test_a_code_typed_carelessly_is_read():
    assert decode(" 2l30 oooi olpa ") == Result(17, RIGHT)


@pytest.mark.parametrize("code", ["", "keys", f"{CODE}0", "UUUU-UUUU-UUUU", "é" * 12])
def test_other_texts_are_no_code(code: str):
    with pytest.raises(InputError, match="is not a result code; it has 12"):
        decode(code)


@pytest.mark.parametrize("result", [Result(1000, frozenset()), Result(1, frozenset({(13, 1)}))])
def test_no_code_is_made_of_what_is_not_there(result: Result):
    with pytest.raises(InputError):
        encode(result)


def test_the_list_holds_each_exercise_of_each_seat_with_its_answer(capsys):
    assert main(["lesson", "--answers", "--seeds", "3-4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("Seat ")]
    assert [lines[at].split(":")[0] for at in starts] == ["Seat 3", "Seat 4"]
    assert seat(3).text in lines[0] and f"[MASK] = {seat(3).word}" in lines[0]
    asked = asked_at(vz.load("grammar", device="cpu"), 3)
    posed = exercises(asked)
    assert len(posed) >= 33
    for line, each in zip(lines[1 : starts[1]], posed, strict=True):
        place, name, said = line.split(maxsplit=2)
        assert (place, name) == (f"{each['step']}.{each['level']}", each["id"])
        if each["kind"] == "choice":
            assert said == each["choices"][each["answer"]]
        else:
            number = float(re.sub("[,%]", "", said).replace("−", "-"))
            assert abs(number - each["answer"]) <= each["tolerance"]


def test_codes_are_counted_and_a_wrong_one_is_named(capsys, tmp_path):
    file = tmp_path / "codes.csv"
    file.write_text(f"{CODE},window side\n\n3YFZ-ZZZZ-ZZH2\n2130-0001-01PB\n")
    assert main(["lesson", "--codes", str(file)]) == 0
    first, second, third, last = capsys.readouterr().out.splitlines()
    n_posed = len(exercises(asked_at(vz.load("grammar", device="cpu"), 17)))
    assert first.startswith(f"{CODE}  seat 17: 3 of {n_posed} right; not right: 1.2, 1.3, 2.1")
    assert "window" not in first
    assert re.fullmatch(r"3YFZ-ZZZZ-ZZH2  seat 999: (\d+) of \1 right", second)
    assert "has a wrong character" in third
    assert last.startswith("Right in 2 codes: 1.1 2/2, 1.2 1/2") and "4.2 2/2" in last


def test_the_list_speaks_the_other_language(capsys):
    assert main(["lesson", "--answers", "--seeds", "17", "--language", "de"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Platz 17: ") and "12.480" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "-o lesson.html, --answers, --codes FILE, or several"),
        (["-o", "lesson.pdf"], "must end in .html"),
        (["-o", "lesson.html", "--seeds", "1-91"], "room for 90 seats, not 91"),
        (["-o", "nowhere/lesson.html"], "cannot be written"),
        (["--answers", "--seeds", "0-3"], "from 1 to 999"),
        (["--answers", "--seeds", "9-3"], "from 1 to 999"),
        (["--answers", "--seeds", "all"], "from 1 to 999"),
        (["--answers", "--language", "fr"], "choose one of en, de"),
        (["--codes", "nowhere.txt"], "nowhere.txt is not a file of codes"),
    ],
)
def test_what_cannot_be_listed_is_said(capsys, arguments: list[str], sentence: str):
    assert main(["lesson", *arguments]) == 1
    assert sentence in capsys.readouterr().err
