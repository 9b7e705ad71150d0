"""The leaf an output is differentiated by: x itself, or the embeddings of its ids."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.audit.measure.changed_tokens import content_of
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject

NOT_EMBEDDED = (
    "no nn.Embedding was called with these ids, as a batch, sample by sample or in one row; embed "
    "them yourself, model(table(ids), passed), or give the module that holds it, module="
)


@dataclass(eq=False)
class Leaf:
    """The tensor to differentiate by, and of which tokens the model has made use."""

    case: Case
    values: Float[Tensor, "batch token ..."] | None = None
    used: Bool[Tensor, "batch token"] | None = None
    table: nn.Module | None = None

    @property
    def whole(self) -> Tensor | None:
        """The leaf, or None if a real token was unused."""
        if self.used is None:
            return self.values
        return self.values if bool(self.used[self.case.valid].all()) else None

    def catch(self, table: nn.Module, args: tuple[Tensor, ...], out: Tensor) -> Tensor | None:
        """Return rows of the leaf for these ids; None for other ids."""
        places = self._places(args[0]) if args and self.table in (None, table) else None
        if places is None:
            return None
        if self.values is None or self.used is None:
            with torch.no_grad():
                self.values = table.forward(self.case.x).detach()
            self.values.requires_grad_(True)
            self.table, self.used = table, torch.zeros_like(places)
        self.used = self.used | places
        found = self.values if bool(places.all()) else self.values[places]
        return found.view_as(out)

    def _places(self, ids: Tensor) -> Bool[Tensor, "batch token"] | None:
        """The tokens whose ids these are; None if they may be others as well."""
        found: list[Tensor] = []
        for places in self._ways():
            same = torch.equal(ids.flatten(), self.case.x[places].flatten())
            if same and not any(places.equal(one) for one in found):
                found.append(places)
        return found[0] if len(found) == 1 else None

    def _ways(self) -> Iterator[Bool[Tensor, "batch token"]]:
        """All tokens or the real ones, of all samples or of one."""
        valid = self.case.valid
        yield from (torch.ones_like(valid), valid)
        for row in torch.eye(len(valid), dtype=torch.bool, device=valid.device):
            yield from (row[:, None].expand_as(valid), row[:, None] & valid)


@contextmanager
def leaf_of(subject: Subject, case: Case) -> Iterator[tuple[Tensor, Leaf]]:
    """Input for the model, and the tensor to differentiate by: x itself, or embedded ids."""
    content = content_of(case)
    given = case.x if content is None else content
    if given.is_floating_point():
        x = given.clone().requires_grad_(True)
        yield x, Leaf(case, x)
        return
    leaf = Leaf(replace(case, x=given))
    tables = [one for one in subject.whole.modules() if isinstance(one, nn.Embedding)]
    hooks = [one.register_forward_hook(leaf.catch) for one in tables]
    try:
        yield given, leaf
    finally:
        for hook in hooks:
            hook.remove()
