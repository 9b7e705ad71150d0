"""plan: what a checkpoint is and what loading it would take, before any weight is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be a stranger's, of any length

from viz_encoder.checkpoints.builtin import BUILTIN
from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.checkpoints.family import Family, HeadTable, Json
from viz_encoder.checkpoints.files import read_json
from viz_encoder.checkpoints.hub import download, is_hub_id
from viz_encoder.checkpoints.licence import licence_of
from viz_encoder.checkpoints.loaded import KINDS, ModelCard
from viz_encoder.checkpoints.rename import Names
from viz_encoder.checkpoints.weights import Tell, shapes, silent
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError, ConfigError, KeyMismatch, UnknownFamily, UnsafeFile

PARTS = ("text", "vision")
FEW_LAYERS = 100  # built in no time, whatever the file holds
WHOLE = ("projection_dim", "id2label", "num_labels", "problem_type")  # said of both parts at once


@dataclass(frozen=True)
class Plan:
    """A checkpoint that was looked at but not loaded: what it is, and what loading would take."""

    folder: Path
    family: Family
    file: Json  # config.json with its defaults
    config: EncoderConfig
    names: Names
    needed: tuple[str, ...]  # the tensors that will be read
    card: ModelCard

    @property
    def kind(self) -> str:
        """What it reads: "text", "image" or "vector"."""
        return KINDS[self.config.embedding]

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights in float32."""
        return 4 * self.config.n_parameters


def plan(name: str | Path, *, part: str = "", revision: str = "", tell: Tell = silent) -> Plan:
    """Look at a checkpoint without reading its weights; see `load`. A hub id is downloaded."""
    if part and part not in PARTS:
        raise CheckpointError(f"part is {shown(part)}; it must be 'text' or 'vision'.")
    if str(name) in BUILTIN:
        entry = BUILTIN[str(name)]
        return _plan(entry.folder(), part, ModelCard(str(name), entry.source, entry.license))
    folder = _folder(name)
    if folder is not None:
        return _plan(folder, part, ModelCard(folder.resolve().name, str(folder), ""))
    if isinstance(name, str) and is_hub_id(name):
        folder, commit = download(name, revision, tell)
        card = ModelCard(name, f"https://huggingface.co/{name}", "", revision=commit)
        return _plan(folder, part, card)
    raise CheckpointError(
        f"There is no built-in model and no folder {str(name)[:80]!r}; built in are "
        f"{', '.join(BUILTIN)}. A model of the hub is named organization/name."
    )


def _folder(name: str | Path) -> Path | None:
    try:
        folder = Path(name).expanduser()
        return folder if str(name) and folder.is_dir() else None
    # No path at all, one too long or with a NUL, or an unknown ~user.
    except (OSError, TypeError, ValueError, RuntimeError):
        return None


def _plan(folder: Path, part: str, card: ModelCard) -> Plan:
    written = read_json(folder, "config.json")
    with plainly():
        family, file = _family(written, part)
    found = shapes(folder)
    if family.complete is not None:
        with plainly():
            file = family.complete(file, found)
    file = {**family.defaults, **file}
    chosen = _heads(family, written, found)
    names = Names([*(table.tensors for table in chosen), family.tensors], family.optional_prefixes)
    needed = tuple(names.needed(found))
    config = _config(family, file, chosen)
    # Before time is spent on building them; ALBERT has one layer in the file for all.
    if config.n_layers > max(len(found), FEW_LAYERS):
        raise KeyMismatch(
            f"config.json promises {config.n_layers:,} layers, but the file holds only "
            f"{len(found):,} tensors. Check that the two belong together."
        )
    licence = card.license or _licence(written) or licence_of(folder) or "not stated"
    card = replace(
        card, license=licence, family=family.model_types[0], n_parameters=config.n_parameters
    )
    return Plan(folder, family, file, config, names, needed, card)


def _licence(file: Json) -> str:
    """What config.json says of it: our own files do."""
    said = file.get("license")
    return " ".join(said.split())[:80] if isinstance(said, str) else ""


def _family(file: Json, part: str) -> tuple[Family, Json]:
    """The family that reads this file, and the part of the file that is meant."""
    if "auto_map" in file:
        raise UnsafeFile(
            "config.json asks to run code of its own (auto_map); that is never done. If its "
            "model_type is one that we load, delete auto_map from a copy of the folder."
        )
    model_type = file.get("model_type")
    for family in FAMILIES.values():
        if model_type is None and family.claims is not None and family.claims(file):
            return family, file
        if family.part_of == (model_type, part or "vision"):
            half = file.get(f"{family.part_of[1]}_config")
            if not isinstance(half, dict):
                raise CheckpointError(f"config.json has no {family.part_of[1]}_config.")
            own = {key: value for key, value in half.items() if key not in WHOLE}
            return family, own | {key: file[key] for key in WHOLE if key in file}
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        whole = {family.part_of[0] for family in FAMILIES.values() if family.part_of}
        raise UnknownFamily(
            f"config.json says model_type {shown(model_type)}; we load "
            f"{', '.join(sorted({*FAMILIES, *whole}))}."
        )
    return FAMILIES[model_type], file


def _heads(family: Family, file: Json, names: Json) -> list[HeadTable]:
    """The heads that the file holds; where two share a tensor, what its architectures say."""
    said = file.get("architectures")
    architectures = " ".join(map(str, said)) if isinstance(said, list) else ""
    kept: list[HeadTable] = []
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


def _config(family: Family, file: Json, heads: list[HeadTable]) -> EncoderConfig:
    with plainly():
        config = family.config(file)
        if heads:
            config = replace(config, heads=tuple(table.config(file) for table in heads))
        return config


@contextmanager
def plainly() -> Iterator[None]:
    """Say in a sentence what a stranger's config.json made a family stumble over."""
    try:
        yield
    except ConfigError as fault:
        raise CheckpointError(f"config.json describes no possible encoder: {fault}") from fault
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as fault:
        raise CheckpointError(
            f"config.json lacks or garbles a setting: {str(fault)[:200]}."
        ) from fault
