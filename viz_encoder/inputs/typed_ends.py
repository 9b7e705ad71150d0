"""Special tokens that a person typed at the ends of a text, where the tokenizer adds them too."""

from viz_encoder.inputs.encoded import Encoded


def without_typed_ends(full: Encoded) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts between them, and the special tokens that were typed; each is taken off once.

    At a text's start that is a token which the tokenizer puts before everything ([CLS], <s>), at
    its end one that it puts after everything ([SEP], </s>), of either text of a pair; typed padding
    may stand outside of them. A text of which nothing would be left stays as it is.

    Args:
        full: the texts with the tokens that the tokenizer adds.
    """
    of_text = [place for place, text in enumerate(full.text_of) if text is not None]
    added = [place for place, text in enumerate(full.text_of) if text is None]
    if not of_text:
        return full.texts, ()
    opening = {full.ids[place] for place in added if place < of_text[0]}
    closing = {full.ids[place] for place in added if place > of_text[-1]}
    kept, typed = [], dict[str, None]()
    for at, text in enumerate(full.texts):
        words = [place for place in full.own(at) if place not in full.padding]
        start = _typed_at(full, words[:1], opening, text)
        stop = _typed_at(full, words[-1:], closing, text)
        found = [text[slice(*span)] for span in (start, stop) if span]
        if not found or len(words) <= len(found):
            kept.append(text)
            continue
        first, last = start or (0, 0), stop or (len(text),) * 2
        # Anything outside them is padding or spaces.
        parts = text[: first[0]], text[first[1] : last[0]], text[last[1] :]
        kept.append(" ".join(part.strip() for part in parts if part.strip()))
        typed.update(dict.fromkeys(found))
    return tuple(kept), tuple(typed)


def _typed_at(
    full: Encoded, places: list[int], added: set[int], text: str
) -> tuple[int, int] | None:
    """The characters of a token, if it is one of those added and stands there letter by letter."""
    for place in places:
        start, stop = full.spans[place]
        if full.ids[place] in added and text[start:stop] == full.tokens[place]:
            return start, stop
    return None
