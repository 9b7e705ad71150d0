"""Findings as plain data."""

import re
from dataclasses import fields
from typing import Any

from viz_encoder.analyses.findings import Finding, Findings
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.wire.bytes import finite

ISOLATED = re.compile("([\u2068\u2069])")  # around what is read from right to left


def plain_findings(found: Findings) -> dict[str, Any]:
    """The opening sentence, and every finding by the names of its fields."""
    return {"sentence": _readable(found.sentence), "found": [_plain(finding) for finding in found]}


def _plain(finding: Finding) -> dict[str, Any]:
    plain = {field.name: getattr(finding, field.name) for field in fields(finding)}
    words = {name: _readable(plain[name]) for name in ("sentence", "chip")}
    numbers = {name: finite(plain[name]) for name in ("weight", "ratio") if plain[name] is not None}
    return plain | words | numbers


def _readable(text: str) -> str:
    """The text with what would hide or turn others written out, but for its own isolation."""
    parts = ISOLATED.split(text)
    return "".join(part if ISOLATED.match(part) else printable(part) for part in parts)
