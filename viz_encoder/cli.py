"""The command line: serve the page, or list the models."""

import argparse
import sys
from collections.abc import Sequence

from viz_encoder import __version__
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.errors import VizEncoderError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a fault of the user's ends it with a plain sentence and status 1."""
    given = _parser().parse_args(arguments)
    try:
        given.run(given)
    except VizEncoderError as fault:
        print(f"viz-encoder: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="viz-encoder",
        description="What each layer and head of a transformer encoder attends to, exactly.",
    )
    parser.add_argument("--version", action="version", version=f"viz-encoder {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    serve = commands.add_parser("serve", help="open the page in a browser's reach")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    serve.add_argument("--port", type=int, default=7860, help="first port to try (%(default)s)")
    serve.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    serve.add_argument(
        "--public", action="store_true", help="for strangers: smaller limits, no paths"
    )
    serve.set_defaults(run=_serve)
    models = commands.add_parser("models", help="list the built-in models")
    models.set_defaults(run=_models)
    return parser


def _serve(given: argparse.Namespace) -> None:
    from viz_encoder.ui.serve import Settings, serve  # Gradio is slow to import

    serve(Settings(given.host, given.port, given.public, given.device))


def _models(given: argparse.Namespace) -> None:
    for name, entry in BUILTIN.items():
        print(f"{name:20} {entry.kind:6} {entry.license:12} {entry.source}")
