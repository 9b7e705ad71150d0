"""The command `effect`: what changes when each head is removed, over one text or a set."""

import argparse
import math
from pathlib import Path

from viz_encoder.commands.terminal import add_model, opened, tell, typed
from viz_encoder.effects import Effect, effect
from viz_encoder.effects.measures import NAMES
from viz_encoder.effects.rerun import Heads
from viz_encoder.errors import SelectionError
from viz_encoder.inputs.items import PICTURES, read_set
from viz_encoder.result import csv_text
from viz_encoder.whole_file import is_file, kind_of, require_writable, shortened, write_whole

LISTED = 10
SETS = (".txt", ".csv", ".tsv")
ENDINGS = (*SETS, *PICTURES)


def add_effect(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    command = commands.add_parser("effect", help="show what changes when each head is removed")
    command.add_argument("source", help="a text, a file of texts (.txt, .csv), or a picture")
    command.add_argument(
        "-o", "--output", help="also write every head's effect to a file: effect.csv"
    )
    add_model(command)
    command.add_argument("--heads", default="all", help="all, or names: 3.0,2.1 (%(default)s)")
    command.add_argument(
        "--measure", choices=NAMES, help="default: logits if the model gives an answer, else pooled"
    )
    command.add_argument("--answer", help="the expected word or label (default: the model's own)")
    command.add_argument("--other", help="what to compare it with (default: the next choice)")
    command.add_argument(
        "--reference", help="a file of texts: replace a head by its mean over them, not by zero"
    )
    command.set_defaults(run=_effect)


def _effect(given: argparse.Namespace) -> None:
    if given.output:
        kind_of(given.output, (".csv",))
        require_writable(given.output)
    encoder = opened(given)
    found = effect(
        encoder,
        sources(given.source),
        _heads(given.heads),
        how="mean" if given.reference else "zero",
        reference=[item.source for item in read_set(Path(given.reference))]
        if given.reference
        else None,
        measure=given.measure,
        answer=given.answer,
        other=given.other,
        progress=lambda share: tell(f"{share:4.0%}", last=share >= 1),
    )
    print(found.sentence)
    print(f"Measured: {found.measures[0]}{_more(found)}; a head's output becomes {found.how}.")
    _print_largest(found)
    if given.output:
        size = write_whole([_csv(found, encoder.card.name).encode()], given.output)
        print(f"{given.output}: {size:,} bytes.")


def sources(text: str) -> list[object]:
    """The texts of a file; a picture's path; or the text itself."""
    path = Path(text)
    if not is_file(path):
        if text and (path.suffix.lower() in ENDINGS or path.is_dir()):
            raise SelectionError(f"{shortened(text)} is not a file; give a text, or a file's path.")
        return [typed(text)]
    if path.suffix.lower() in SETS:
        return [item.source for item in read_set(path)]
    return [path]


def _heads(text: str) -> Heads:
    if text == "all":
        return "all"
    heads = []
    for name in text.split(","):
        layer, dot, head = name.strip().partition(".")
        if not (dot and layer.isdecimal() and head.isdecimal()):
            raise SelectionError(f"--heads is {text[:40]!r}; give names such as 3.0,2.1, or all.")
        heads.append((int(layer), int(head)))
    return heads


def _more(found: Effect) -> str:
    count = len(found.measures)
    return "" if count == 1 else f" in the first of {count} texts"


def _print_largest(found: Effect) -> None:
    several = len(found.values) > 1
    print(f"{'head':>6}{'effect':>12}" + (f"{'spread':>12}" if several else ""))
    for layer, head in found.ranked(LISTED):
        line = f"{f'{layer}.{head}':>6}{found.mean[layer, head]:12.4g}"
        if several:
            line += f"{found.spread[layer, head]:12.4g}"
        elif found.untouched[0][0]:
            line += f"  {found.answers[0, layer, head]} {found.shares[0, layer, head]:.3f}"
        print(line)


def _csv(found: Effect, model: str) -> str:
    columns = found.columns()
    known = [at for at, effect in enumerate(columns["effect"]) if not math.isnan(effect)]
    kept = {name: [values[at] for at in known] for name, values in columns.items()}
    return csv_text(kept | {"model": [model] * len(known), "stand_in": [found.how] * len(known)})
