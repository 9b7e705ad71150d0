"""A loaded encoder as a folder of our own: what its config.json says, and how it is written."""

from pathlib import Path
from typing import Any

from viz_encoder.arguments import public
from viz_encoder.checkpoints.loaded import LoadedEncoder
from viz_encoder.checkpoints.sentence_transformers import write_declared
from viz_encoder.errors import CheckpointError
from viz_encoder.inputs import ImageReader, TextReader
from viz_encoder.model.saving import TOKENIZER, own_file, own_tensors, write_folder

UNSTATED = "not stated"
IMAGE = ("image_size", "mean", "std", "fit", "resample", "window", "resized")


def own_file_of(encoder: LoadedEncoder) -> dict[str, Any]:
    """config.json: the axes, the reader's settings, and what is known of the model."""
    card, padding = encoder.card, encoder.padding
    about: dict[str, Any] = {"title": card.name}
    if card.license != UNSTATED:
        about["license"] = card.license
    if card.untrained:
        about["untrained"] = True
    if padding.id is not None:
        about["pad_token_id"] = padding.id
    text: dict[str, Any] = {"padding_has_no_position": padding.no_position}
    if isinstance(encoder.reader, TextReader):
        text["padded_to"] = encoder.reader.padded_to
    if encoder.kind == "text":
        about["text"] = text
    if isinstance(encoder.reader, ImageReader):
        about["image"] = {name: getattr(encoder.reader, name) for name in IMAGE}
    return own_file(encoder.config, **about)


@public(fault=CheckpointError)
def save_encoder(encoder: LoadedEncoder, folder: str | Path, *, overwrite: bool = False) -> None:
    """See `LoadedEncoder.save`."""
    reader = encoder.reader

    def beside(place: Path) -> None:
        if isinstance(reader, TextReader):
            (place / TOKENIZER).write_text(reader.tokenizer.to_str(pretty=True), encoding="utf-8")
        if encoder.declared is not None:
            write_declared(encoder.declared, place, encoder.config.d_model)

    tensors = own_tensors(encoder.model.state_dict(), encoder.config)
    write_folder(folder, own_file_of(encoder), tensors, extra=beside, overwrite=overwrite)
