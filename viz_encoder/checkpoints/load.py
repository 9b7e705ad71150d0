"""load: from a built-in name, a folder or a hub id to an encoder with the reader of its inputs."""

from dataclasses import replace
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Annotated

import torch
from torch import Tensor, nn

from viz_encoder.arguments import Progress, Seed, public
from viz_encoder.checkpoints.agreement import compare_runs, compare_vectors
from viz_encoder.checkpoints.builtin import BUILTIN
from viz_encoder.checkpoints.loaded import LoadedEncoder, ModelCard
from viz_encoder.checkpoints.memory import in_memory, of_memory, plan_memory
from viz_encoder.checkpoints.plan import Plan, plan
from viz_encoder.checkpoints.readers import (
    NOTHING,
    GivenReaders,
    given_reading,
    read_given,
)
from viz_encoder.checkpoints.recognize import plainly
from viz_encoder.checkpoints.rename import require_match
from viz_encoder.checkpoints.sentence_transformers import lower_cased
from viz_encoder.checkpoints.source import InMemory
from viz_encoder.checkpoints.surgery import fold_scales, share_layers, tie
from viz_encoder.checkpoints.weights import silent
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import CheckpointError, KeyMismatch
from viz_encoder.inputs import TextReader
from viz_encoder.model import Encoder
from viz_encoder.model.declared import Declared
from viz_encoder.model.saving import own_file


def _wanted(given: object) -> str:
    """Describe the accepted type to someone who passed what holds a model, as a pipeline."""
    if isinstance(given, type) or not isinstance(getattr(given, "model", None), nn.Module):
        return "the name of a model, the path of a folder, a model in memory or an EncoderConfig"
    own = "pipeline" if type(given).__name__.endswith("Pipeline") else "it"
    readers = {"tokenizer": "tokenizer", "image_processor": "processor"}
    beside = [f", {readers[x]}={own}.{x}" for x in readers if getattr(given, x, None) is not None]
    return f"the model that it holds: vz.load({own}.model{''.join(beside)})"


Model = Annotated[str | Path | nn.Module | LoadedEncoder | EncoderConfig, _wanted]
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@public(fault=CheckpointError)
def load(
    model: Model,
    tokenizer: object = None,
    *,
    processor: object = None,
    device: str | torch.device = "auto",
    dtype: torch.dtype | None = None,
    part: str = "",
    revision: str = "",
    seed: Seed | None = None,
) -> LoadedEncoder:
    """Load a model by name, from a folder or the hub, from memory, or as random weights.

    The weights of a model in memory are copied, so training it later changes nothing here: load it
    again to see the change. Only its settings and weights are read; dropout is off, and the model's
    hooks do not run. It may be in training mode, on another device, in another dtype, or
    wrapped by torch.compile or DistributedDataParallel.

    Args:
        model: a built-in name ("all-MiniLM-L6-v2", "scene"); the path of a folder; the id of a
            model on the Hugging Face hub ("organization/name"), which is then downloaded; a
            transformers model, a SentenceTransformer, a timm ViT, a torch.nn.TransformerEncoder or
            a vz.Encoder in memory; an EncoderConfig, for an untrained encoder; or what `load`
            returned, which is returned as it is.
        tokenizer: a fast transformers tokenizer or a tokenizers.Tokenizer, for a model in memory
            or in place of a folder's own. Without one, a model of texts takes token ids.
        processor: a transformers image processor, likewise. Without one, a model of pictures in
            memory takes pixels; an untrained one takes pictures, too, as pixels from −1 to 1.
        device: "auto" (where a model in memory is; else CUDA, else MPS, else CPU) or any torch
            device.
        dtype: the type to compute in; float32 if not given, whatever the model's own dtype is.
        part: "text" or "vision", for a model that has both (CLIP, SigLIP); "vision" if not given.
        revision: branch, tag or commit on the hub; the newest of the main branch if not given.
        seed: for an untrained encoder's weights; 0 if not given. torch's own generator is left
            alone.

    Raises:
        UnknownFamily: a model that no family here describes; `vz.record` watches any.
        CheckpointError: no such model, or files or weights that cannot be trusted or do not fit
            together.
    """
    if dtype is not None and dtype not in DTYPES:
        raise CheckpointError(
            f"dtype is {shown(dtype)}; it must be torch.float64, float32, bfloat16 or float16."
        )
    if seed is not None and not isinstance(model, EncoderConfig):
        raise CheckpointError("seed is for random weights: it goes only with an EncoderConfig.")
    given = read_given(tokenizer, processor)
    if isinstance(model, LoadedEncoder) and device == "auto" and not dtype and given == NOTHING:
        return model
    if isinstance(model, nn.Module | LoadedEncoder):
        source = in_memory(model, given)
        where = choose_device(str(source.device) if device == "auto" else device)
        encoder = _filled(source, part)
    else:
        where = choose_device(device)
        if isinstance(model, EncoderConfig):
            encoder = _filled(untrained(model, given, seed or 0), part)
        else:
            encoder = fill(plan(model, part=part, revision=revision), given=given)
    return encoder.to(where, dtype or torch.float32)


