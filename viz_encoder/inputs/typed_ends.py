"""Special tokens that a person typed at the ends of a text, where the tokenizer adds them too."""

from tokenizers import Encoding


def without_typed_ends(
    full: Encoding, texts: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts between them, and the special tokens that were typed; each is taken off once.

    At a text's start that is a token which the tokenizer puts before everything ([CLS], <s>), at
    its end one that it puts after everything ([SEP], </s>), of either text of a pair. A text of
    which nothing would be left stays as it is.

    Args:
        full: these very texts, encoded with the tokens that the tokenizer adds.
        texts: one text, or two.
    """
    of_text = [place for place, text in enumerate(full.sequence_ids) if text is not None]
    added = [place for place, text in enumerate(full.sequence_ids) if text is None]
    if not of_text:
        return texts, ()
    opening = {full.ids[place] for place in added if place < of_text[0]}
    closing = {full.ids[place] for place in added if place > of_text[-1]}
    kept, typed = [], dict[str, None]()
    for at, text in enumerate(texts):
        own = [place for place in of_text if full.sequence_ids[place] == at]
        start = _typed_at(full, own[:1], opening, text)
        stop = _typed_at(full, own[-1:], closing, text)
        inner = text[start[1] if start else 0 : stop[0] if stop else len(text)].strip()
        found = [text[slice(*span)] for span in (start, stop) if span]
        kept.append(inner if found and inner else text)
        typed.update(dict.fromkeys(found if inner else ()))
    return tuple(kept), tuple(typed)


def _typed_at(
    full: Encoding, places: list[int], added: set[int], text: str
) -> tuple[int, int] | None:
    """The characters of a token, if it is one of those added and stands there letter by letter."""
    for place in places:
        start, stop = full.offsets[place]
        if full.ids[place] in added and text[start:stop] == full.tokens[place]:
            return start, stop
    return None
