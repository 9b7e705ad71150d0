"""The command line: serve the page, save a run, a map or vectors to a file, or list the models."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from viz_encoder.audit.command import add_audit
from viz_encoder.checkpoints import BUILTIN, Plan, known_families, plan
from viz_encoder.commands.attribute import add_attribute
from viz_encoder.commands.corpus import add_corpus
from viz_encoder.commands.effect import add_effect
from viz_encoder.commands.export import add_export
from viz_encoder.commands.lesson import add_lesson
from viz_encoder.commands.pool import add_pool
from viz_encoder.commands.terminal import add_model, opened, print_anything, typed
from viz_encoder.config.anatomy import anatomy
from viz_encoder.errors import VizEncoderError
from viz_encoder.trace import Trace, capture
from viz_encoder.trace.saved import KIND
from viz_encoder.trace.saved_file import require_name
from viz_encoder.version import __version__
from viz_encoder.whole_file import is_file, require_writable, shortened

LAST_PORT = 65535
ALONE, EVERYONE = "127.0.0.1", "0.0.0.0"  # who may reach the page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a fault of the user's ends it with a plain sentence and status 1."""
    print_anything(sys.stdout, sys.stderr)
    given = _parser().parse_args(arguments)
    try:
        given.run(given)
        sys.stdout.flush()
    except VizEncoderError as fault:
        return _failed(str(fault))
    except MemoryError:
        return _failed("That needs more memory than there is.")
    except BrokenPipeError:  # who read has stopped, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
        return 1
    except OSError as fault:
        where = f"{shortened(fault.filename)}: " if isinstance(fault.filename, str) else ""
        return _failed(f"{where}{fault.strerror or fault}.")
    except KeyboardInterrupt:
        print()
    return 0


def _failed(sentence: str) -> int:
    print(f"viz-encoder: {sentence}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="viz-encoder",
        description="What each layer and head of a transformer encoder attends to, exactly.",
    )
    parser.add_argument("--version", action="version", version=f"viz-encoder {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    serve = commands.add_parser("serve", help="serve the page for a browser")
    serve.add_argument("--host", help=f"address to listen on ({ALONE}; {EVERYONE} with --class)")
    serve.add_argument("--port", type=_port, default=7860, help="first port to try (%(default)s)")
    serve.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    serve.add_argument(
        "--public", action="store_true", help="serve strangers: smaller limits, no paths"
    )
    serve.add_argument(
        "--class",
        action="store_true",
        dest="room",
        help="serve a class: --public on this network, and print the address for other computers",
    )
    serve.add_argument(
        "--trust-proxy",
        action="store_true",
        help="identify clients by X-Forwarded-For; use it only if every request comes through a "
        "proxy that sets this header; behind a proxy that sends another Host than localhost, use "
        "--public --trust-proxy",
    )
    serve.add_argument("--open", action="store_true", help="show it in your browser at once")
    serve.add_argument("trace", nargs="?", help="a saved run to open: run.safetensors")
    serve.set_defaults(run=_serve)
    desktop = commands.add_parser("desktop", help="open the page in a window of its own")
    desktop.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    desktop.add_argument("trace", nargs="?", help="a saved run to open: run.safetensors")
    desktop.set_defaults(run=_desktop)
    trace = commands.add_parser("trace", help="run a model once and save what it attended to")
    trace.add_argument("source", help="a text, or the path of a picture with --model scene")
    add_model(trace)
    trace.add_argument("-o", "--output", default="run.safetensors", help="%(default)s")
    trace.set_defaults(run=_trace)
    add_export(commands)
    add_audit(commands)
    add_pool(commands)
    add_effect(commands)
    add_attribute(commands)
    add_corpus(commands)
    add_lesson(commands)
    models = commands.add_parser("models", help="list what can be loaded, or look at one model")
    models.add_argument("model", nargs="?", help="a built-in name, a folder, or organization/name")
    models.add_argument("--part", default="", help="text or vision, for a model that has both")
    models.set_defaults(run=_models)
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a port; give 0 to {LAST_PORT}")
    return int(text)


def _serve(given: argparse.Namespace) -> None:
    print("Starting viz_encoder; loading the page takes some seconds …", flush=True)
    from viz_encoder.ui.serve import ServerSettings, serve  # Gradio is slow to import

    subject = Trace.load(given.trace) if given.trace else None
    host = given.host or (EVERYONE if given.room else ALONE)
    settings = ServerSettings(
        host,
        given.port,
        given.public or given.room,
        given.device,
        given.trust_proxy,
        room=given.room,
        opened=given.open,
    )
    serve(settings, subject)


def _desktop(given: argparse.Namespace) -> None:
    from viz_encoder.ui.desktop import desktop  # Gradio is slow to import

    desktop(Trace.load(given.trace) if given.trace else None, given.device)


def _trace(given: argparse.Namespace) -> None:
    require_name(given.output, KIND)
    require_writable(given.output)
    encoder = opened(given)
    source = Path(given.source) if encoder.kind == "image" else typed(given.source)
    if encoder.kind == "text" and is_file(Path(given.source)):
        print(f"{given.source} is read as a text; for a picture add --model scene", file=sys.stderr)
    trace = capture(encoder, source)
    trace.save(given.output)
    size = Path(given.output).stat().st_size / 2**20
    print(f"{given.output}: {trace.n_tokens:,} tokens, {size:,.1f} MB. {trace.proof.sentence}")


def _models(given: argparse.Namespace) -> None:
    if given.model:
        _describe(plan(given.model, part=given.part))
        return
    print("Built in:")
    for name, entry in BUILTIN.items():
        print(f"  {name:20} {entry.kind:6} {entry.license:12} {entry.source}")
    print("\nFrom a folder, or by organization/name from the hub (config.json's model_type):")
    for title, names in known_families().items():
        print(f"  {title:34} {', '.join(names)}")


def _describe(found: Plan) -> None:
    """Print what a model is and its parts, without loading it."""
    card = found.card
    memory = f"{found.n_bytes / 1e6:,.1f} MB of memory"
    print(f"{card.name}: {card.family}, {card.n_parameters:,} parameters, {memory}")
    print(f"from {' at '.join(filter(None, (card.source, card.revision)))}, license {card.license}")
    for part in anatomy(found.config):
        print(f"  {part.name:16} {part.words}")
        if part.equation:
            print(f"  {'':16} {part.equation}")
    if found.kind == "text":
        most = found.config.max_positions
        declared = found.source.declared(found.config.d_model, most)
        if declared is not None:
            cut = f", of {declared.max_tokens:,} tokens at most" if declared.max_tokens else ""
            print(f"  {'own pooling':16} {declared.problem or declared.words + cut}")
    for note in card.notes:
        print(note)
