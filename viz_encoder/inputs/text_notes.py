"""Notes on a text that was read: special tokens that were typed, padding, and what was cut."""

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer

from viz_encoder.inputs.encoded import Encoded

PREVIEW = 24
N_LISTED = 8  # tokens that a note names


def specials_of(tokenizer: Tokenizer) -> Iterable[AddedToken]:
    """The tokenizer's special tokens."""
    return (t for t in tokenizer.get_added_tokens_decoder().values() if t.special)


def lost(cut: Encoded) -> str:
    """The first characters that did not fit, from the text that lost most."""
    ends = [0] * len(cut.texts)
    for text_of, (_, end) in zip(cut.text_of, cut.spans, strict=True):
        if text_of is not None:
            ends[text_of] = max(ends[text_of], end)
    text, end = max(zip(cut.texts, ends, strict=True), key=lambda pair: len(pair[0]) - pair[1])
    return " ".join(text[end : end + PREVIEW].split())


def tell_specials(cut: Encoded, tokenizer: Tokenizer, notes: list[str]) -> None:
    """Note special tokens in the text, and the number of unknown tokens."""
    typed = _typed_specials(cut, tokenizer)
    if at := typed.pop(cut.word.name, []):
        are = f"Token {at[0]} is" if len(at) == 1 else f"Tokens {_listed(at)} are"
        notes.append(
            f"{are} {cut.word.name} as an ordinary token (with the model's embedding of "
            f"{cut.word.name}), because you wrote {cut.word.as_word}."
        )
    for token in sorted(typed):
        notes.append(f"{token} in the text was read as the model's own special token.")
    unknown = tokenizer.token_to_id("[UNK]")
    own = [i for i, span in zip(cut.ids, cut.spans, strict=True) if span != (0, 0)]
    n_lost = sum(i == unknown for i in own) if unknown is not None else 0
    if own and n_lost == len(own):
        notes.append("Every token is [UNK]: this model's vocabulary knows none of this text.")
    elif n_lost:
        notes.append(
            f"{n_lost} of {len(own)} tokens {'is' if n_lost == 1 else 'are'} [UNK]: not in "
            "this model's vocabulary."
        )


def _listed(places: list[int]) -> str:
    """The first of them, as a person reads them."""
    first = ", ".join(map(str, places[:N_LISTED]))
    return f"{first} …" if len(places) > N_LISTED else first


def _typed_specials(cut: Encoded, tokenizer: Tokenizer) -> dict[str, list[int]]:
    """Positions of special tokens typed literally ([UNK] also stands for other words)."""
    special = {token.content for token in specials_of(tokenizer)}
    rows = enumerate(zip(cut.tokens, cut.spans, cut.text_of, strict=True))
    found: dict[str, list[int]] = {}
    for at, (token, span, text) in rows:
        own = text is not None and at not in cut.padding and token in special
        if own and text is not None and cut.texts[text][slice(*span)] == token:
            found.setdefault(token, []).append(at)
    return found


def tell_padding(cut: Encoded, n_kept: int, n_behind: int, notes: list[str]) -> None:
    """Note which part of the text is padding, and how to escape it."""
    n_padding, n_tokens, name = len(cut.padding) + n_kept, len(cut) + n_kept, cut.word.name
    if n_padding:
        last = cut.tokens[-1] if cut.text_of[-1] is None else "all other tokens"
        behind = f"; at the end of the text it is moved behind {last}" if n_kept else ""
        notes.append(
            f"{n_padding:,} of {n_tokens:,} tokens {'is' if n_padding == 1 else 'are'} padding, "
            f"because {name} was typed{behind}. No token attends to padding; to have it read as a "
            f"word, write {cut.word.as_word}."
        )
    if n_kept < n_behind:
        notes.append(f"{n_behind - n_kept:,} {name} at the end did not fit, and were left out.")
