"""The words of a little language of four rules; scripts/grammar.py makes its sentences.

agreement   a verb has the number of its subject, whatever nouns stand between the two:
            "the keys to the cabinet are old", "near the dog the cat that the birds see runs"
brackets    each bracket is closed by its own kind, nested up to four deep: "( [ { } ] )"
copying     what follows "=" is what stands before it: "copy : a d b = a d b"
reference   after "because" the pronoun has the gender of the first person, after "so" that of
            the second: "the girl saw the boy because she was tired"
"""

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Each word in the singular and in the plural.
NOUNS = (
    *(("key", "keys"), ("cabinet", "cabinets"), ("box", "boxes")),
    *(("cat", "cats"), ("dog", "dogs"), ("bird", "birds")),
)
COPULA = (("is", "are"),)
SEEING = (("sees", "see"), ("likes", "like"))
RUNNING = (("runs", "run"), ("sleeps", "sleep"))
PREPOSITIONS, ADJECTIVES = ("to", "near", "by"), ("old", "small", "red")
PEOPLE = {"she": ("girl", "woman", "queen"), "he": ("boy", "man", "king")}
PRONOUN = {person: pronoun for pronoun, people in PEOPLE.items() for person in people}
PERSONS = tuple(PRONOUN)
DEEDS, CONJUNCTIONS, FEELINGS = ("saw", "helped", "called"), ("because", "so"), ("tired", "glad")
LETTERS = tuple("abcdefgh")
BRACKETS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = dict(zip(BRACKETS.values(), BRACKETS, strict=True))
WORDS = (
    *("the", "that", "was", "copy", ":", "="),
    *(form for forms in (*NOUNS, *COPULA, *SEEING, *RUNNING) for form in forms),
    *(*PREPOSITIONS, *ADJECTIVES, *DEEDS, *CONJUNCTIONS, *FEELINGS, *PEOPLE),
    *PERSONS,
    *(*LETTERS, *BRACKETS, *BRACKETS.values()),
)
VOCABULARY = SPECIAL + WORDS
NUMBER = {form: number for forms in NOUNS for number, form in enumerate(forms)}


def other_word(word: str) -> str | None:
    """The other number of a noun, a person of the other kind, the next bracket or letter."""
    if word in NUMBER:
        forms = next(forms for forms in NOUNS if word in forms)
        return forms[1 - forms.index(word)]
    if word in PRONOUN:
        she, he = PEOPLE.values()
        pairs = dict(zip((*she, *he), (*he, *she), strict=True))
        return pairs[word]
    rows = (CONJUNCTIONS, tuple(BRACKETS), tuple(_CLOSING), LETTERS)
    for row in rows:
        if word in row:
            return row[(row.index(word) + 1) % len(row)]
    return None
