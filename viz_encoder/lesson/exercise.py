"""Exercise: a question about a run, its answer as computed there, and the mistakes we know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps

from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.texts import TextValue


@dataclass(frozen=True)
class Number:
    """A number to be typed, as precise as it is shown.

    `printed` is what comes out of the numbers that the question prints, where that can differ from
    the answer in the last digit: paper must not be marked wrong for our rounding.
    """

    answer: float
    decimals: int = 0
    given: Mapping[str, TextValue] = field(default_factory=dict)
    mistakes: Mapping[str, float] = field(default_factory=dict)  # name of its text: what it gives
    printed: float | None = None
    unit: str = ""
    variant: str = ""  # which of the exercise's questions is asked, where it has several
    cell: int | None = None  # of a vector, where one of its numbers is asked for
    also = ()

    @property
    def tolerance(self) -> float:
        """Half of the last digit shown, none for a count, or up to what paper gives."""
        whole = not self.decimals and float(self.answer).is_integer()
        half = 0.0 if whole else 0.5 * 10**-self.decimals
        if self.printed is not None:
            half = max(half, abs(round(self.printed, self.decimals) - self.answer))
        return half * (1 + 1e-9) + 1e-9

    @property
    def distinct_mistakes(self) -> Mapping[str, float]:
        """The mistakes that can be told from the answer and from each other."""
        known = {"": self.answer}
        for name, value in self.mistakes.items():
            if all(abs(value - other) > 2 * self.tolerance for other in known.values()):
                known[name] = value
        return {name: value for name, value in known.items() if name}


@dataclass(frozen=True)
class AnswerChoice:
    """One of several answers: text keys, or the model's words verbatim; `also` are right too."""

    choices: tuple[str, ...]
    answer: int
    given: Mapping[str, TextValue] = field(default_factory=dict)
    mistakes: Mapping[str, int] = field(default_factory=dict)  # name of its text: which choice
    verbatim: bool = False
    named: TextValue | None = None  # the answer in a sentence, where that is not as it is chosen
    variant: str = ""  # or several, the later before the earlier
    also: tuple[int, ...] = ()
    unit, decimals, tolerance, cell = "", 0, 0, None

    @property
    def distinct_mistakes(self) -> Mapping[str, float]:
        """The mistakes that are not right too, one of each choice."""
        right = {self.answer, *self.also}
        named = {at: name for name, at in self.mistakes.items() if at not in right}
        return {name: at for at, name in named.items()}


Question = Number | AnswerChoice


Ask = Callable[[Asked], Question | None]  # None: this model cannot answer it


def at_mask(ask: Ask) -> Ask:
    """The same exercise, but of [MASK], whatever token is followed."""

    @wraps(ask)
    def of_mask(asked: Asked) -> Question | None:
        return ask(asked.at_mask)

    return of_mask
