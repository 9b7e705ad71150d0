"""Chooses the calls that make one trace: a stack of layers with equally sized maps, by name."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from viz_encoder.errors import TraceError
from viz_encoder.shown import counted
from viz_encoder.trace.recorded_call import RecordedCall, is_uneven, n_tokens_in, why_not_whole

Calls = list[RecordedCall]
MOST = 6  # most stacks or names in a message


class ChosenStack(NamedTuple):
    """Which part of a run is requested."""

    calls: Calls
    modules: Collection[str]
    within: str = ""
    cross: bool = False
    sample: int = 0
    keyed: bool = False  # key names were given for keys that are not the sequence's tokens
    full: str = ""  # how to make the model attend to all tokens, if possible
    unseen: str = ""  # attention that ran but is in none of the calls

    @property
    def meant(self) -> Calls:
        """Calls of the requested kind within the requested modules."""
        is_within = modules_within(self.within, self.modules)
        return [call for call in self.calls if call.cross == self.cross and is_within(call.name)]


def one_stack(chosen: ChosenStack) -> Calls:
    """Return the requested calls.

    Raises:
        TraceError: there are none, several stacks match, or no maps cover the whole sequence.
    """
    stacks = stacks_of(chosen.meant)
    if len(stacks) != 1:
        raise TraceError(_several(stacks, chosen) if stacks else _none(chosen))
    calls = stacks[0]
    if why := why_not_whole(calls[0]):
        raise TraceError(
            f"{calls[0].name!r} {why}, so this run shows no whole map of it.{chosen.full} What ran "
            "is in recording.calls, call by call."
        )
    if why := _uneven(calls[0], chosen):
        raise TraceError(why)
    n_samples, _, n_tokens, n_keys = calls[0].shape
    if not n_samples or not n_tokens or not n_keys:
        raise TraceError(
            f"There is nothing to show: the model was run on {n_samples} samples of "
            f"{min(n_tokens, n_keys)} tokens. Record a run with at least one token."
        )
    if not 0 <= chosen.sample < n_samples:
        raise TraceError(
            f"There is no sample {chosen.sample}; this run has samples 0 to {n_samples - 1}."
        )
    return calls


def stacks_of(calls: Calls) -> list[Calls]:
    """Group calls with equal sizes and names equal up to the first number.

    Calls without whole maps form their own stack, and so does each kind of attention in blocks that
    have several, such as temporal and spatial.
    """
    groups: dict[object, Calls] = defaultdict(list)
    for call in calls:
        sizes = kind(call.name) if why_not_whole(call) else (call.shape[0], *call.shape[2:])
        groups[stem(call.name), sizes].append(call)
    return [stack for group in groups.values() for stack in _by_kind(group)]


def _by_kind(calls: Calls) -> list[Calls]:
    kinds: dict[str, Calls] = defaultdict(list)
    in_block: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        kinds[kind(call.name)].append(call)
        in_block[block(call.name)].add(kind(call.name))
    several = any(len(found) > 1 for name, found in in_block.items() if name)
    return list(kinds.values()) if several else [calls]


def _none(chosen: ChosenStack) -> str:
    inside = f"within {chosen.within!r}" if chosen.within else "at all"
    names = _listed([call.name for call in chosen.calls])
    said = f"This run has no {_attention(chosen.cross)} {inside}; it has {names}."
    flipped = chosen._replace(cross=not chosen.cross)
    ways = _ways(flipped) or _ways(chosen._replace(within="")) or _ways(flipped._replace(within=""))
    return f"{said} Choose {ways[0]}." if ways else said


def _several(stacks: list[Calls], chosen: ChosenStack) -> str:
    said = (
        f"This run has {_attention(chosen.cross)} of several kinds or over several sequences, and "
        "a trace shows one stack of layers."
    )
    parts = {kind(stack[0].name): why_not_whole(stack[0]) for stack in stacks}
    said += "".join(f" {name!r} {why}." for name, why in parts.items() if why)
    if not (ways := _ways(chosen)):
        names = _listed(list(parts))
        return f"{said} No name chooses one of {names}; look at recording.calls, call by call."
    more = f"; {len(ways) - MOST} more" if len(ways) > MOST else ""
    return f"{said} Choose {'; '.join(ways[:MOST])}{more}."


def _ways(chosen: ChosenStack) -> list[str]:
    """How to select each stack, each verified first; token-by-token stacks come first."""
    stacks = stacks_of(chosen.meant)
    each = (_way(stack, chosen) for stack in sorted(stacks, key=lambda one: is_uneven(one[0])))
    return [way for way in each if way]


def _way(stack: Calls, chosen: ChosenStack) -> str:
    if why_not_whole(stack[0]):
        return ""
    for within in patterns_for([call.name for call in stack], chosen.modules):
        if stacks_of(chosen._replace(within=within).meant) == [stack]:
            break
    else:
        return ""
    keyed = is_uneven(stack[0]) and not chosen.cross
    given = [f"within={literal(within)}"] if within else []
    given += ["cross=True"] * chosen.cross + ["key_tokens=[…]"] * keyed
    rows, columns = stack[0].shape[2:]
    sizes = f"{counted(len(stack), 'layer')} of {rows:,} × {columns:,}"
    return f"recording.trace({', '.join(given)}) for {sizes}"


def _uneven(call: RecordedCall, chosen: ChosenStack) -> str:
    """Why this map is not shown: its keys are other tokens, or key_tokens was not needed."""
    n_samples, _, n_queries, n_keys = call.shape
    if chosen.cross or chosen.keyed == is_uneven(call):
        return ""
    if chosen.keyed:
        return (
            "key_tokens names keys that are other tokens than the queries, as in cross-attention; "
            "here the keys are the tokens, which tokens= names."
        )
    n_tokens = n_tokens_in(call.given, n_samples) or n_queries
    if n_queries < n_tokens:
        why = (
            f"of the {counted(n_tokens, 'token')} that it was given, only some (or summaries "
            "of them) are queries, as with a class token, landmarks or global "
            f"attention{chosen.unseen}"
        )
    elif n_queries < n_keys:
        why = (
            "there are keys of other tokens, as with a KV cache. For whole maps, record one plain "
            "forward pass of the whole sequence (in transformers, use_cache=False)"
        )
    else:
        why = "keys are summaries of several tokens"
    asked = counted(n_queries, "query", "queries")
    return (
        f"{call.name!r} attended with {asked} × {counted(n_keys, 'key')}, so its "
        f"maps are not of each token by each token: {why}. To see them as they are, give each key "
        f"a name of its own: recording.trace(key_tokens=[…]), {counted(n_keys, 'name')}."
    )


def _attention(cross: bool) -> str:
    return "cross-attention" if cross else "self-attention"


def _listed(names: list[str]) -> str:
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return ", ".join(repr(name) for name in listed[:MOST]) + more


NUMBERED = re.compile(r"(?:.*_)?\d+")  # "3", "encoder_layer_3"


def modules_within(within: str, modules: Collection[str]) -> Callable[[str], bool]:
    """Build a predicate on module names.

    Raises:
        TraceError: it is neither a module name nor a regular expression.
    """
    if not within:
        return lambda name: True
    if within in modules:
        return lambda name: f"{name}.".startswith(f"{within}.")
    try:
        found = re.compile(within).search
    except (re.error, TypeError) as fault:
        raise TraceError(
            f"within is {within!r}, which is neither the name of a module nor a regular "
            f"expression ({fault})."
        ) from None
    return lambda name: found(name) is not None


def patterns_for(names: Sequence[str], modules: Collection[str]) -> Iterator[str]:
    """Patterns that may select these names, simplest first: none, a module, a word, a regex."""
    parts = [name.split(".") for name in names]
    columns = [tuple(dict.fromkeys(column)) for column in zip(*parts, strict=False)]
    shared = next((n for n, column in enumerate(columns) if len(column) > 1), len(columns))
    yield ""
    yield from (name for name in map(".".join, _beginnings(parts[0][:shared])) if name in modules)
    yield from (column[0] for column in columns if len(column) == 1 and not _number_of(column[0]))
    for one in (_any_number, _one_of):
        yield from (rf"^{start}" for start in map(r"\.".join, _beginnings([*map(one, columns)])))
    yield f"^{_one_of(tuple(dict.fromkeys(names)))}$"


def _beginnings(parts: list[str]) -> Iterator[list[str]]:
    return (parts[:end] for end in range(1, len(parts) + 1))


def _any_number(column: tuple[str, ...]) -> str:
    escaped = re.escape(column[0])
    return escaped if len(column) == 1 else re.sub(r"\d+$", lambda _: r"\d+", escaped)


def _one_of(column: tuple[str, ...]) -> str:
    each = "|".join(map(re.escape, column))
    return each if len(column) == 1 else f"({each})"


def literal(pattern: str) -> str:
    """The pattern as a Python literal."""
    return f"r'{pattern}'" if "\\" in pattern else repr(pattern)


def stem(name: str) -> str:
    """A name up to its first number, or without its last part if it has none."""
    parts = name.split(".")
    return ".".join(parts[: next((n for n, part in enumerate(parts) if _number_of(part)), -1)])


def block(name: str) -> str:
    """A name up to and including its last number."""
    parts = name.split(".")
    return ".".join(
        parts[: max((n + 1 for n, part in enumerate(parts) if _number_of(part)), default=0)]
    )


def kind(name: str) -> str:
    """A name with its numbers replaced by *."""
    parts = name.split(".")
    return ".".join(re.sub(r"\d+$", "*", part) if _number_of(part) else part for part in parts)


def _number_of(part: str) -> bool:
    return NUMBERED.fullmatch(part) is not None
