"""Notes on what a checkpoint holds but the encoder does not take, for the model's card."""

from collections.abc import Collection, Iterable

from viz_encoder.checkpoints.family import Json
from viz_encoder.checkpoints.rename import Names
from viz_encoder.config import HeadConfig, Task

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
        tasks = {part.split(".")[1] for part in names.targets(name) or () if _is_head(part)}
        for task in tasks - built:
            unused[names.plain(name).partition(".")[0]] = TASKS.get(Task(task), f"{task} head")
    return unused


def _is_head(target: str) -> bool:
    return target.startswith("heads.")


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
