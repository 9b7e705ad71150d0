"""The command `attribute`: what carried an answer, a state or a vector, or made two texts alike."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from viz_encoder.arguments.public import written_number
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.commands.effect import sources
from viz_encoder.commands.export import KINDS, write_figure
from viz_encoder.commands.terminal import add_model, opened, typed
from viz_encoder.errors import SelectionError
from viz_encoder.whole_file import kind_of, require_writable

LISTED = 5
Draw = Callable[[], Any]  # gives the figure of what was printed


def add_attribute(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    from viz_encoder.attribution.readout import Of

    command = commands.add_parser(
        "attribute", help="show which tokens, heads and links carried an answer"
    )
    command.add_argument("source", help="a text, or a picture's file")
    command.add_argument(
        "-o", "--output", help=f"also draw how it got there: a file that ends in {', '.join(KINDS)}"
    )
    add_model(command)
    command.add_argument(
        "--of",
        choices=get_args(Of),
        help="default: an answer if the model gives one, else a token's state or the vector",
    )
    command.add_argument("--label", help="the answer, a label or word (default: the likeliest)")
    command.add_argument("--token", help="where the answer is read, or whose state: 3, or a word")
    command.add_argument("--against", help="another label, runner-up, or another text")
    command.add_argument("--toward", help="a text: the part of the vector along that text's")
    command.add_argument(
        "--through", choices=("values", "attention"), default="values", help="(%(default)s)"
    )
    command.add_argument(
        "--pair", metavar="TEXT", help="which words of both texts met in their vectors' dot product"
    )
    command.set_defaults(run=_attribute)


def _attribute(given: argparse.Namespace) -> None:
    kind = kind_of(given.output, KINDS) if given.output else ""
    if given.output:
        require_writable(given.output)
    encoder = opened(given)
    each = sources(given.source)
    if len(each) != 1:
        raise SelectionError(f"{given.source} holds {len(each)} texts; give one.")
    draw = (_split if given.pair is None else _pair)(encoder, each[0], given)
    if given.output:
        size = write_figure(draw(), Path(given.output), kind, encoder.card.name)
        print(f"{given.output}: {size:,} bytes.")


def _split(encoder: LoadedEncoder, source: Any, given: argparse.Namespace) -> Draw:
    from viz_encoder.attribution import attribute

    found = attribute(encoder, source, **_question(given))
    _print(found)
    view = "routes" if given.through == "values" else "token_shares"
    return lambda: _figure(view)(found)


def _pair(encoder: LoadedEncoder, source: Any, given: argparse.Namespace) -> Draw:
    from viz_encoder.attribution import attribute_pair

    if len(_question(given)) > 1:  # through has a default
        raise SelectionError("--pair asks which words of two texts met; leave out other questions.")
    other = typed(given.pair)
    found = attribute_pair(encoder, source, other)
    print(found.sentence)
    one, two = (trace.tokens for trace in found.traces)
    print(f"\n{'token':>16}{'other':>20}{'share':>10}")
    for i, j in found.ranked(LISTED):
        print(f"{f'{i} {one[i]}':>16}{f'{j} {two[j]}':>20}{found.shares[i, j]:>+10.3f}")
    return lambda: _figure("pair_shares")(encoder, source, other=other)


def _figure(name: str) -> Any:
    from viz_encoder import figures  # Plotly is slow to import

    return getattr(figures, name)


def _question(given: argparse.Namespace) -> dict[str, Any]:
    asked = {name: getattr(given, name) for name in ("of", "label", "against", "toward", "through")}
    if given.token is not None:
        number = written_number(given.token)
        asked["token"] = given.token if number is None else number
    return {name: value for name, value in asked.items() if value is not None}


def _print(found: Any) -> None:
    print(found.sentence)
    print(f"\n{'token':>16}{'share':>10}")
    order = sorted(range(len(found.names)), key=lambda at: -abs(found.tokens[at]))
    for at in order[:LISTED]:
        print(f"{f'{at} {found.names[at]}':>16}{found.tokens[at]:>+10.3f}")
    print(f"{'biases':>16}{found.biases:>+10.3f}")
    if found.through != "values":
        return
    print(f"\n{'link':>28}{'head':>8}{'share':>10}")
    for link in found.strongest(LISTED):
        named = f"{found.names[link.query]} looks at {found.names[link.key]}"
        print(f"{named:>28}{f'{link.layer}.{link.head}':>8}{link.share:>+10.3f}")
