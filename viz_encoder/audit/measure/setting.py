"""Inputs, padding, intents and tolerances of an audit.

Batch, length and heads all differ, so that no two axes can be taken for one another; the lengths
of the samples differ, so that no sample's mask fits another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_encoder.audit.measure.intents import read_intent
from viz_encoder.audit.measure.reach import Allowed, pattern_in
from viz_encoder.audit.measure.token_axis import can_be_cut, may_have
from viz_encoder.errors import InputError, VizEncoderError
from viz_encoder.model.mask_mods import n_needed

FIRST_LENGTH = 7
LONG = 128  # tokens above which fewer rows are differentiated and fewer tokens changed
# The largest difference that rounding makes in a correct model, relative to its typical output.
TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.float16: 5e-3,
    torch.bfloat16: 3e-2,
}
MASS = 1e-6  # a weight on a forbidden key above this is a leak; right masks give exactly 0
GRADIENT = 1e-6  # for gradients, relative to the largest of the row

Intent = Callable[..., Tensor]  # (valid) or (valid, x) → "batch query key"


class ModelFault(Exception):
    """The audited code raised, or gave what cannot be judged; str() says what and where."""

    cure = ""

    @property
    def sentence(self) -> str:
        """What the model did, in words; what it raised, if it did."""
        return f"The model raised {self}." if self.__cause__ is not None else str(self)

    @property
    def clause(self) -> str:
        """The same within a sentence."""
        return f"{self.sentence[0].lower()}{self.sentence[1:]}".removesuffix(".")


class RowsLost(ModelFault):
    """The output of a model that gives one row a token has another number of rows."""

    cure = (
        "Return one row for each token that went in, padding too. What is cut to the longest "
        "sample, as nested tensors are, gets them back by out.to_padded_tensor(0.0, x.size())."
    )

    @classmethod
    def of(cls, out: Tensor, valid: Bool[Tensor, "batch token"]) -> "RowsLost":
        """Of an output, "batch row …"."""
        n_tokens, longest = valid.shape[1], int(valid.sum(dim=1).max())
        cut = out.shape[1] == longest
        why = ", as many as the longest sample has without its padding" if cut else ""
        return cls(f"The output has {out.shape[1]} rows a sample for {n_tokens} tokens{why}.")


@dataclass(frozen=True, eq=False)
class Case:
    """One batch: the model's input, and its intended mask."""

    x: Tensor  # "batch token d_model", or ids "batch token"
    valid: Bool[Tensor, "batch token"]
    allowed: tuple[Allowed, ...]  # one for all layers, or one a layer
    passed: Any  # the mask the caller's code passes
    own: bool = False  # passed is a whole batch of the caller's, and x is not looked at

    @property
    def sizes(self) -> str:
        """Batch and length, in words."""
        return f"batch {self.valid.shape[0]}, {self.valid.shape[1]} tokens"

    @property
    def at_length(self) -> str:
        """Where a fault shows that the first length does not."""
        return f"at {self.valid.shape[1]} tokens (fewer pass)"

    @property
    def padded(self) -> bool:
        """Whether any token is padding."""
        return not bool(self.valid.all())

    @property
    def judged(self) -> Bool[Tensor, "batch query"]:
        """Real tokens that may attend to something in every layer."""
        return self.valid & torch.stack([one.any(dim=-1) for one in self.allowed]).all(dim=0)


