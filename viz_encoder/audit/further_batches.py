"""FurtherBatches: other lengths, in another order, that a cause must explain as well."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from viz_encoder.audit.measure.setting import Case, ModelFault, Setting
from viz_encoder.errors import InputError

OTHER_LENGTH, OTHER_COUNTS = 13, (8, 13, 4, 10)  # neither sorted nor any order's neighbor


@dataclass(eq=False)
class FurtherBatches:
    """Made for the base case of an audit, once."""

    setting: Setting
    base: Case

    @cached_property
    def others(self) -> tuple[Case, ...]:
        """Other lengths in another order, padded on either side, which tell causes apart."""
        valid = torch.arange(OTHER_LENGTH) < torch.tensor(OTHER_COUNTS)[:, None]
        sides = [valid.flip(1), valid] if self.setting.left else [valid, valid.flip(1)]
        return self._made(sides if self.setting.pads else [torch.ones_like(valid)])

    def further(self, case: Case) -> tuple[Case, ...]:
        """The batches that a cause of what is wrong in this one has to explain as well.

        Not those on which an intent, made for padding on one side, says something else; and none
        that is padded as usual where padding on the other side is what is wrong.
        """
        others = [one for one in self.others if _is_same(one, self.others[0])]
        if self.base.padded and not case.padded:
            return self._without_padding(case)
        if _begins_padded(case) != _begins_padded(self.base):
            return tuple(one for one in others if _begins_padded(one) == _begins_padded(case))
        return tuple(one for one in (self.base, *others) if one is not case)

    def _without_padding(self, case: Case) -> tuple[Case, ...]:
        """Other batches without padding, as large as this one; of one sample, if it has one."""
        lengths = OTHER_LENGTH, OTHER_COUNTS[0]
        return self._made(torch.ones(len(case.valid), n, dtype=torch.bool) for n in lengths)

    def as_long_as(self, case: Case) -> tuple[Case, ...]:
        """Batches of this length and the next with other numbers of tokens, in another order."""
        found = []
        for length in (case.valid.shape[1], case.valid.shape[1] + 1):
            counts = torch.tensor(OTHER_COUNTS) * length // OTHER_LENGTH
            valid = torch.arange(length) < counts.clamp(min=1)[:, None]
            valid = valid.flip(1) if _begins_padded(case) else valid
            found.append(valid if case.padded else torch.ones_like(valid))
        return self._made(found)

    def _made(self, valids: Iterable[Tensor]) -> tuple[Case, ...]:
        """Those that can be made; of one batch alone there are no others."""
        found: list[Case] = []
        for one in () if self.setting.fixed else valids:
            with suppress(ModelFault, InputError):
                found.append(self.setting.case(one))
        return tuple(found)


def _begins_padded(case: Case) -> bool:
    return not bool(case.valid[:, 0].all())


def _is_same(one: Case, other: Case) -> bool:
    """Whether real tokens may attend to the same ones, on whichever side their padding stands."""
    return all(
        torch.equal(a[sample][real][:, real], b[sample][moved][:, moved])
        for a, b in zip(one.allowed, other.allowed, strict=True)
        for sample, (real, moved) in enumerate(zip(one.valid, other.valid, strict=True))
    )
