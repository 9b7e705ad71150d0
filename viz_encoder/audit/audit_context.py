"""AuditContext: the model, the case and all that was measured once for several checks."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.further_batches import FurtherBatches
from viz_encoder.audit.measure.changes import first_nonfinite, gap, with_changed
from viz_encoder.audit.measure.fixed_keys import fixed_keys
from viz_encoder.audit.measure.gradients import Gradients, NoGradient, gradients_of, real_rows
from viz_encoder.audit.measure.maps import Maps, maps_of
from viz_encoder.audit.measure.reach import Allowed, may_know, must_know, pattern_in
from viz_encoder.audit.measure.second_call import SecondCall, second_call
from viz_encoder.audit.measure.setting import LONG, TOLERANCE, Case, ModelFault, Setting
from viz_encoder.audit.measure.subject import Subject, rows_of_embedding
from viz_encoder.audit.measure.token_axis import has_tokens
from viz_encoder.audit.report import Check, Verdict
from viz_encoder.errors import InputError

Measured = TypeVar("Measured")
ALL_ROWS = 32  # up to this length every row is differentiated; above it, so many are chosen
ROWS_IF_LONG = 8


@dataclass(eq=False)
class AuditContext:
    """Shared by the checks of one audit."""

    subject: Subject
    setting: Setting
    scope: AuditScope = field(default_factory=AuditScope)
    given_layers: int | None = None
    was_training: bool = False
    first_side: "AuditContext | None" = None  # of which this is the other side
    is_deeper: bool = False  # more layers are supposed to attend than were seen
    unwatched: int = 0  # calls of attention outside the module that the caller gave
    answers: dict[str, Check] = field(default_factory=dict)
    _known: WeakKeyDictionary[Case, dict[int, Allowed]] = field(default_factory=WeakKeyDictionary)
    _maps: WeakKeyDictionary[Case, dict[tuple[bool, ...], Maps]] = field(
        default_factory=WeakKeyDictionary
    )
    _measured: dict[tuple[Callable[..., Any], Case], Any] = field(init=False, default_factory=dict)

    def but(self, **changes: Any) -> "AuditContext":
        """The same with these changed, and with all that was measured so far."""
        other = copy(self)
        vars(other).update(changes)
        return other

    def once(self, measure: Callable[..., Measured], case: Case, *given: Any) -> Measured:
        """What this measures of a case, kept for who lists what was measured."""
        if (measure, case) not in self._measured:
            self._measured[measure, case] = measure(self, case, *given)
        return cast("Measured", self._measured[measure, case])

    def all_of(self, measure: Callable[..., Measured]) -> list[Measured]:
        """What this has measured, in order."""
        return [found for (by, _), found in self._measured.items() if by is measure]

    @property
    def stopped(self) -> str:
        """Why nothing more can be asked, as a check has said; "" if it can."""
        return next((one.learned.stops for one in self.answers.values() if one.learned.stops), "")

    @property
    def noise(self) -> float:
        """How much samples differ in a batch and alone, without any padding, as far as is known."""
        return max((one.learned.noise for one in self.answers.values()), default=0.0)

    @property
    def more_layers(self) -> bool:
        """Whether more may attend than were seen, so that their number is unknown."""
        told = any(one.learned.deeper for one in self.answers.values())
        return (
            told or self.is_deeper or (self.first_side is not None and self.first_side.more_layers)
        )

    @cached_property
    def base(self) -> Case:
        """The case that everything is tried on first."""
        return self.setting.base()

    @cached_property
    def full(self) -> Case:
        """The base case without padding."""
        return self.setting.case(torch.ones_like(self.base.valid), x=None)

    @cached_property
    def batches(self) -> FurtherBatches:
        """The batches that a cause of what is wrong in one has to explain as well."""
        return FurtherBatches(self.setting, self.base)

    @cached_property
    def other_side(self) -> "AuditContext | None":
        """Copy with padding before the tokens, if both sides are to be judged."""
        if self.setting.padding_side != "both" or self.setting.given is not None:
            return None
        left = replace(self.setting, padding_side="left")
        return replace(self, setting=left, answers={}, first_side=self)

    @cached_property
    def other_lengths(self) -> tuple[int, ...]:
        """The lengths that are tried besides that of the base case.

        Of a batch that the caller chose, without lengths, the intent need not say any other.
        """
        if self.setting.fixed:
            return ()
        wanted = self.scope.other_lengths(self.setting.first_valid().shape[1])
        return tuple(one for one in wanted if self.was_asked_for(one) or self._is_meant_at(one))

    def _is_meant_at(self, length: int) -> bool:
        with suppress(InputError):
            return bool(self.setting.allowed(self.setting.padding(length)))
        return False

    def was_asked_for(self, length: int) -> bool:
        """Whether the model must be right at this length.

        Any length counts, unless the caller chose lengths or gave a batch. Then only those do: a
        structure, such as frames or a picture before a text, need not exist at other lengths.
        """
        first, scope = self.setting.first_valid().shape[1], self.scope
        asked = () if scope.leaves_lengths_open else scope.other_lengths(first)
        chosen = self.setting.given is not None or bool(scope.lengths)
        return not chosen or length in (first, *asked)

    def other_cases(self, *, padded: bool = True) -> Iterator[tuple[Case, Tensor]]:
        """A batch of each other length that the model takes, and its output.

        None where the model itself is wrong at one of them, which explains what any check would
        find.
        """
        for length in () if self.failed("lengths") else self.other_lengths:
            valid = self.setting.padding(length)
            with suppress(ModelFault):
                case = self.setting.case(valid if padded else torch.ones_like(valid))
                yield case, self.subject.run(case)

    @cached_property
    def out(self) -> Tensor:
        """The output on the base case, by itself without gradients."""
        return self.subject.run(self.base).detach()

    def require_runs(self, told: str, instead: str) -> None:
        """Check that the base case runs where only the signature says how to call the model.

        Raises:
            InputError: it does not run.
        """
        try:
            _ = self.out
        except ModelFault as fault:
            known = self.base.x.is_floating_point() and rows_of_embedding(self.subject.whole)
            ids = f"If it takes token ids, give AuditInputs(vocab_size={known}). " if known else ""
            raise InputError(f"{told} It raised {fault}. {ids}Or say how: {instead}") from fault

    @cached_property
    def second(self) -> SecondCall:
        """Another call on it, and what that changes of its tensors."""
        return second_call(self.subject, self.base)

    @cached_property
    def is_nonfinite(self) -> bool:
        """Whether a real row of the base case is NaN or inf, so that comparing it tells nothing."""
        return first_nonfinite(self.out, self.base) is not None

    @cached_property
    def maps(self) -> Maps:
        """The maps of the base case, without gradients."""
        found = maps_of(self.subject, self.base)
        seen = (*found.layers, *found.cross)
        missed = self.scope.cross is not None and not found.memories  # of as many keys as tokens
        odd = found.left_out or any(one.by_hand or one.has_more_keys for one in seen)
        if not missed and not odd:
            return found
        valid = self.setting.padding(self.base.valid.shape[1] + 4)
        with suppress(ModelFault, InputError):  # a model, or an intent, of one length only
            longer = self.setting.case(valid)
            crossed = self.crossed(self.base.valid)
            declared = None if crossed is None else tuple(crossed.shape[1:])
            self.subject.fixed_keys |= fixed_keys(self.subject, self.base, longer, declared)
        return maps_of(self.subject, self.base) if self.subject.fixed_keys else found

    def maps_on(self, case: Case, *, flat: bool = False) -> Maps:
        """Maps of any case, made once; with weights so small that all scores are nearly equal."""
        kept, key = (
            self._maps.setdefault(case, {}),
            (flat, self.subject.reorders, self.subject.bare),
        )
        if key not in kept:
            with self.subject.flattened() if flat else nullcontext():
                kept[key] = maps_of(self.subject, case)
        return kept[key]

    @cached_property
    def memory_is_apart(self) -> bool:
        """Whether cross-attention looks at no token of the input, and so lets none know another."""
        changed = with_changed(self.base, torch.ones_like(self.base.valid))
        both = [maps_of(self.subject, one).cross for one in (self.base, changed)]
        return len(both[0]) == len(both[1]) and all(
            one.ran.v.shape[3] > 0 and torch.equal(one.ran.v, other.ran.v)
            for one, other in zip(*both, strict=True)
        )

    @cached_property
    def gradients(self) -> Gradients | str:
        """Gradients for every real row of the base case, or the reason there are none."""
        return self.gradients_on(self.base)

    def gradients_on(self, case: Case, most: int = 0) -> Gradients | str:
        """Gradients for the real rows (above 32 tokens, some of them), or why there are none."""
        n_tokens = case.valid.shape[1]
        some = ROWS_IF_LONG if n_tokens > LONG else ALL_ROWS if n_tokens > ALL_ROWS else 0
        rows = real_rows(case, min(most, some) if most and some else most or some)
        if self.is_pooled:
            rows = [(sample, 0) for sample in range(len(case.valid))]
        try:
            return gradients_of(self.subject, case, rows, seed=self.setting.seed)
        except NoGradient as why:
            return str(why)

    @property
    def is_pooled(self) -> bool:
        """Whether the model gives one row a sample."""
        return self.out.ndim == 2

    @property
    def n_layers(self) -> int | None:
        """The given number, or the number of intents, or of maps; None if it cannot be known."""
        if self.given_layers:
            return self.given_layers
        if len(self.setting.intents) > 1:
            return len(self.setting.intents)
        unknown = self.more_layers or self.maps.unseen
        return None if unknown else len(self.maps.layers) or None

    def may(self, case: Case) -> Allowed:
        """Tokens allowed to influence each output row; after any number of layers, if unknown."""
        n_layers = self.n_layers or case.valid.shape[1]
        kept = self._known.setdefault(case, {})
        if n_layers not in kept:
            kept[n_layers] = self._may(case, n_layers)
        return kept[n_layers]

    def _may(self, case: Case, n_layers: int) -> Allowed:
        known = may_know(case.allowed, n_layers)
        if self.maps.cross and not self.memory_is_apart:
            known = known | self._by_cross(case)
        return _pool(known, case) if self.is_pooled else known

    def _by_cross(self, case: Case) -> Allowed:
        """Tokens that may influence a token by cross-attention: all real ones of the memory."""
        crossed = self.crossed(case.valid)
        n_tokens = case.valid.shape[1]
        if crossed is None or crossed.shape[1:] != (n_tokens, n_tokens):
            return case.valid[:, None, :].expand_as(case.allowed[0])
        return may_know([one | crossed for one in case.allowed], n_tokens)

    def crossed(
        self, valid: Bool[Tensor, "batch token"]
    ) -> Bool[Tensor, "batch query memory"] | None:
        """Declared cross-attention mask.

        Raises:
            InputError: it is no Bool "batch query memory".
        """
        if self.scope.cross is None:
            return None
        given = self.scope.cross(valid)
        if not isinstance(given, Tensor) or given.dtype != torch.bool or given.ndim != 3:
            what = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
            raise InputError(
                f"AuditScope(cross=…) gave {what}; it must give a torch.bool tensor (batch, query, "
                "memory) in which True = may attend."
            )
        return given.to(valid.device).expand(len(valid), -1, -1)

    def documents(self, case: Case) -> Int[Tensor, "batch token"]:
        """The document of each token: as given, or as the intent links tokens."""
        if callable(self.scope.documents):
            return self.scope.documents(case.valid)
        linked = self.must(case)
        whole = linked | linked.mT
        for _ in range(case.valid.shape[1].bit_length()):
            whole = (whole.float() @ whole.float()) > 0
        first = whole.float().argmax(dim=-1)
        return torch.stack([row.unique(return_inverse=True)[1] for row in first])

    @property
    def widened(self) -> str:
        """Why outputs were held against less than the intent forbids; "" if they were not."""
        if self.scope.cross is None and self.maps.cross and not self.memory_is_apart:
            return (
                " That leaves out real tokens of the same sample: cross-attention, of which "
                "nothing is said, may carry any of them."
            )
        if self.n_layers is None:
            return (
                " That leaves out what a token may know of over any number of layers, because "
                "nothing shows how many there are: give n_layers=."
            )
        return ""

    def must(self, case: Case) -> Allowed:
        """Tokens meant to influence each output row; after one layer, if unknown."""
        return must_know(case.allowed, self.n_layers or 1)

    @property
    def grad_fault(self) -> str:
        """Exception the model raises only with gradients on; "" if none."""
        return self.grad_out if isinstance(self.grad_out, str) else ""

    @cached_property
    def grad_out(self) -> Tensor | str:
        """The output on the base case with gradients on, or what it raises there alone."""
        _ = self.out
        try:
            return self.subject.run(self.base, grad=True).detach()
        except ModelFault as fault:
            return str(fault)

    @property
    def has_tokens(self) -> bool:
        """Whether each token can be told from the others in the input."""
        return has_tokens(self.base.x, self.base.valid.shape[1])

    def pattern(self, case: Case, layer: int = 0) -> Allowed:
        """The intent of a layer without any padding."""
        if self.setting.fixed:
            return pattern_in(self.intent(case, layer), case.valid)
        whole = self.setting.allowed(torch.ones_like(case.valid), case.x)
        return whole[layer if len(whole) > 1 else 0]

    def intent(self, case: Case, layer: int) -> Allowed:
        """The intent of a layer."""
        return case.allowed[layer if len(case.allowed) > 1 else 0]

    def misses(self, lost: Tensor) -> bool:
        """Whether any of these pairs is missing: none is if attention may leave out any."""
        return not self.scope.may_leave_out and bool(lost.any())

    def tolerance(self, out: Tensor) -> float:
        """The largest difference that is still rounding: T of the output's scale."""
        # Weights may be half precision inside a model that takes and gives float32.
        dtypes = out.dtype, self.subject.dtype
        tol = max(TOLERANCE.get(one, 1e-5) for one in dtypes)
        finite = out.detach()[out.detach().isfinite()].double().abs()
        if not finite.numel():
            return max(tol, min(10 * self.noise, 50 * tol))
        scale = max(1.0, float(finite.median()))
        # The largest value may be rounded the other way twice: by two of its own steps.
        steps = 2 * max(torch.finfo(one).eps for one in dtypes) * float(finite.max())
        noise = min(10 * self.noise, 50 * tol * scale)
        return max(tol * scale, noise, steps, min(2 * self._rounding, 3 * tol * scale))

    @cached_property
    def _rounding(self) -> float:
        """Distance between half-precision and float32 output with the same weights."""
        if self.subject.dtype not in (torch.float16, torch.bfloat16):
            return 0.0
        x = self.base.x
        case = replace(self.base, x=x.float() if x.is_floating_point() else x)
        with suppress(ModelFault), self.subject.weights(lambda weight: weight.float()):
            apart = gap(self.subject.run(case), self.out, self.base.valid)
            return apart.amount if math.isfinite(apart.amount) else 0.0
        return 0.0

    def failed(self, *names: str) -> bool:
        """Whether any of these checks, or of these kinds of evidence, is red."""
        named = [self.answers.get(name) for name in names]
        named += [one for one in self.answers.values() if one.proves in names]
        return any(one is not None and one.verdict.is_red for one in named)

    def judged(self, part: str) -> tuple[Check, ...]:
        """The answers of the checks that judge this part of a model."""
        return tuple(one for one in self.answers.values() if one.part == part)

    def passed(self, *names: str) -> bool:
        """Whether all of these checks passed."""
        return all(n in self.answers and self.answers[n].verdict is Verdict.PASS for n in names)


def _pool(known: Allowed, case: Case) -> Allowed:
    """Pool to one row per sample: all that any of its real tokens may know."""
    return (known & case.valid[:, :, None]).any(dim=1, keepdim=True)
