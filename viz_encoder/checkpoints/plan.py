"""plan: what a checkpoint is and what loading it would take, before any weight is read."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints.builtin import BUILTIN
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.checkpoints.hub import cached_folder, download
from viz_encoder.checkpoints.hub_faults import is_hub_id
from viz_encoder.checkpoints.loaded import KINDS, ModelCard
from viz_encoder.checkpoints.recognize import family_of, notes_on_unused, plainly
from viz_encoder.checkpoints.rename import Names
from viz_encoder.checkpoints.source import Folder, ModelSource
from viz_encoder.checkpoints.weights import silent
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError, KeyMismatch
from viz_encoder.whole_file import is_file, shortened

UNTRAINED = " (untrained)"
PARTS = ("text", "vision")
FEW_LAYERS = 100  # built in no time, whatever the file holds


@dataclass(frozen=True)
class Plan:
    """A checkpoint that was looked at but not loaded: what it is, and what loading would take."""

    source: ModelSource
    family: Family
    file: Json  # config.json with its defaults
    config: EncoderConfig
    names: Names
    needed: tuple[str, ...]  # the tensors that will be read
    card: ModelCard

    @property
    def folder(self) -> Path | None:
        """Folder of its files; None for a model in memory."""
        return self.source.folder

    @property
    def kind(self) -> str:
        """Kind of input: "text", "image" or "vector"."""
        return KINDS[self.config.embedding]

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights in float32."""
        return 4 * self.config.n_parameters


def plan(name: str | Path, *, part: str = "", revision: str = "", tell: Progress = silent) -> Plan:
    """Look at a checkpoint without reading its weights; see `load`. A hub id is downloaded."""
    require_part(part)
    if str(name) in BUILTIN:
        entry = BUILTIN[str(name)]
        return plan_source(
            Folder(entry.folder()), part, ModelCard(str(name), entry.source, entry.license)
        )
    folder = _folder(name)
    if folder is not None:
        return plan_source(Folder(folder), part, ModelCard(folder.resolve().name, str(folder), ""))
    if is_file(Path(name)):
        raise CheckpointError(
            f"{shortened(name)} is a file; give the folder of a model, with its config.json. "
            "A saved run is read by vz.Trace.load."
        )
    if isinstance(name, str) and is_hub_id(name):
        return plan_download(name, *_downloaded(name, revision, tell, part), part)
    raise CheckpointError(
        f"There is no built-in model and no folder {str(name)[:80]!r}; {_built_in(str(name))} "
        "A model on the hub is named organization/name."
    )


def _downloaded(name: str, revision: str, tell: Progress, part: str) -> tuple[Path, str]:
    """See `download`; a name without an organization may be meant for a built-in model."""
    try:
        return download(name, revision, tell, part)
    except CheckpointError as fault:
        if "/" in name or not str(fault).startswith("There is no folder"):
            raise
        raise type(fault)(f"{fault} T{_built_in(name)[1:]}") from fault


def _built_in(name: str) -> str:
    """The built-in models, and the one that is written most alike, as the end of a sentence."""
    known = {each.lower(): each for each in BUILTIN}
    within = [each for each in known if len(name) > 2 and name.lower() in each]
    close = within or get_close_matches(name.lower(), known, n=1)
    meant = f"; did you mean {known[close[0]]!r}?" if close else "."
    return f"the built-in models are {', '.join(BUILTIN)}{meant}"


def plan_cached(name: str, part: str = "") -> Plan | None:
    """The plan of a model that is in the hub's local cache; no network is asked."""
    folder = cached_folder(name) if is_hub_id(name) else None
    return plan_download(name, folder, folder.name, part) if folder is not None else None


def plan_download(name: str, folder: Path, commit: str, part: str) -> Plan:
    """The plan of a model of the hub whose files were downloaded."""
    card = ModelCard(name, f"https://huggingface.co/{name}", "", revision=commit)
    return plan_source(Folder(folder), part, card)


def require_part(part: str) -> None:
    """Refuse a part that no model has."""
    if part and part not in PARTS:
        raise CheckpointError(f"part is {shown(part)}; it must be 'text' or 'vision'.")


def _folder(name: str | Path) -> Path | None:
    try:
        folder = Path(name).expanduser()
        return folder if str(name) and folder.is_dir() else None
    # Not a path, too long, has a NUL, or an unknown ~user.
    except (OSError, TypeError, ValueError, RuntimeError):
        return None


def plan_source(source: ModelSource, part: str, card: ModelCard) -> Plan:
    """The plan of a folder or of a model in memory; `card` is what is known of it so far."""
    written = source.config()
    family, file = family_of(written, part)
    found = source.shapes()
    if family.complete is not None:
        with plainly():
            file = family.complete(file, found)
    file = {**family.defaults, **file}
    chosen = _heads(family, written, found)
    names = Names([*(table.tensors for table in chosen), family.tensors], family.optional_prefixes)
    needed = tuple(names.needed(found))
    config = _config(family, file, chosen)
    # Checked before building layers takes time; ALBERT's file has one layer for all.
    if config.n_layers > max(len(found), FEW_LAYERS):
        raise KeyMismatch(
            f"config.json promises {config.n_layers:,} layers, but the file holds only "
            f"{len(found):,} tensors. Check that the two belong together."
        )
    untrained = card.untrained or written.get("untrained") is True
    name = card.name.removesuffix(UNTRAINED) + UNTRAINED if untrained else card.name
    licence = card.license or _licence(written) or source.license() or "not stated"
    card = replace(
        card,
        name=name,
        untrained=untrained,
        license=licence,
        family=family.model_types[0],
        n_parameters=config.n_parameters,
        notes=(*card.notes, *notes_on_unused(names, found, config.prediction_heads, written)),
    )
    return Plan(source, family, file, config, names, needed, card)


def _licence(file: Json) -> str:
    said = file.get("license")
    return " ".join(said.split())[:80] if isinstance(said, str) else ""


def _heads(family: Family, file: Json, names: Json) -> list[CarriedHead]:
    """The heads that the file holds; where two share a tensor, what its architectures say."""
    said = file.get("architectures")
    architectures = " ".join(map(str, said)) if isinstance(said, list) else ""
    kept: list[CarriedHead] = []
    free = set(names)
    for table in family.heads:
        if table.only_for and table.only_for not in architectures:
            continue
        known = Names([table.tensors], family.optional_prefixes)
        taken = {name for name in free if known.targets(name)}
        if taken:
            kept.append(table)
            free -= taken
    return kept


def _config(family: Family, file: Json, heads: list[CarriedHead]) -> EncoderConfig:
    with plainly():
        config = family.config(file)
        if heads:
            config = replace(config, prediction_heads=tuple(table.config(file) for table in heads))
        return config
