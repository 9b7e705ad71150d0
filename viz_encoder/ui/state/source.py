"""Source: what a run reads, as it was given: a text, two texts, or a picture."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

from viz_encoder.bundled import asset
from viz_encoder.errors import InputError, SelectionError, TooLong
from viz_encoder.ui.state.examples import OPENING, PICTURES

KINDS = ("text", "pair", "image")
MAX_CHARACTERS = 2_000_000  # a request over this is refused unread
NO_TEXT = "This link has no text to run the untrained encoder on; type one."


@dataclass(frozen=True)
class Source:
    """What is read; equal sources hold the same.

    kind: "text", "pair" or "image".
    texts: as they were typed; () of a picture.
    example: the name of an example picture.
    held: tells apart what only the run itself holds: a picture of one's own, or a saved run.
    of_file: the run came from a file, and its link cannot hold what it reads.
    """

    kind: str
    texts: tuple[str, ...] = ()
    example: str = ""
    held: str = ""
    of_file: bool = False

    @classmethod
    def text(cls, text_a: str, text_b: str = "") -> "Source":
        """One text, or a pair unless the second is blank."""
        for text in (text_a, text_b):
            if not isinstance(text, str):
                raise InputError(f"The text is {type(text).__name__}, not text; type some text.")
            if len(text) > MAX_CHARACTERS:
                raise TooLong(
                    f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} "
                    "are allowed."
                )
        return cls("pair", (text_a, text_b)) if text_b.strip() else cls("text", (text_a,))

    @classmethod
    def picture(cls, example: str = "") -> "Source":
        """An example picture by its name, or a person's own."""
        if example and example not in PICTURES:
            raise SelectionError(
                f"There is no example picture {shown(example)}; choose one of "
                f"{', '.join(PICTURES)}."
            )
        return cls("image", example=example, held="" if example else secrets.token_hex())

    @classmethod
    def from_link(cls, query: Mapping[str, str]) -> "Source":
        """What a link asks for; the first example where it names nothing."""
        kind = query.get("kind", "text")
        if kind not in KINDS:
            raise SelectionError(
                f"This link asks for {shown(kind)}; a link opens {', '.join(KINDS)}."
            )
        if "build" in query and kind != "image" and "a" not in query:
            raise SelectionError(NO_TEXT)
        if kind == "image":
            return cls.picture(query.get("example", next(iter(PICTURES))))
        return cls.text(query.get("a", OPENING.text), query.get("b", ""))

    def to_link(self) -> dict[str, str]:
        """Its part of a link; run="" where only the run's key finds it."""
        named = {"kind": self.kind}
        if self.texts:
            return named | dict(zip("ab", self.texts, strict=False))
        if self.example:
            return named | {"example": self.example}
        return named | ({"from": "file"} if self.of_file else {}) | {"run": ""}

    @property
    def content(self) -> Any:
        """What an encoder reads; None of what only the run holds."""
        if self.example:
            return [str(asset(PICTURES[self.example]))]
        return self.texts if len(self.texts) > 1 else next(iter(self.texts), None)
