"""Finds the family that reads a config.json, and notes what of a checkpoint is not taken."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from reprlib import repr as shown  # truncates: untrusted input can be of any length

from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.checkpoints.rename import Names
from viz_encoder.config import HeadConfig, Task
from viz_encoder.errors import CheckpointError, ConfigError, UnknownFamily, UnsafeFile

WHOLE = ("projection_dim", "id2label", "num_labels", "problem_type")  # said of both parts at once


def family_of(file: Json, part: str) -> tuple[Family, Json]:
    """The family that reads this file, and the part of the file that is meant.

    Raises:
        UnsafeFile: the file asks to run code of its own.
        UnknownFamily: its model_type is not one that we load.
        CheckpointError: it garbles what tells its family.
    """
    if "auto_map" in file:
        raise UnsafeFile(
            "config.json asks to run code of its own (auto_map); that is never done. If its "
            "model_type is one that we load, delete auto_map from a copy of the folder."
        )
    model_type = file.get("model_type")
    for family in FAMILIES.values():
        if model_type is None and family.claims is not None:
            with plainly():
                claimed = family.claims(file)
            if claimed:
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


@contextmanager
def plainly() -> Iterator[None]:
    """Say in a sentence what a stranger's config.json made a family stumble over."""
    try:
        yield
    except ConfigError as fault:
        raise CheckpointError(
            f"config.json does not describe a possible encoder: {fault}"
        ) from fault
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as fault:
        raise CheckpointError(
            f"A setting in config.json is missing or not valid: {str(fault)[:200]}."
        ) from fault


CLASSIFIER = "classification head"
# What a classifier predicts, by the suffix of the class that wrote the file.
OF_ARCHITECTURES = {
    "ForMultipleChoice": "multiple-choice head",
    "ForQuestionAnswering": "question-answering head",
    "ForNextSentencePrediction": "next-sentence head",
    "ForTokenClassification": "token-classification head",
}
TOWERS = {"text tower": "text", "vision tower": "vision"}
TASKS = {Task.CLASSIFY: CLASSIFIER, Task.POOL: "attention pooling"}


def notes_on_unused(
    names: Names, found: Collection[str], heads: Iterable[HeadConfig], file: Json
) -> tuple[str, ...]:
    """A sentence for each head, and all else that was learned, in the file and not loaded."""
    stems: dict[str, list[str]] = {}
    for stem, words in {**names.unused(found), **_without_a_head(names, found, heads)}.items():
        stems.setdefault(_of_architecture(words, file), []).append(stem)
    return tuple(_sentence(words, ", ".join(sorted(named))) for words, named in stems.items())


def names_a_head(note: str) -> bool:
    """Whether a note is of something that predicts, so that a person would look for its answers."""
    return note.partition(" (")[0].endswith(" head")


def _without_a_head(
    names: Names, found: Iterable[str], heads: Iterable[HeadConfig]
) -> dict[str, str]:
    """Tensors that have our names but whose head could not be built as ours are (timm's)."""
    built = {str(head.task) for head in heads}
    unused: dict[str, str] = {}
    for name in found:
        tasks = {
            part.split(".")[1] for part in names.targets(name) or () if part.startswith("heads.")
        }
        for task in tasks - built:
            unused[names.plain(name).partition(".")[0]] = TASKS.get(Task(task), f"{task} head")
    return unused


def _of_architecture(words: str, file: Json) -> str:
    said = file.get("architectures")
    for architecture in map(str, said) if isinstance(said, list) else ():
        for ending, meant in OF_ARCHITECTURES.items():
            if words == CLASSIFIER and architecture.endswith(ending):
                return meant
    return words or "part"


def _sentence(words: str, stems: str) -> str:
    if words in TOWERS:
        return f'The {words} ({stems}) was not loaded; part="{TOWERS[words]}" loads it.'
    return f"The {words} ({stems}) was not loaded; attention and hidden states do not depend on it."
