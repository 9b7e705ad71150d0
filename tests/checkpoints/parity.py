"""Parity: a tiny random checkpoint as transformers writes it, run by the reference and by us."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

import viz_encoder as vz
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.inputs import Inputs, Sample

TOLERANCE = 2e-5  # of the largest value; the smallest real mistake we know is 7e-4
N_WORDS = 45
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(N_WORDS - 5))]
SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 19,
}  # fmt: skip
LENGTHS = ((1,), (7, 4, 1), (19, 19))  # 19 is the most that the text models here read


class Expected(NamedTuple):
    """What the reference says: None where a family has no such."""

    hidden: tuple[Tensor, ...]  # 0 = embeddings … ; may end with the final norm's output
    maps: tuple[Tensor, ...]
    output: Tensor | None = None  # after the final norm
    heads: Mapping[str, Tensor] = {}


Run = Callable[[Any, Inputs], Expected]


@dataclass(frozen=True)
class Case:
    """One line of the table: a transformers model with sizes of its own, and how to compare it."""

    name: str
    model_type: str  # which the table must have all of
    model: Callable[[], Any]  # a freshly built random transformers model
    run: Run
    kind: str = "text"
    wrong: Mapping[str, Any] = field(default_factory=dict)  # settings of which each must be seen
    sizes: tuple[tuple[int, int], ...] = ()  # pictures: heights and widths in pixels
    lengths: tuple[tuple[int, ...], ...] = LENGTHS
    part: str = ""
    pad_id: int = 0
    end_id: int | None = None  # of the token that ends each text, where the reference looks for it
    save: Callable[[Any, Path], Any] | None = None  # where it is not transformers' save_pretrained
    loose: float = 1.0  # times TOLERANCE, with the reason beside it


def builder(
    family: str, sizes: Mapping[str, Any] = SIZES, **more: Any
) -> Callable[..., Callable[[], Any]]:
    """What makes random models of transformers: builder("Bert")("ForMaskedLM", hidden_act="relu").

    `add_pooling_layer` is said to the model, all else to its config.
    """

    def build(kind: str = "Model", **settings: Any) -> Callable[[], Any]:
        named = {name: getattr(transformers, f"{family}{name}") for name in (kind, "Config")}
        given = {key: settings.pop(key) for key in ("add_pooling_layer",) if key in settings}
        return lambda: named[kind](named["Config"](**{**sizes, **more, **settings}), **given)

    return build


def pooled(model: Any, folder: Path) -> Any:
    """With the pooler, which from_pretrained leaves out unless it is asked for."""
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder, attn_implementation="eager", add_pooling_layer=True)


def save(case: Case, folder: Path) -> Any:
    """Write the case's checkpoint with uneven weights, and return the reference, run eagerly."""
    torch.manual_seed(3)
    model = case.model().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    if case.save is not None:
        reference = case.save(model, folder)
    else:
        model.save_pretrained(folder)
        reference = type(model).from_pretrained(folder, attn_implementation="eager")
    if case.kind == "text":
        tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, "[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.add_special_tokens(WORDS[:5])
        tokenizer.save(str(folder / "tokenizer.json"))
    return reference.eval()


def before(module: Any) -> list[Tensor]:
    """What goes into a module, run by run: hidden states before a final norm, say."""
    seen: list[Tensor] = []
    module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    return seen


def run_text(task: str = "", *, segments: bool = False, norm: str = "") -> Run:
    """Hidden states and maps, and one head; the last state also before the final norm so named."""

    def expected(reference: Any, inputs: Inputs) -> Expected:
        more = {"token_type_ids": inputs.segments} if segments else {}
        last = before(getattr(reference.base_model, norm)) if norm else []
        flags = {"output_hidden_states": True, "output_attentions": True}
        out = reference(inputs.values, attention_mask=inputs.valid.long(), **flags, **more)
        heads = {task: out.pooler_output if task == "pool" else out.logits} if task else {}
        hidden = (*out.hidden_states[:-1], *last) if norm else out.hidden_states
        return Expected(hidden, out.attentions, out.hidden_states[-1] if norm else None, heads)

    return expected


def texts(
    lengths: tuple[int, ...], pad_id: int = 0, segments: bool = True, end_id: int | None = None
) -> Inputs:
    """Random token ids of these lengths, padded to the longest."""
    generator = torch.Generator().manual_seed(5)
    shape = (len(lengths), max(lengths))
    ids = torch.randint(5, N_WORDS, shape, generator=generator)
    valid = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    which = torch.randint(0, 2, shape, generator=generator) if segments else None
    if end_id is not None:
        ids[range(len(lengths)), [length - 1 for length in lengths]] = end_id
    return Inputs(
        torch.where(valid, ids, pad_id), valid, _samples(shape), which,
        padded=not bool(valid.all()),
    )  # fmt: skip


