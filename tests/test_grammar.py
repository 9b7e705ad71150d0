"""The grammar model as shipped: its language checked by other means, and its numbers again."""

import json
import random
import re

import pytest
import torch

import viz_encoder as vz
from scripts import grammar
from scripts.measure_grammar import (
    IDS,
    MASK,
    N_ROLES,
    as_batch,
    backward_only,
    evaluate,
    is_right,
    looks,
    make_trial,
    without,
)
from viz_encoder.bundled import asset

TAGS = {
    "the": "D",
    **dict.fromkeys(["key", "cabinet", "box", "cat", "dog", "bird"], "n"),
    **dict.fromkeys(["keys", "cabinets", "boxes", "cats", "dogs", "birds"], "N"),
    **dict.fromkeys(["to", "near", "by"], "P"),
    **dict.fromkeys(["old", "small", "red"], "a"),
    "that": "t",
    **{"sees": "s", "likes": "s", "see": "S", "like": "S"},
    **{"runs": "r", "sleeps": "r", "run": "R", "sleep": "R", "is": "c", "are": "C"},
}
NOUN = "Da?[nN]"
AGREES = "|".join(
    f"(?:P{NOUN})?Da?{n}(?:(?:P{NOUN}){{0,3}}|t{s}{NOUN}|tDa?(?:ns|NS))(?:{c}a|{r})"
    for n, s, r, c in ("nsrc", "NSRC")
)
SHE, HE = "(girl|woman|queen)", "(boy|man|king)"
PERSON = f"the( old| small| tired| glad)? ({SHE}|{HE})"
PAIR = f"(?P<first>{PERSON}) (saw|helped|called) (?P<second>{PERSON})"
REFERS = re.compile(f"{PAIR} (?P<how>because|so) (?P<who>she|he) was (tired|glad)")


def belongs(rule: str, words: list[str]) -> bool:
    """Whether these words are a sentence of the rule, decided without the generator."""
    if rule == "agreement":
        return bool(re.fullmatch(AGREES, "".join(TAGS.get(word, "?") for word in words)))
    if rule == "brackets":
        return balanced("".join(words))
    if rule == "copying":
        left, _, right = " ".join(words).partition(" = ")
        letters = left.removeprefix("copy : ")
        return left.startswith("copy : ") and letters == right and set(right) <= set("abcdefgh ")
    found = REFERS.fullmatch(" ".join(words))
    if not found or found["first"].split()[-1] == found["second"].split()[-1]:
        return False
    meant = found["first" if found["how"] == "because" else "second"].split()[-1]
    return bool(re.fullmatch(SHE if found["who"] == "she" else HE, meant))


def balanced(text: str) -> bool:
    """Whether taking out touching pairs leaves nothing, in at most four rounds (the depth)."""
    for _ in range(4):
        kinds = r"\(x*\)|\[x*\]|\{x*\}"
        text = re.sub(kinds, "x", text)
    return not text.replace("x", "")


def sentences(rule: str, count: int, held_out: bool = True, seed: int = 7):
    rng = random.Random(seed)
    return [grammar.draw(rule, rng, held_out) for _ in range(count)]


@pytest.fixture(scope="module")
def model(request):
    return request.getfixturevalue("grammar")


@pytest.fixture(scope="module")
def card():
    return json.loads(asset("models/grammar/config.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("rule", grammar.RULES)
def test_the_answers_are_all_words_that_make_a_sentence(rule: str):
    for made in sentences(rule, 40):
        assert belongs(rule, made.words)
        for at, answers in made.answers.items():
            before, after = made.words[:at], made.words[at + 1 :]
            right = {word for word in grammar.WORDS if belongs(rule, [*before, word, *after])}
            assert right == answers, (made.words, at)


@pytest.mark.parametrize("rule", grammar.RULES)
def test_no_sentence_is_both_trained_on_and_held_out(rule: str):
    trained = {tuple(made.words) for made in sentences(rule, 500, held_out=False)}
    tested = {tuple(made.words) for made in sentences(rule, 100)}
    assert not trained & tested
    assert all(map(grammar.is_held_out, tested)) and not any(map(grammar.is_held_out, trained))


@pytest.mark.slow
def test_the_numbers_on_its_card_are_true(model, card):
    measured = evaluate(model.model)
    assert card["metrics"] == {name: pytest.approx(x, abs=2e-3) for name, x in measured.items()}
    for rule in grammar.RULES:
        assert measured[f"accuracy_{rule}"] >= 0.99


@pytest.mark.parametrize("rule", grammar.RULES)
def test_texts_with_a_mask_are_filled_rightly(model, rule: str):
    """Read as text and judged by this file's own check, on sentences of another seed."""
    rng, texts, right = random.Random(3), [], []
    for made in sentences(rule, 60, seed=11):
        at = rng.choice(list(made.answers))
        texts.append(" ".join([*made.words[:at], "[MASK]", *made.words[at + 1 :]]))
    for trace in vz.capture(model, texts):
        at = trace.tokens.index("[MASK]")
        with torch.inference_mode():
            scores = model.model.heads["masked"](trace.output[None])[0]
        words = [token for token in trace.tokens if token not in ("[CLS]", "[SEP]", "[PAD]")]
        words[at - 1] = model.reader.tokenizer.id_to_token(int(scores[at].argmax()))
        right.append(belongs(rule, words))
    assert sum(right) / len(right) >= 0.95


@pytest.mark.parametrize("rule", grammar.RULES)
def test_the_heads_on_its_card_look_and_are_needed_as_it_says(model, card, rule: str):
    said, trial = card["heads"][rule], backward_only(make_trial(rule, N_ROLES))
    weight = looks(model.model, trial)
    assert float(weight.max()) == pytest.approx(said["weight"], abs=5e-3)
    assert float(weight[tuple(said["looks"])]) == float(weight.max())
    for head, left in (
        (said["looks"], said["accuracy_without"]),
        (said["most_needed"], said["accuracy_without_most_needed"]),
    ):
        cut = without(model.model, *head)
        assert float(is_right(cut, trial).float().mean()) == pytest.approx(left, abs=5e-3)


def test_the_tokenizer_reads_what_was_trained_on(model):
    tokenizer = model.reader.tokenizer
    assert tokenizer.get_vocab() == IDS
    for rule in grammar.RULES:
        made = sentences(rule, 1)[0]
        batch = as_batch([made.words], [[1]])
        words = [made.words[0], "[MASK]", *made.words[2:]]
        assert torch.equal(model.read(" ".join(words)).values, batch.ids)
    assert tokenizer.encode("([{}])").tokens == ["[CLS]", *"([{}])", "[SEP]"]
    assert tokenizer.encode("The KEYS").tokens[1:3] == ["the", "keys"]
    assert tokenizer.encode("( [MASK] )").ids[2] == MASK
