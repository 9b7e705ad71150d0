"""Tensor names: from a checkpoint's own to ours, by a table of two columns; strict both ways."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from viz_encoder.checkpoints.family import Family
from viz_encoder.errors import KeyMismatch

Rule = tuple[re.Pattern[str], str]
OLD_NORM_NAMES = {"gamma": "weight", "beta": "bias"}  # BERT's first checkpoints
SHOWN = 6
LONGEST_NAME = 120


def rename(tensors: Mapping[str, Tensor], family: Family) -> dict[str, Tensor]:
    """The checkpoint's tensors under our names; names that no rule knows are refused."""
    rules = [_rule(line) for line in family.tensors.strip().splitlines()]
    renamed: dict[str, Tensor] = {}
    unknown: list[str] = []
    twins: list[str] = []
    for name, tensor in tensors.items():
        targets = _targets(_plain(name, family.optional_prefixes), rules)
        if targets is None:
            unknown.append(name)
            continue
        parts = tensor.chunk(len(targets)) if len(targets) > 1 else [tensor] * len(targets)
        twins += [name for target in targets if target in renamed]
        renamed.update(zip(targets, parts, strict=True))
    if twins:
        raise KeyMismatch(f"The file holds tensors twice, under two spellings: {_list(twins)}")
    if unknown:
        raise KeyMismatch(f"The file holds tensors that its family does not know: {_list(unknown)}")
    return renamed


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
    whole = [k for k in both if not found[k].is_floating_point()]
    if whole:
        faults.append(f"not floating point: {_list(whole)}")
    if faults:
        raise KeyMismatch(
            f"The tensors do not fit config.json. {'; '.join(faults)} "
            "Check that config.json and model.safetensors belong together."
        )


def _rule(line: str) -> Rule:
    source, target = line.split()
    pattern = re.escape(source).replace(r"\#", r"(?P<layer>\d+)")
    pattern = pattern.replace(r"\*", ".+" if target == "-" else "(?P<kind>weight|bias)")
    return re.compile(pattern), target


def _targets(name: str, rules: list[Rule]) -> list[str] | None:
    """Our names for a tensor: none if it is not needed, several if it is fused."""
    for pattern, target in rules:
        if match := pattern.fullmatch(name):
            parts = match.groupdict()
            filled = target.replace("#", parts.get("layer") or "#")
            filled = filled.replace("*", parts.get("kind") or "*")
            return [] if target == "-" else _split(filled)
    return None


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


def _shapes(key: str, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str:
    return f"{key} is {tuple(found[key].shape)}, not {tuple(expected[key].shape)}"


def _list(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(name[:LONGEST_NAME] for name in names[:SHOWN]) + more + "."


def as_float32(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Half-precision files widened, so that a CPU computes as the reference does."""
    return {k: t.to(torch.float32) if t.is_floating_point() else t for k, t in tensors.items()}
