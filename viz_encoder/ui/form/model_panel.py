"""The model panel: source, size, and parts of a model."""

import html

from viz_encoder.checkpoints import HubModel, LoadedEncoder, Plan
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.config.anatomy import anatomy
from viz_encoder.inputs import TextReader
from viz_encoder.shown import counted
from viz_encoder.ui.state.built import Built, as_listed
from viz_encoder.ui.state.models import Models, free_bytes

LISTED = 1_000  # words of a vocabulary that are all shown
READS = {Embedding.TOKEN: "texts", Embedding.PATCH: "pictures", Embedding.VECTOR: "vectors"}


def model_panel(models: Models, name: str) -> str:
    """The facts of a listed model, and its parts with their equations."""
    named = as_listed(name)
    if isinstance(named, Built):
        return _panel(named)
    plan = models.plan(name)
    if plan is None:
        return _panel(models.get(name))
    few = plan.config.embedding is Embedding.TOKEN and plan.config.vocab_size <= LISTED
    words = _words(models.get(name).reader) if few else ""
    return _panel(plan, "in memory" if models.is_loaded(name) else "", words)


def plan_panel(plan: Plan) -> str:
    """The facts of a model that was looked at, with the memory that loading it takes."""
    needed, free = plan.n_bytes, free_bytes()
    verdict = "" if needed < free else " <strong>That is more than is available.</strong>"
    memory = f"Its weights need {in_words(needed)}; {in_words(free)} are free.{verdict}"
    return f'<p class="viz-caption">{memory}</p>{_panel(plan)}'


def hub_panel(found: HubModel) -> str:
    """The facts of a model on the hub, before anything of it is downloaded."""
    size = "of unknown size" if found.n_bytes is None else in_words(found.n_bytes)
    n = f", {found.n_parameters:,} parameters" if found.n_parameters else ""
    facts = [
        ("Model", f"{found.id} ({found.family})"),
        ("From", f"{found.address} at {found.commit[:12]}"),
        ("License", found.license),
        ("Download", f"{size} in {len(found.files)} files{n}"),
    ]
    caption = "Not downloaded yet. Its files will go into the Hugging Face cache on this computer."
    return f'<p class="viz-caption">{caption}</p><div class="viz-model">{_listed(facts)}</div>'


def _listed(facts: list[tuple[str, str]]) -> str:
    rows = (f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in facts)
    return f"<dl>{''.join(rows)}</dl>"


def _words(reader: object) -> str:
    """All words of a small vocabulary, collapsed, because the model knows no others."""
    if not isinstance(reader, TextReader):
        return ""
    known = sorted(reader.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    words = " ".join(html.escape(word) for word, _ in known)
    summary = f"The {len(known)} words it knows; any other becomes [UNK]"
    return f'<details class="viz-caption"><summary>{summary}</summary><p>{words}</p></details>'


def _panel(model: Plan | LoadedEncoder | Built, state: str = "", words: str = "") -> str:
    rows = "".join(
        f"<tr><th>{html.escape(part.name)}</th><td>{html.escape(part.words)}"
        f"<code>{html.escape(part.equation)}</code></td></tr>"
        for part in anatomy(model.config)
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in model.card.notes)
    said = f'<ul class="viz-caption">{notes}</ul>' if notes else ""
    return (
        f'<div class="viz-model">{_listed(_facts(model, state))}{words}<table>{rows}</table>{said}'
        "</div>"
    )


def _facts(model: Plan | LoadedEncoder | Built, state: str) -> list[tuple[str, str]]:
    card, config = model.card, model.config
    facts = [
        ("Model", f"{card.name} ({card.family})" if card.family else card.name),
        ("From", card.source + (f" at {card.revision[:12]}" if card.revision else "")),
        ("License", card.license),
        ("Reads", _reads(config)),
        ("Sizes", _sizes(config, card.n_parameters)),
        ("Memory", f"{in_words(4 * card.n_parameters)} of weights{', ' + state if state else ''}"),
    ]
    if isinstance(model, LoadedEncoder):
        facts.append(("Runs on", f"{model.device}, {str(model.dtype).removeprefix('torch.')}"))
    return facts


def _reads(config: EncoderConfig) -> str:
    if config.embedding is Embedding.PATCH:
        height, width = config.image_size
        return f"pictures of {width} × {height} pixels"
    longest = f", up to {config.max_positions:,} tokens"
    return READS[config.embedding] + (longest if config.embedding is Embedding.TOKEN else "")


def _sizes(config: EncoderConfig, n_parameters: int) -> str:
    return (
        f"{counted(config.n_layers, 'layer')} × {counted(config.n_heads, 'head')}, "
        f"d_model {config.d_model}, "
        f"{n_parameters:,} parameters"
    )


def in_words(n_bytes: int) -> str:
    """A number of bytes as people say it."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{max(1, n_bytes // 10**6):,} MB"
