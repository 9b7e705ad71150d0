"""A sentence-transformers folder: how its vectors are made, read from its files and written there.

modules.json names what follows the encoder, a folder each: 1_Pooling, 2_Dense, 3_Normalize. Nothing
is imported by a name from a file, and no pickle is opened.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.normalizers import Lowercase, Sequence
from torch import Tensor

from viz_encoder.checkpoints.declared import FLAGS, Json, Module, Shapes, declared
from viz_encoder.checkpoints.files import (
    inside,
    read_header,
    read_json,
    read_json_list,
    read_tensors,
    there,
)
from viz_encoder.errors import CheckpointError
from viz_encoder.model.declared import Declared, DeclaredStep, Dense, LayerNorm

MODULES, WEIGHTS = "modules.json", "model.safetensors"
PROMPTS = "config_sentence_transformers.json"
PACKAGE = "sentence_transformers"
SETTINGS = tuple(  # encoder settings; older versions put the family in the name
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
MAX_MODULES = 20
FOLDER = re.compile(r"\w[\w.\-]{0,100}", re.ASCII)


def read_declared(folder: Path, d_model: int, most: int) -> Declared | None:
    """Read a folder's declaration; None if it is not from sentence-transformers.

    Where something cannot be read or computed, the model can still be used: `Declared.problem`
    says it, and whoever asks for its vectors is told.
    """
    if not there(folder / MODULES):
        return None
    try:
        named = [_named(entry) for entry in read_json_list(folder, MODULES, MAX_MODULES)]
        if named[:1] != [("Transformer", "")]:
            raise CheckpointError(
                "its first module is not a Transformer in the folder of modules.json"
            )
        modules = [_module(folder, kind, path) for kind, path in named[1:]]
        settings = next((read_json(folder, n) for n in SETTINGS if there(folder / n)), {})
        limit = settings.get("max_seq_length")
        limit = _tokenizer_limit(folder) if limit is None else limit
        prompts = read_json(folder, PROMPTS) if there(folder / PROMPTS) else {}
        return declared(modules, settings, prompts, d_model, most, limit)
    except CheckpointError as fault:
        return not_computed(folder.name, fault)


def declared_by_model(model: Any, d_model: int, most: int) -> Declared:
    """Read the declaration of a SentenceTransformer in memory."""
    first, *others = model.children()
    try:
        for module in others:
            if type(module).__module__.partition(".")[0] != PACKAGE:
                raise CheckpointError(f"it has a custom module, {type(module).__name__}")
        settings = {**first.get_config_dict(), "do_lower_case": first.do_lower_case}
        prompts = {"prompts": model.prompts, "default_prompt_name": model.default_prompt_name}
        modules = [(type(one).__name__, one.get_config_dict(), _of_memory(one)) for one in others]
        return declared(modules, settings, prompts, d_model, most, model.max_seq_length)
    except CheckpointError as fault:
        return not_computed("the model", fault)


def write_declared(declared: Declared, folder: Path, d_model: int) -> bool:
    """Write the files that say it beside a saved encoder; False where it cannot be computed."""
    if declared.problem:
        return False
    named = [("Transformer", ""), ("Pooling", "1_Pooling")]
    named += [
        (type(s).__name__, f"{n}_{type(s).__name__}") for n, s in enumerate(declared.steps, 2)
    ]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"{PACKAGE}.models.{kind}"}
        for n, (kind, path) in enumerate(named)
    ]
    for _, path in named[1:]:
        (folder / path).mkdir(exist_ok=True)
    _write(folder / "1_Pooling/config.json", _pooling_settings(declared, d_model))
    for (_, path), step in zip(named[2:], declared.steps, strict=True):
        _write_step(folder / path, step)
    settings = {"max_seq_length": declared.max_tokens, "do_lower_case": declared.lower_case}
    _write(folder / SETTINGS[0], settings)
    prompts = {"prompts": dict(declared.prompts), "default_prompt_name": declared.default_prompt}
    similarity = {"similarity_fn_name": declared.similarity} if declared.similarity else {}
    _write(folder / PROMPTS, prompts | similarity)
    _write(folder / MODULES, modules)
    return True


def lower_cased(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, which first writes a text in small letters."""
    normalizer: Any = tokenizer.normalizer
    several: Any = normalizer if isinstance(normalizer, Sequence) else [normalizer]
    inner = list(several)
    if not any(isinstance(each, Lowercase) for each in inner):
        tokenizer.normalizer = Sequence([Lowercase(), *filter(None, inner)])
    return tokenizer


