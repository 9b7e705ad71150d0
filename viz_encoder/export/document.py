"""A document that opens from a disk: a filled template, and a policy that blocks the network."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping

PLACE = re.compile(r"\{\{(\w+)\}\}")


def filled(
    template: str, script: str, style: str, rules: Iterable[str], parts: Mapping[str, str]
) -> str:
    """The template with its parts; its Content-Security-Policy allows this script and the rules."""
    allowed = [f"default-src 'none'; script-src {digest(script)}", *rules]
    policy = "; ".join([*allowed, "base-uri 'none'", "form-action 'none'"])
    every = {"policy": policy, "script": script, "style": style, **parts}
    return PLACE.sub(lambda found: every[found[1]], template)


def digest(text: str) -> str:
    """CSP hash that allows exactly this script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
