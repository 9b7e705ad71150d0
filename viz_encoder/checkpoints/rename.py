"""Tensor names: from a checkpoint's own to ours, by tables of two columns; strict both ways."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from viz_encoder.checkpoints.files import printable
from viz_encoder.errors import KeyMismatch

UNUSED, BUFFER = "-", "buffer"  # on our side: a tensor that is not loaded
OLD_NORM_NAMES = {"gamma": "weight", "beta": "bias"}  # BERT's first checkpoints
SHOWN = 6
LONGEST_NAME = 120


class RenameRule(NamedTuple):
    """One line of a rename table."""

    pattern: re.Pattern[str]
    target: str
    stem: str  # the name on disk, without its last .*
    words: str  # describes a tensor that is not loaded

    @property
    def loaded(self) -> bool:
        """Whether the encoder takes such a tensor."""
        return self.target not in (UNUSED, BUFFER)


class Names:
    """Maps each tensor on disk to our names: none if unused, several if fused."""

    def __init__(self, tables: Iterable[str], prefixes: tuple[str, ...]) -> None:
        """The rules of all tables in order, of which the first that matches a name counts."""
        lines = [line for table in tables for line in table.splitlines() if line.strip()]
        self._rules = [_rule(line) for line in lines]
        self._prefixes = prefixes
        self._found: dict[str, tuple[RenameRule | None, dict[str, str | None]]] = {}

    def targets(self, name: str) -> list[str] | None:
        """Our names for a tensor; None if no rule knows it."""
        rule, parts = self._matched(name)
        if rule is None or not rule.loaded:
            return None if rule is None else []
        filled = rule.target.replace("#", parts.get("layer") or "#")
        return _split(filled.replace("*", parts.get("kind") or "*"))

    def unused(self, names: Iterable[str]) -> dict[str, str]:
        """The learned tensors that are known and not loaded: their stems, and what they are."""
        rules = (self._matched(name)[0] for name in names)
        return {rule.stem: rule.words for rule in rules if rule and rule.target == UNUSED}

    def plain(self, name: str) -> str:
        """The name on disk as the tables have it, without what heads put before it."""
        return _plain(name, self._prefixes)

    def _matched(self, name: str) -> tuple[RenameRule | None, dict[str, str | None]]:
        """The first rule that matches, and the layer and the kind that it found in the name."""
        if name not in self._found:  # each is asked for several times
            plain = self.plain(name)
            matches = ((rule, rule.pattern.fullmatch(plain)) for rule in self._rules)
            first = next(((rule, match.groupdict()) for rule, match in matches if match), None)
            self._found[name] = first or (None, {})
        return self._found[name]

    def needed(self, names: Iterable[str]) -> list[str]:
        """The names whose tensors must be read; names that no rule knows are refused."""
        targets = {name: self.targets(name) for name in names}
        unknown = [name for name, found in targets.items() if found is None]
        if unknown:
            raise KeyMismatch(
                f"The file holds tensors that its family does not know: {_list(unknown)}"
            )
        return [name for name, found in targets.items() if found]

    def rename(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors under our names; the same tensor under two spellings is taken once."""
        whole = [k for k, t in tensors.items() if self.targets(k) and not t.is_floating_point()]
        if whole:
            raise KeyMismatch(f"The file holds tensors that are not floating point: {_list(whole)}")
        renamed: dict[str, Tensor] = {}
        second: dict[str, Tensor] = {}
        twins: list[str] = []
        for name, tensor in tensors.items():
            targets = self.targets(name) or []
            parts = tensor.chunk(len(targets)) if len(targets) > 1 else [tensor] * len(targets)
            if len(parts) != len(targets):
                raise KeyMismatch(f"{name} cannot be split into {len(targets)} parts.")
            for target, part in zip(targets, parts, strict=True):
                if target.endswith("?"):  # yields to another tensor
                    second[target.removesuffix("?")] = part
                    continue
                if target in renamed and not _same(renamed[target], part):
                    twins.append(name)
                renamed[target] = part
        if twins:
            raise KeyMismatch(f"The file holds tensors twice, under two spellings: {_list(twins)}")
        return {**second, **renamed}


def require_match(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse anything missing, unexpected or of the wrong shape, all in one sentence."""
    faults = []
    if missing := sorted(expected.keys() - found.keys()):
        faults.append(f"missing: {_list(missing)}")
    if unexpected := sorted(found.keys() - expected.keys()):
        faults.append(f"unexpected: {_list(unexpected)}")
    both = sorted(expected.keys() & found.keys())
    if wrong := [_shapes(k, found, expected) for k in both if found[k].shape != expected[k].shape]:
        faults.append(f"wrong shape: {_list(wrong)}")
    if faults:
        raise KeyMismatch(
            f"The tensors do not fit config.json. {'; '.join(faults)} "
            "Check that config.json and the weights belong together."
        )


@cache
def _rule(line: str) -> RenameRule:
    source, target, *words = line.split(maxsplit=2)
    any_name = ".+" if target in (UNUSED, BUFFER) else "(?P<kind>weight|bias)"
    pattern = re.escape(source).replace(r"\#", r"(?P<layer>\d+)", 1).replace(r"\*", any_name)
    return RenameRule(
        re.compile(pattern), target, source.removesuffix(".*"), "".join(words).strip()
    )


def _split(target: str) -> list[str]:
    """layers.0.attn.q|k|v.weight → one name for each of q, k and v."""
    if "|" not in target:
        return [target]
    words = target.split(".")
    at = next(i for i, word in enumerate(words) if "|" in word)
    return [".".join([*words[:at], part, *words[at + 1 :]]) for part in words[at].split("|")]


def _plain(name: str, prefixes: tuple[str, ...]) -> str:
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    stem, _, last = name.rpartition(".")
    return f"{stem}.{OLD_NORM_NAMES[last]}" if last in OLD_NORM_NAMES else name


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(torch.equal(a, b))


def _shapes(key: str, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str:
    return f"{key} is {tuple(found[key].shape)}, not {tuple(expected[key].shape)}"


def _list(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(printable(name)[:LONGEST_NAME] for name in names[:SHOWN]) + more + "."
