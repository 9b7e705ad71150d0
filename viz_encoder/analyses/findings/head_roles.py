"""Head roles: heads that keep to one kind of token, or are unlike the others of their layer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from viz_encoder.analyses.findings.finding import Finding, FindingKind
from viz_encoder.analyses.findings.measure import MeasuredHead, MeasuredLayer
from viz_encoder.analyses.findings.reading import RunTokens
from viz_encoder.analyses.findings.role_shares import amount_of

LEAST_QUERIES = 4  # over fewer, a mean is no habit
LEAST_APART = 0.5  # mean Jensen–Shannon distance of a head that is unlike the others
LEAST_ABOVE = 0.15  # and so much more than the median of its layer


@dataclass(frozen=True)
class Role:
    """A kind of token a head may attend to, in words for a sentence and for a chip."""

    kind: FindingKind
    what: str
    short: str
    offset: int = 0


@dataclass(frozen=True)
class _Share:
    """Share of a head's attention on a role; `even` is its share under uniform attention."""

    head: MeasuredHead
    mean: float
    even: float

    @property
    def excess(self) -> float:
        """The share above even attention, of what it could be above; 1 = all."""
        return (self.mean - self.even) / (1 - self.even) if self.even < 1 else 0.0


def roles_of(
    layers: Iterable[MeasuredLayer], reading: RunTokens, roles: Iterable[Role]
) -> list[Finding]:
    """Each role that some head keeps to, one finding a role, the clearest first.

    A head keeps to a role if, of what it could give it above even attention, it gives over half
    on average of the real queries that have such a key. (Chance-corrected as Cohen's κ, 1960: in a
    text of four tokens any one of them has a quarter.)
    """
    layers, found = tuple(layers), list[tuple[float, Finding]]()
    for role in roles:
        shares = [share for layer in layers for share in _shares(layer, reading, role)]
        clear = sorted(
            (share for share in shares if share.excess > 0.5),
            key=lambda share: share.mean,
            reverse=True,
        )
        if clear:
            found.append((clear[0].excess, _finding(role, clear, reading)))
    found.sort(key=lambda one: one[0], reverse=True)
    return [finding for _, finding in found]


def _shares(layer: MeasuredLayer, reading: RunTokens, role: Role) -> Iterator[_Share]:
    """The role's share of each head's attention; none where too few queries have such a key."""
    if not layer.own_keys:
        return
    asked = role.kind, role.offset
    total, count = amount_of(*asked, layer.sums)
    n_queries = int(count.max())
    if n_queries < LEAST_QUERIES:
        return
    even = amount_of(*asked, layer.even)[0].expand_as(total)
    means = ((each / n_queries).tolist() for each in (total, even))
    yield from map(_Share, layer.heads, *means)


def _finding(role: Role, clear: list[_Share], reading: RunTokens) -> Finding:
    best = clear[0]
    shown = {"first": reading.first, "delimiter": int(reading.delimiter.int().argmax())}
    place = f"{best.head.layer}.{best.head.head}"
    if len(clear) == 1:
        sentence = f"Head {place} gives {role.what} {best.mean:.2f} of its attention on average."
        chip = f"{place} {role.short} {best.mean:.2f}"
    else:
        sentence = (
            f"{len(clear)} heads give {role.what} over half of their attention; the clearest is "
            f"{place} ({best.mean:.2f})."
        )
        chip = f"{len(clear)} heads: {role.short}"
    return Finding(
        kind=role.kind,
        layer=best.head.layer,
        head=best.head.head,
        query=None,
        key=shown.get(role.kind),
        weight=best.mean,
        ratio=best.mean / best.even if best.even > 0 else None,
        sentence=sentence,
        chip=chip,
        heads=tuple((share.head.layer, share.head.head) for share in clear),
    )


def unlike(
    layers: Iterable[MeasuredLayer], reading: RunTokens, named: set[tuple[int, int]]
) -> list[Finding]:
    """The head that is most unlike the others of its layer, of those that no role has named."""
    found = list[tuple[float, Finding]]()
    if int(reading.real.sum()) < LEAST_QUERIES:
        return []
    for layer in layers:
        apart = layer.apart.tolist()
        usual = median(apart)
        for head, distance in zip(layer.heads, apart, strict=True):
            clear = distance >= LEAST_APART and distance - usual >= LEAST_ABOVE
            if clear and (head.layer, head.head) not in named:
                found.append((distance - usual, _unlike(head, distance, usual)))
    found.sort(key=lambda one: one[0], reverse=True)
    return [finding for _, finding in found[:1]]


def _unlike(head: MeasuredHead, distance: float, usual: float) -> Finding:
    place = f"{head.layer}.{head.head}"
    return Finding(
        kind="unlike",
        layer=head.layer,
        head=head.head,
        query=None,
        key=None,
        weight=distance,
        ratio=distance / usual,
        sentence=f"Head {place} is unlike the other heads in layer {head.layer}: its mean "
        f"Jensen–Shannon distance to them is {distance:.2f}; the median head's is {usual:.2f}.",
        chip=f"{place} unlike its layer",
        heads=((head.layer, head.head),),
    )