def _filled(source: InMemory, part: str) -> LoadedEncoder:
    """The encoder of a source that knows what was given beside it, its run held to the model's."""
    with of_memory():
        found = plan_memory(source, part)
        encoder = fill(found)
    if source.runs is None:
        return encoder
    notes = *encoder.card.notes, *compare_runs(source.runs, encoder, found)
    encoder = replace(encoder, card=replace(encoder.card, notes=notes))
    if source.pools is None:
        return encoder
    return compare_vectors(source.pools, encoder, by_text=source.own_reader)


def fill(plan: Plan, tell: Progress = silent, given: GivenReaders = NOTHING) -> LoadedEncoder:
    """Build without memory on torch's meta device, check every key, then put the tensors in.

    Args:
        plan: what `plan` returned.
        tell: called with the share that is read, 0 … 1; what it raises ends the loading.
        given: a tokenizer or picture settings, in place of the checkpoint's own.
    """
    config, family = plan.config, plan.family
    model = without_weights(config)
    tensors = _ours(plan, plan.source.tensors(plan.needed, tell))
    require_match(tensors, model.state_dict())
    model.load_state_dict(tensors, strict=True, assign=True)
    held = {tensor.data_ptr(): tensor.numel() for tensor in tensors.values()}
    card = replace(plan.card, n_parameters=sum(held.values()))
    about = config, plan.file, family
    own = given == NOTHING
    reader, padding = plan.source.reading(*about) if own else given_reading(given, *about)
    return LoadedEncoder(model.eval(), reader, card, padding, _declared(plan, reader))


def _declared(plan: Plan, reader: object) -> Declared | None:
    """How the model's own vectors are made, if it reads texts and its files say so."""
    entry = BUILTIN.get(plan.card.name)
    if not isinstance(reader, TextReader):
        return None
    if entry is not None and entry.source == plan.card.source:
        return entry.declared
    found = plan.source.declared(plan.config.d_model, reader.max_tokens)
    if found is not None and found.lower_case:
        lower_cased(reader.tokenizer)
    return found


def without_weights(config: EncoderConfig) -> Encoder:
    """The modules on torch's meta device; what this machine has no room for is refused."""
    with plainly(), torch.device("meta"):
        return Encoder(config)


def _ours(plan: Plan, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    try:
        tensors = plan.names.rename(tensors)
        tensors = fold_scales(share_layers(tensors, plan.config.n_layers))
        if plan.family.adapt is not None:
            tensors = plan.family.adapt(tensors, plan.config)
        return tie(tensors, plan.config)
    except (LookupError, TypeError, ValueError, RuntimeError) as fault:  # odd shapes, no such name
        said = str(fault).partition("\n")[0][:200].rstrip(".")
        raise KeyMismatch(f"The tensors do not fit config.json: {said}.") from fault


def choose_device(device: str | torch.device = "auto") -> torch.device:
    """The device of that name; for "auto" the fastest that is there."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen).item()
    except (RuntimeError, AssertionError, TypeError, ValueError, OverflowError) as fault:
        raise CheckpointError(
            f"The device {device!r} cannot be used here ({fault}). Use 'auto' or 'cpu'."
        ) from fault
    return chosen


STD = 0.02  # std of BERT's tables (Devlin et al., 2019, arXiv:1810.04805)


def untrained(config: EncoderConfig, given: GivenReaders, seed: int) -> InMemory:
    """Random weights: torch's own, and what vz.Encoder starts from zero drawn from N(0, 0.02²).

    Those are positions, prefix tokens, relative positions and learned queries; at zero, an
    untrained encoder would not know any order. torch's generator is left as it was.

    Raises:
        ConfigError: the weights do not fit in memory.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"), torch.no_grad():
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would reseed GPUs too
        model = Encoder(config)
        for name, weight in model.named_parameters():
            if not name.endswith("bias") and not bool(weight.any()):
                weight.normal_(0, STD)
    card = ModelCard("encoder", f"random weights, seed {seed}", "")
    file = own_file(config, untrained=True)
    if config.embedding is Embedding.PATCH:
        file["image"] = {}  # pixels from −1 to 1
    return InMemory(file, model.state_dict(), given, card)
