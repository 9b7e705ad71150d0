"""A model in memory as a source: its settings and weights, read without importing its library."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints import built_elsewhere
from viz_encoder.checkpoints.built_elsewhere import (
    OF_TORCH,
    OF_TRANSFORMERS,
    OWN,
    require_known_code,
)
from viz_encoder.checkpoints.family import Family, Json, Shapes
from viz_encoder.checkpoints.loaded import LoadedEncoder, ModelCard
from viz_encoder.checkpoints.own_folder import own_file_of
from viz_encoder.checkpoints.plan import Plan, plan_source, require_part
from viz_encoder.checkpoints.readers import (
    GivenReaders,
    InputReading,
    given_reading,
    read_given,
)
from viz_encoder.checkpoints.sentence_transformers import declared_by_model
from viz_encoder.checkpoints.weights import AT_ONCE
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError, KeyMismatch, UnknownFamily
from viz_encoder.inputs import TextReader
from viz_encoder.model import Encoder
from viz_encoder.model.declared import Declared
from viz_encoder.model.saving import own_file

IN_MEMORY = "in memory"
FILE, FILE_FIRST = re.compile(r"(?<!\w)config\.json"), re.compile(r"(^|\. )config\.json")
RECORD = "vz.record(model, …) watches any PyTorch model as it runs."
CHECK = "Check that the model's config and the weights belong together."
CHANGED = "Its config or its parts were changed after it was built."


@dataclass(frozen=True, eq=False)
class InMemory:
    """A model's settings as config.json would have them, and its tensors, not yet copied."""

    file: Json
    named: Mapping[str, Tensor]
    given: GivenReaders
    card: ModelCard
    check: Callable[[EncoderConfig], None] = lambda config: None  # whether it was built so
    declares: Callable[[int, int], Declared | None] = lambda d_model, most: None
    runs: nn.Module | None = None  # the module our run is compared with
    pools: nn.Module | None = None  # a SentenceTransformer, which our vectors are compared with
    own_reader: bool = False  # whether it reads texts as we do

    @property
    def folder(self) -> Path | None:
        """There is none."""
        return None

    @property
    def device(self) -> torch.device:
        """Device of the weights; meta tensors are refused when copied."""
        where = next(iter(self.named.values())).device
        return torch.device("cpu") if where.type == "meta" else where

    def config(self) -> Json:
        """The config.json it would have."""
        return self.file

    def shapes(self) -> Shapes:
        """The shape of every tensor by its name."""
        return {name: tuple(tensor.shape) for name, tensor in self.named.items()}

    def tensors(self, wanted: Collection[str], tell: Progress) -> dict[str, Tensor]:
        """Copies, so that training the model later changes nothing here; what is tied stays so."""
        copies: dict[tuple[Any, ...], Tensor] = {}
        found: dict[str, Tensor] = {}
        for name in wanted:
            if len(found) % AT_ONCE == 0:
                tell(len(found) / len(wanted))
            tensor = self.named[name]
            place = tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
            if place not in copies:
                copies[place] = _copy(name, tensor)
            found[name] = copies[place]
        return found

    def reading(self, config: EncoderConfig, file: Json, family: Family) -> InputReading:
        """Reader passed with the model; otherwise it takes ids or pixels."""
        self.check(config)
        return given_reading(self.given, config, file, family)

    def declared(self, d_model: int, most: int) -> Declared | None:
        """Vectors a SentenceTransformer declares."""
        return self.declares(d_model, most)

    def license(self) -> str:
        """No license is stated."""
        return ""


def _copy(name: str, tensor: Tensor) -> Tensor:
    """On the CPU, floats as float32, as from files."""
    if tensor.is_meta:
        raise CheckpointError(
            f"{name} holds no numbers (it is on the meta device, or offloaded); load the model "
            "whole, without device_map."
        )
    if type(tensor) not in (Tensor, nn.Parameter):
        raise CheckpointError(
            f"{name} is a {type(tensor).__name__}, which is sharded or quantized; load the model "
            "whole, in floating point."
        )
    kind = torch.float32 if tensor.is_floating_point() else tensor.dtype
    copied = tensor.detach().to("cpu", kind, copy=True)
    if not bool(torch.isfinite(copied).all()):
        raise CheckpointError(f"{name} holds NaN or infinite values.")
    return copied


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
