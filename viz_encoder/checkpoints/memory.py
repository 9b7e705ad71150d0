"""A model in memory as a source: its settings and weights, read without importing its library."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from torch import nn

from viz_encoder.checkpoints import built_elsewhere
from viz_encoder.checkpoints.built_elsewhere import (
    OF_TORCH,
    OF_TRANSFORMERS,
    OWN,
    require_known_code,
)
from viz_encoder.checkpoints.loaded import LoadedEncoder, ModelCard
from viz_encoder.checkpoints.own_folder import own_file_of
from viz_encoder.checkpoints.plan import Plan, plan_source, require_part
from viz_encoder.checkpoints.readers import GivenReaders, read_given
from viz_encoder.checkpoints.sentence_transformers import declared_by_model
from viz_encoder.checkpoints.source import InMemory
from viz_encoder.errors import CheckpointError, KeyMismatch, UnknownFamily
from viz_encoder.inputs import TextReader
from viz_encoder.model import Encoder
from viz_encoder.model.saving import own_file

IN_MEMORY = "in memory"
FILE, FILE_FIRST = re.compile(r"(?<!\w)config\.json"), re.compile(r"(^|\. )config\.json")
RECORD = "vz.record(model, …) watches any PyTorch model as it runs."
CHECK = "Check that the model's config and the weights belong together."
CHANGED = "Its config or its parts were changed after it was built."


@contextmanager
def of_memory() -> Iterator[None]:
    """Let faults name the model where those of a folder name its files, and what would watch it."""
    try:
        yield
    except CheckpointError as fault:
        said = FILE_FIRST.sub(r"\1The model's config", str(fault))
        said = FILE.sub("the model's config", said).replace(CHECK, CHANGED)
        said = said.replace("The file ", "The model ")
        if isinstance(fault, KeyMismatch) and RECORD not in said:
            said = f"{said} {RECORD}"
        if said == str(fault):
            raise
        raise type(fault)(said) from fault


def plan_memory(source: InMemory, part: str) -> Plan:
    """The plan of a model in memory; see `plan`."""
    require_part(part)
    try:
        return plan_source(source, part, source.card)
    except UnknownFamily as fault:
        name, kind = source.card.name[:80], source.file.get("model_type")
        why = f"{name}: {fault}" if kind else f"{name} is not an architecture that we load."
        raise UnknownFamily(f"{why} {RECORD}") from fault
    except CheckpointError as fault:
        if part or RECORD in str(fault):
            raise
        raise type(fault)(f"{fault} {RECORD}") from fault


def in_memory(model: nn.Module | LoadedEncoder, given: GivenReaders) -> InMemory:
    """The source of a model that a person holds.

    Raises:
        UnknownFamily: no such model is known here.
        CheckpointError: weights that are not there as they are: adapters, quantized ones.
    """
    if isinstance(model, LoadedEncoder):
        return _own_loaded(model, given)
    inner = _unwrapped(model)
    if isinstance(inner, Encoder):
        _require_known(inner, OWN)
        return InMemory(
            own_file(inner.config), inner.state_dict(), given, ModelCard("Encoder", IN_MEMORY, "")
        )
    if _is_sentence_transformer(inner):
        return _of_sentence_transformer(inner, given)
    if built_elsewhere.is_of_transformers(inner):
        return _of_transformers(inner, given)
    if built_elsewhere.is_of_timm(inner):
        file, check = built_elsewhere.timm_file(inner), built_elsewhere.require_as_built(inner)
        card = ModelCard(file["architecture"], IN_MEMORY, "")
        return InMemory(file, inner.state_dict(), given, card, check)
    if built_elsewhere.is_of_torch(inner):
        _require_known(inner, OF_TORCH)
        card = ModelCard(type(inner).__name__, IN_MEMORY, "")
        return InMemory(
            built_elsewhere.torch_file(inner), inner.state_dict(), given, card, runs=inner
        )
    raise UnknownFamily(
        f"{type(inner).__name__} is not a model of transformers, sentence-transformers or timm, "
        f"nor a torch.nn.TransformerEncoder or a vz.Encoder. {RECORD}"
    )


def _require_known(model: nn.Module, packages: tuple[str, ...]) -> None:
    try:
        require_known_code(model, packages)
    except UnknownFamily as fault:
        raise UnknownFamily(f"{fault} {RECORD}") from None


def _unwrapped(model: nn.Module) -> nn.Module:
    """The model itself: not torch.compile's wrapper around it, nor that of several devices."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = model.module
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def _of_transformers(model: nn.Module, given: GivenReaders) -> InMemory:
    built_elsewhere.require_plain(model)
    _require_known(model, OF_TRANSFORMERS)
    card = ModelCard(built_elsewhere.name_of(model), IN_MEMORY, "")
    file, tensors = built_elsewhere.file_of(model), built_elsewhere.tensors_of(model)
    return InMemory(file, tensors, given, card, runs=model)


def _is_sentence_transformer(model: nn.Module) -> bool:
    return isinstance(getattr(_first(model), "auto_model", None), nn.Module)


def _first(model: nn.Module) -> nn.Module | None:
    return next(iter(model.children()), None) if isinstance(model, nn.Sequential) else model


def _of_sentence_transformer(model: nn.Module, given: GivenReaders) -> InMemory:
    """Its first module, with the tokenizer there unless another was given."""
    first: Any = _first(model)
    own_reader = given.tokenizer is None and given.image is None
    if own_reader:
        given = read_given(getattr(first, "tokenizer", None))
    source = _of_transformers(_unwrapped(first.auto_model), given)
    if first is model:
        return source
    declares = partial(declared_by_model, model)
    return replace(source, declares=declares, pools=model, own_reader=own_reader)


def _own_loaded(encoder: LoadedEncoder, given: GivenReaders) -> InMemory:
    """Load one of our own encoders again with another reader."""
    _require_known(encoder.model, OWN)
    if given.tokenizer is None and isinstance(encoder.reader, TextReader):
        given = replace(given, tokenizer=encoder.reader.tokenizer, pad_id=encoder.padding.id)
    source = InMemory(own_file_of(encoder), encoder.model.state_dict(), given, encoder.card)
    return replace(source, declares=lambda d_model, most: encoder.declared)
