"""Function words: English words of grammar alone, which no finding singles out; and pronouns."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


PRONOUNS = _listed(
    "he him his himself she her hers herself it its itself they them their theirs themselves"
)
FUNCTION_WORDS = _listed(
    "a about after all although am an and any are as at be because been before being but by can "
    "could did do does each every for from had has have how i if in into is me my no nor not of on "
    "or our over so some such than that the these this those though through to too under until us "
    "very was we were what when where which while who whom whose why will with would you your "
    "didn doesn don isn wasn couldn wouldn hadn hasn haven s t"
)


def is_function_word(name: str) -> bool:
    """Whether a token is a word of grammar alone; "a" and "i" may as well be letters."""
    return name.lower() in FUNCTION_WORDS - {"a", "i"}
