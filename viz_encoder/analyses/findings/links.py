"""Links: pairs of words that a head singles out."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from viz_encoder.analyses.findings.finding import Finding
from viz_encoder.analyses.findings.measure import NEAR, MeasuredHead, MeasuredLayer
from viz_encoder.analyses.findings.reading import RunTokens
from viz_encoder.shown import LETTERS, isolated, quoted

# Above what untrained encoders reach, those of torch's own scale and those of N(0, 0.02²).
LEAST_WEIGHT = 0.3
LEAST_RATIO = 2.0
LEAST_SCORE = 0.6
OF_ONE_HEAD = 2  # a third link of a head says nothing new
ALSO = 3  # heads that a sentence names beside its own
Ranked = tuple[bool, float, Finding]  # from a masked place, the score, the link


def links(
    layers: Iterable[MeasuredLayer], reading: RunTokens, by_place: set[tuple[int, int]]
) -> list[Finding]:
    """The most telling links, best first; those from a place that the model has to guess lead.

    No pair is named twice, and no head three times. `findings` says what the score is. Heads in
    `by_place` keep to an offset; what they look at nearby is no link.
    """
    ranked = [
        one
        for layer in layers
        for head in layer.heads
        for one in _of(head, layer, reading)
        if (head.layer, head.head) not in by_place or not _is_near(one[2])
    ]
    ranked.sort(key=lambda one: one[:2], reverse=True)
    by_pair = dict[tuple[int | None, int | None], list[Finding]]()
    for _, _, link in ranked:
        by_pair.setdefault((link.query, link.key), []).append(link)
    chosen, heads = list[Finding](), Counter[tuple[int, int]]()
    for first, *others in by_pair.values():
        if heads[first.layer, first.head] < OF_ONE_HEAD:
            chosen.append(_together(first, others))
            heads[first.layer, first.head] += 1
    return chosen


def _together(first: Finding, others: list[Finding]) -> Finding:
    """Merge findings of one pair; the first names the other heads that link it."""
    if not others:
        return first
    told, more = others[:ALSO], len(others) - ALSO
    also = ", ".join(f"{one.layer}.{one.head} ({one.weight:.2f})" for one in told)
    also += f" and {more} more" if more > 0 else ""
    return replace(
        first,
        sentence=f"{first.sentence} So {'does' if len(others) == 1 else 'do'} {also}.",
        heads=first.heads + tuple((one.layer, one.head) for one in others),
    )


def _is_near(link: Finding) -> bool:
    return abs((link.query or 0) - (link.key or 0)) <= NEAR


def _of(head: MeasuredHead, layer: MeasuredLayer, reading: RunTokens) -> Iterator[Ranked]:
    """The links of one head that stand out, one a query at most."""
    found, n_real = head.links, float(reading.real.sum())
    means = head.to_key / n_real
    ratios = found.weight / means[found.key].clamp_min(1e-30)
    clear = (found.score >= LEAST_SCORE) & (found.weight >= LEAST_WEIGHT) & (ratios >= LEAST_RATIO)
    equal = _repeated(reading.names), _repeated(layer.key_names)
    for query in clear.nonzero().flatten().tolist():
        key = int(found.key[query])
        of_query, of_key = reading.names[query], layer.key_names[key]
        names = _Name(of_query, query, of_query in equal[0]), _Name(of_key, key, of_key in equal[1])
        numbers = float(found.weight[query]), float(ratios[query])
        link = _link(head, (query, key), names, *numbers)
        yield reading.masked[query], float(found.score[query]), link


class _Name(NamedTuple):
    """A token as a finding names it: with its number where another one is called the same."""

    text: str
    token: int
    repeated: bool

    @property
    def _cut(self) -> str:
        return self.text if len(self.text) <= LETTERS else f"{self.text[:LETTERS]}…"

    @property
    def said(self) -> str:
        return quoted(self._cut) + (f" (token {self.token})" if self.repeated else "")

    @property
    def short(self) -> str:
        return isolated(self._cut) + (f" ({self.token})" if self.repeated else "")


def _repeated(names: tuple[str, ...]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _link(
    head: MeasuredHead,
    pair: tuple[int, int],
    names: tuple[_Name, _Name],
    weight: float,
    ratio: float,
) -> Finding:
    place = f"{head.layer}.{head.head}"
    query, key = names
    return Finding(
        kind="link",
        layer=head.layer,
        head=head.head,
        query=pair[0],
        key=pair[1],
        weight=weight,
        ratio=ratio,
        sentence=f"Head {place} links {query.said} to {key.said}: {weight:.2f} of its attention, "
        f"{ratio:.1f} times the average.",
        chip=f"{place} {query.short} → {key.short} {weight:.2f}",
        heads=((head.layer, head.head),),
    )