@dataclass(frozen=True)
class Setting:
    """Makes the cases of an audit."""

    intents: tuple[Intent, ...]
    make_mask: Callable[..., Any]  # (valid) or (valid, x) → what the caller's code passes
    make_x: Callable[[int, int, int], Tensor]  # (seed, batch, length) → x
    seed: int = 0
    given: Tensor | None = None  # the caller's own valid
    padding_side: str = "right"  # "left": before the tokens; "both" begins with the right
    pad_id: int | None = 0  # None: it is not known
    first: int = FIRST_LENGTH
    n_samples: int = 3
    edge_ids: tuple[int, ...] = ()  # ids that code takes for special ones: each is a real token
    only: Case | None = None  # the one batch that there is, if no other can be made

    @classmethod
    def of_one(cls, case: Case, pad_id: int | None = None) -> "Setting":
        """A setting that makes no other case than this one."""

        def intent_of(allowed: Allowed) -> Intent:
            def intent(valid: Tensor) -> Tensor:
                if valid.shape != case.valid.shape:
                    raise ModelFault("there is only this batch")
                return pattern_in(allowed, case.valid) if bool(valid.all()) else allowed

            return intent

        intents = tuple(map(intent_of, case.allowed))
        return cls(
            intents,
            lambda valid: case.passed,
            lambda *sizes: case.x,
            given=case.valid,
            pad_id=pad_id,
            only=case,
        )

    @property
    def fixed(self) -> bool:
        """Whether there is one batch, and no other can be made."""
        return self.only is not None

    @property
    def left(self) -> bool:
        """Whether padding stands before the tokens."""
        if self.given is None or not self.pads:
            return self.padding_side == "left"
        return bool((~self.given[:, 0]).any()) and bool(self.given[:, -1].all())

    @property
    def pads(self) -> bool:
        """Whether there is to be padding: not where the caller's own valid ends in none."""
        return self.given is None or bool((~self.given[:, [0, -1]]).any())

    def base(self) -> Case:
        """The case that everything is tried on first."""
        return self.only or self.case(self.first_valid())

    def padding(self, length: int, *, left: bool | None = None) -> Bool[Tensor, "batch token"]:
        """Samples of different numbers of tokens, one of them whole; all, if nothing is to pad."""
        n_samples = self.n_samples + (self.n_samples == length)
        if not self.pads:
            return torch.ones(n_samples, length, dtype=torch.bool)
        counts = _counts(n_samples, length)
        valid = torch.arange(length) < counts[:, None]
        return valid.flip(1) if (self.left if left is None else left) else valid

    def case(self, valid: Tensor, *, seed: int | None = None, x: Tensor | None = None) -> Case:
        """The batch with that padding; ids at padded places are pad_id."""
        x = self._made(valid, self.seed if seed is None else seed) if x is None else x
        valid = valid.to(x.device)
        if why := _misfit(x, valid):
            raise ModelFault(why)
        if not x.is_floating_point() and x.shape == valid.shape:
            x = x.masked_fill(~valid, self.pad_id or 0)
        return Case(x, valid, self.allowed(valid, x), self._passed(valid, x))

    def _made(self, valid: Tensor, seed: int) -> Tensor:
        x = self.make_x(seed, *valid.shape)
        return self._with_edges(x, valid.to(x.device)) if self.edge_ids else x

    def _with_edges(self, x: Tensor, valid: Tensor) -> Tensor:
        """With each of those ids in place of one real token, spread over the batch."""
        places, x = valid.nonzero(), x.clone()
        for number, one in enumerate(self.edge_ids[: len(places)]):
            sample, token = places[(2 * number + 1) * len(places) // (2 * len(self.edge_ids))]
            x[sample, token] = one
        return x

    def passed(self, valid: Tensor, x: Tensor) -> Any:
        """What the caller's code passes for these tokens."""
        return self.make_mask(*given_to(self.make_mask, valid, x))

    def _passed(self, valid: Tensor, x: Tensor) -> Any:
        try:
            return self.passed(valid, x)
        except Exception as fault:
            sizes = f"batch {valid.shape[0]}, {valid.shape[1]} tokens"
            raise ModelFault(f"{type(fault).__name__} in make_mask: {fault} ({sizes})") from fault

    def first_valid(self) -> Bool[Tensor, "batch token"]:
        """The padding of the base case."""
        return self.padding(self.first) if self.given is None else self.given

    def require_fit(self) -> None:
        """Raise unless cases can be made from the caller's intents and inputs.

        Raises:
            InputError: they are not.
        """
        valid = self.first_valid()
        self.allowed(valid)
        self._require_read(valid)
        if why := _misfit(self.make_x(self.seed, *valid.shape), valid):
            raise InputError(
                f"{why[:1].upper()}{why[1:]}; give the number of tokens your make gives: "
                "AuditScope(lengths=[…]), or AuditInputs(valid=torch.ones(3, …) > 0), if none is "
                "padding."
            )

    def _require_read(self, valid: Tensor) -> None:
        """Raise if an intent reads the input, and says the same whatever the input is."""
        x = self._made(valid, self.seed) if self.reads_input else None
        if x is None or x.shape[:2] != valid.shape:
            return
        pairs = zip(self.allowed(valid, x), self.allowed(valid, x.roll(1, dims=1)), strict=True)
        if all(torch.equal(*pair) for pair in pairs):
            raise InputError(
                "intent(valid, ids) says the same whatever ids are drawn, so what it reads in them "
                "would not be judged. For padding alone (ids != pad_id) give intent(valid): ids "
                "are pad_id where valid is False. Else make ids that hold what it looks for, "
                "such as ends of documents or pictures: "
                "inputs=viz_encoder.audit.AuditInputs(make=lambda seed, batch, length: …)."
            )

    def alone(self, case: Case, sample: int) -> Case | None:
        """One sample without its padding; None if its tokens are not contiguous."""
        places = case.valid[sample].nonzero()[:, 0]
        if self.fixed or not len(places) or int(places[-1] - places[0]) + 1 != len(places):
            return None
        if not can_be_cut(case.x, case.valid.shape[1]):
            whole = len(places) == case.valid.shape[1]
            return self.whole(case, sample) if whole else None
        x = case.x[sample : sample + 1, places]
        return self.case(torch.ones(1, len(places), dtype=torch.bool), x=x)

    def whole(self, case: Case, sample: int) -> Case:
        """One sample with its padding."""
        one = slice(sample, sample + 1)
        return self.case(case.valid[one], x=case.x[one])

    @property
    def reads_input(self) -> bool:
        """Whether any intent depends on the input, such as on ids that end documents."""
        return any(takes_input(intent) for intent in self.intents)

    def allowed(self, valid: Tensor, x: Tensor | None = None) -> tuple[Allowed, ...]:
        """The intent of each layer as Bool "batch query key", for that input.

        Raises:
            InputError: an intent raises, or gives something else.
        """
        x = self._made(valid, self.seed) if x is None and self.reads_input else x
        given = (
            called(intent, "intent(valid)", *given_to(intent, valid, x)) for intent in self.intents
        )
        return tuple(read_intent(each, "intent(valid)", valid) for each in given)


def takes_input(function: Callable[..., Any]) -> bool:
    """Whether it needs x besides valid."""
    return n_needed(function) == 2


def given_to(function: Callable[..., Any], valid: Tensor, x: Tensor | None) -> tuple[Any, ...]:
    """What it is called with: valid, and x if it takes both."""
    return (valid, x) if takes_input(function) else (valid,)


def called(function: Callable[..., Any], words: str, *given: Any) -> Any:
    """Call a function of the caller's, naming it if it raises.

    Raises:
        InputError: it raises.
    """
    try:
        return function(*given)
    except (VizEncoderError, ModelFault):
        raise
    except Exception as fault:
        why = str(fault)[:200].rstrip(".") or "no message"
        raise InputError(f"{words} raised {type(fault).__name__}: {why}.") from fault


def _counts(n_samples: int, length: int) -> Int[Tensor, " batch"]:
    """About 5, 3 and 7 sevenths of the length.

    Of these the nearest that shows where a length is kept as a share of the longest, and cut off
    or rounded up again: only some pairs of lengths do.
    """
    every = torch.arange(1, length + 1)
    back = every.float() / length * length
    telling = ((back.long() < every).nonzero() + 1, (back.ceil().long() > every).nonzero() + 1)
    counts = [max(1, round((5, 3, 7)[number % 3] / 7 * length)) for number in range(n_samples)]
    for number, ones in enumerate(telling):
        free = [one for one in ones.flatten().tolist() if one not in counts]
        if free and number < n_samples:
            counts[number] = min(free, key=lambda one: abs(one - counts[number]))
    return torch.tensor(counts)


def _misfit(x: Tensor, valid: Tensor) -> str:
    """Why x is no input of so many samples and tokens; "" if it may be one."""
    if len(x) != len(valid):
        return f"{len(x)} inputs were made for {len(valid)} samples"
    if not may_have(x, valid.shape[1]):
        return (
            f"a picture {tuple(x.shape)} cannot be cut into {valid.shape[1]} square patches, with "
            "or without a token or two before them"
        )
    return ""