def not_computed(name: str, fault: CheckpointError) -> Declared:
    """A declaration that raises `fault` when its vectors are requested."""
    why = str(fault).rstrip(".")
    return Declared(
        problem=f"The pooling that {name[:80]} declares cannot be computed: {why}. Choose another."
    )


def _named(entry: object) -> tuple[str, str]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str):
        raise CheckpointError(f"{MODULES} has the entry {shown(entry)}, which names no type")
    package, _, kind = entry["type"].rpartition(".")
    if package.partition(".")[0] != PACKAGE:
        raise CheckpointError(
            f"{MODULES} asks to run code of its own, {shown(entry['type'])}; that is never done"
        )
    path = entry.get("path", "")
    if not isinstance(path, str) or (path and not FOLDER.fullmatch(path)):
        raise CheckpointError(
            f"{MODULES} names the folder {shown(path)}; it must be inside this folder"
        )
    return kind, path


def _module(folder: Path, kind: str, path: str) -> Module:
    """A module's settings, which Normalize need not have, and how to read its tensors."""
    name = f"{path}/config.json"
    about = read_json(folder, name) if path and there(folder / name) else {}

    def read(wanted: Shapes) -> dict[str, Tensor]:
        name = f"{path}/{WEIGHTS}"
        if not path or not there(folder / name):
            raise CheckpointError(
                f"{path or 'its ' + kind} has no {WEIGHTS}, and pickled weights are never opened; "
                "save the model again with a newer sentence-transformers"
            )
        _require_shapes(read_header(inside(folder, name)), wanted, name)
        # Copies: what safetensors gives is the file itself, which may be written over.
        return {
            key: tensor.to(torch.float32, copy=True)
            for key, tensor in read_tensors(folder, name, list(wanted))
        }

    return kind, about, read


def _of_memory(module: Any) -> Any:
    def read(wanted: Shapes) -> dict[str, Tensor]:
        held = {key: value.detach() for key, value in module.state_dict().items()}
        _require_shapes({k: tuple(v.shape) for k, v in held.items()}, wanted, "the module")
        return {key: value.to("cpu", torch.float32, copy=True) for key, value in held.items()}

    return read


def _require_shapes(found: Shapes, wanted: Shapes, where: str) -> None:
    if dict(found) != dict(wanted):
        raise CheckpointError(f"{where} holds {shown(found)}; its settings say {dict(wanted)}")


def _tokenizer_limit(folder: Path) -> int | None:
    """Newer files say the limit in the tokenizer's settings; 10³⁰ stands for none."""
    if not there(folder / "tokenizer_config.json"):
        return None
    limit = read_json(folder, "tokenizer_config.json").get("model_max_length")
    return limit if isinstance(limit, int) and not isinstance(limit, bool) else None


def _pooling_settings(declared: Declared, d_model: int) -> Json:
    """Normalize to what all versions read, with older files' order of poolings."""
    shared = {"word_embedding_dimension": d_model, "include_prompt": declared.include_prompt}
    flags = {flag: mode in declared.methods for flag, mode in FLAGS.items()}
    ordered = tuple(mode for mode in FLAGS.values() if mode in declared.methods)
    if ordered == declared.methods:
        return shared | flags
    return shared | {"pooling_mode": list(declared.methods)}


def _write_step(folder: Path, step: DeclaredStep) -> None:
    about: dict[str, Any] = {}
    tensors: dict[str, Tensor | None] = {}
    if isinstance(step, LayerNorm):
        about = {"dimension": len(step.weight)}
        tensors = {"norm.weight": step.weight, "norm.bias": step.bias}
    elif isinstance(step, Dense):
        n_out, n_in = step.weight.shape
        part = "linear" if step.activation == "Identity" else "activation"
        about = {
            "in_features": n_in,
            "out_features": n_out,
            "bias": step.bias is not None,
            "activation_function": f"torch.nn.modules.{part}.{step.activation}",
        }
        about |= {"use_residual": True} if step.residual else {}
        tensors = {
            "linear.weight": step.weight,
            "linear.bias": step.bias,
            "residual.weight": step.residual_weight,
        }
    if about:
        _write(folder / "config.json", about)
        kept = {name: each for name, each in tensors.items() if each is not None}
        save_file(kept, folder / WEIGHTS)
        # safetensors writes private files.
        shutil.copymode(folder / "config.json", folder / WEIGHTS)


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
