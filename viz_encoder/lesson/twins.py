"""Twins: a word of the little language, and one in whose place another answer is right."""

from viz_encoder.lesson import grammar

_CLOSING = dict(zip(grammar.BRACKETS.values(), grammar.BRACKETS, strict=True))


def other_word(word: str) -> str | None:
    """The other number of a noun, a person of the other kind, the next bracket or letter."""
    if word in grammar.NUMBER:
        forms = next(forms for forms in grammar.NOUNS if word in forms)
        return forms[1 - forms.index(word)]
    if word in grammar.PRONOUN:
        she, he = grammar.PEOPLE.values()
        pairs = dict(zip((*she, *he), (*he, *she), strict=True))
        return pairs[word]
    rows = (grammar.CONJUNCTIONS, tuple(grammar.BRACKETS), tuple(_CLOSING), grammar.LETTERS)
    for row in rows:
        if word in row:
            return row[(row.index(word) + 1) % len(row)]
    return None