def vectors(lengths: tuple[int, ...], d_model: int) -> Inputs:
    """Random vectors of these lengths, padded to the longest."""
    generator = torch.Generator().manual_seed(5)
    valid = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    values = torch.randn(len(lengths), max(lengths), d_model, generator=generator)
    return Inputs(values, valid, _samples(valid.shape), padded=not bool(valid.all()))


def pictures(height: int, width: int, n_tokens: int, n_channels: int = 3) -> Inputs:
    """Two random pictures of one size."""
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(2, n_channels, height, width, generator=generator)
    valid = torch.ones(2, n_tokens, dtype=torch.bool)
    return Inputs(values, valid, _samples((2, n_tokens)))


def inputs_of(case: Case, encoder: LoadedEncoder) -> list[Inputs]:
    """All inputs that a case is run on."""
    config = encoder.config
    if case.kind == "image":
        side, n_prefix = config.patch_size, len(config.prefix)
        count = lambda h, w: n_prefix + (h // side) * (w // side)  # noqa: E731
        return [pictures(h, w, count(h, w), config.n_channels) for h, w in case.sizes]
    if case.kind == "vector":
        return [vectors(lengths, config.d_model) for lengths in case.lengths]
    return [texts(n, case.pad_id, config.n_segments > 1, case.end_id) for n in case.lengths]


def _samples(shape: tuple[int, ...]) -> tuple[Sample, ...]:
    return (Sample(tokens=("x",) * shape[1], special=(False,) * shape[1]),) * shape[0]


class Differences(NamedTuple):
    """The largest differences on real rows: of hidden states and heads, by the largest value."""

    hidden: float
    maps: float
    heads: float

    @property
    def worst(self) -> float:
        return max(self)


class Asked(NamedTuple):
    """One input and what the reference says of it."""

    inputs: Inputs
    expected: Expected


def ask(case: Case, encoder: LoadedEncoder, reference: Any) -> list[Asked]:
    """What the reference says of every input of the case."""
    with torch.no_grad():
        return [Asked(given, case.run(reference, given)) for given in inputs_of(case, encoder)]


def compare(encoder: LoadedEncoder, asked: list[Asked]) -> Differences:
    """Ours against what the reference said."""
    worst = Differences(0.0, 0.0, 0.0)
    for inputs, expected in asked:
        traces = vz.capture(encoder, inputs)
        apart = [_one(expected, inputs, traces[b], encoder, b) for b in range(len(traces))]
        worst = Differences(*(max(each) for each in zip(worst, *apart, strict=True)))
    return worst


def _one(expected: Expected, inputs: Inputs, trace, encoder, b: int) -> Differences:
    real = inputs.valid[b]
    ours = [*trace.hidden_states]
    theirs = [*expected.hidden]
    if expected.output is not None:
        ours, theirs = [*ours, trace.output], [*theirs, expected.output]
    # A wrong setting may give other shapes, which is a way of being seen.
    assert len(ours) == len(theirs) and len(expected.maps) == trace.n_layers
    hidden = max(_apart(o[real], t[b][real]) for o, t in zip(ours, theirs, strict=True))
    shape = tuple(trace.attention(0).shape)
    assert all(shape == weights[b].shape for weights in expected.maps), "other maps"
    maps = max(
        float((trace.attention(layer) - weights[b])[:, real].abs().max())
        for layer, weights in enumerate(expected.maps)
    )
    heads = 0.0
    for task, logits in expected.heads.items():
        with torch.inference_mode():
            got = encoder.model.heads[task](trace.output[None], real[None])[0]
        want = logits[b]
        each = got.ndim == 2
        heads = max(heads, _apart(got[real] if each else got, want[real] if each else want))
    return Differences(hidden, maps, heads)


def _apart(got: Tensor, want: Tensor) -> float:
    assert got.shape == want.shape, f"{tuple(got.shape)} is not {tuple(want.shape)}"
    return float((got - want).abs().max() / want.abs().max())


def change_config(folder: Path, changes: Mapping[str, Any], part: str = "") -> None:
    """Change settings in config.json, in its part where it has parts."""
    path = folder / "config.json"
    file = json.loads(path.read_text())
    inner = file.get(f"{part}_config", file)
    inner.update(changes)
    path.write_text(json.dumps(file))


def keep_only(folder: Path, usual: Mapping[str, Any]) -> None:
    """Drop every key that equals its class's default, as many files of the hub do."""
    path = folder / "config.json"
    file = json.loads(path.read_text())
    kept = {k: v for k, v in file.items() if k in ALWAYS or usual.get(k, MISSING) != v}
    path.write_text(json.dumps(kept))


ALWAYS, MISSING = ("model_type", "architectures"), object()
