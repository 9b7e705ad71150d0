"""What the commands share: the options that choose a model, and output that any terminal can write.

A character that its encoding lacks gets a likeness in ASCII, never a fault.
"""

import argparse
import codecs
import os
import sys
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder, load

HANDLER = "viz_encoder.likeness"
LIKENESS = {
    **{"…": "...", "·": "*", "×": "x", "‖": "||", "−": "-", "–": "-", "—": "-", "÷": "/"},
    **{"→": "->", "←": "<-", "↔": "<->", "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"},
    **{"√": "sqrt ", "ᵀ": "^T", "²": "^2", "³": "^3", "₁": "_1", "₂": "_2", "½": "1/2"},
    **{"′": "'", "±": "+/-", "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "✓": "ok", "✗": "x"},
    **{"α": "alpha", "β": "beta", "γ": "gamma", "ε": "eps", "σ": "sigma", "Σ": "sum"},
    **{"π": "pi", "Φ": "Phi", "μ": "mu", "θ": "theta", "∂": "d", "∇": "grad", "⊙": "*"},
    **{"─": "-", "│": "|", "├": "|", "└": "`", "█": "#", "▁": "_", "∘": "o", "∪": "u"},
    **{"\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ", "\N{THIN SPACE}": " "},
}


def add_model(command: argparse.ArgumentParser) -> None:
    """The options that say which model runs, and where."""
    command.add_argument(
        "--model", default="all-MiniLM-L6-v2", help="%(default)s, a folder, or organization/name"
    )
    command.add_argument("--part", default="", help="text or vision, for a model that has both")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")


def opened(given: argparse.Namespace) -> LoadedEncoder:
    """The model that they name."""
    return load(given.model, device=given.device, part=given.part)


def tell(text: str, *, last: bool = False) -> None:
    """Write how far the work is over the line before, where a person looks on."""
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="\n" if last else "", file=sys.stderr)


def print_anything(*streams: Any) -> None:
    """Let these streams write any text in whatever encoding they have.

    What the encoding lacks is written as `LIKENESS` has it, and else as Python escapes it.
    """
    codecs.register_error(HANDLER, _likeness)
    for stream in streams:
        if hasattr(stream, "reconfigure"):  # not where a notebook or a test put its own
            stream.reconfigure(errors=HANDLER)


def typed(text: str) -> str:
    """A text from the command line as it was typed, also where the locale knows only ASCII."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:  # already decoded correctly, or not UTF-8
        return text


def _likeness(fault: UnicodeError) -> tuple[str, int]:
    if not isinstance(fault, UnicodeEncodeError):
        raise fault
    lacking = fault.object[fault.start : fault.end]
    return "".join(map(_in_ascii, lacking)), fault.end


def _in_ascii(character: str) -> str:
    return LIKENESS.get(character) or character.encode("ascii", "backslashreplace").decode()
