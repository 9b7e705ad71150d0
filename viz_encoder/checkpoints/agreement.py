"""Whether a model in memory computes what its weights and settings say: one short run of both."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.checkpoints.loaded import LoadedEncoder
from viz_encoder.checkpoints.plan import Plan
from viz_encoder.checkpoints.sentence_transformers import not_computed
from viz_encoder.config import Embedding
from viz_encoder.errors import CheckpointError
from viz_encoder.inputs import TextReader
from viz_encoder.model.declared import Declared

N_TOKENS = 8
ADDED = range(4)  # where most vocabularies have padding and other special tokens
# Relative to the largest value: float32 differs by 1e-6; half precision is the model's own
# rounding.
TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.2}
Output = Float[Tensor, "token d_model"]


def compare_runs(theirs: nn.Module, ours: LoadedEncoder, plan: Plan) -> tuple[str, ...]:
    """Run both on a few tokens, vectors or one picture, hooks and all; notes on what differs.

    Only weights and settings are read, so a hook, a replaced function, a changed attribute or a
    setting that was edited after the model was built would otherwise go unseen.

    Raises:
        CheckpointError: the two outputs differ by more than rounding.
    """
    values, kind = _probe(ours), next(theirs.parameters()).dtype
    with torch.no_grad():
        ran = ours.model(values.to(ours.device), capture=True)
    found, tolerance = ran.output[0].float().cpu(), TOLERANCE.get(kind, 1e-4)
    with _blocks_watched(theirs, ran.hidden[1:], tolerance) as agree:
        expected = _output(theirs, values, plan)
    notes = []
    if isinstance(expected, str):
        notes.append(f"This encoder's output was not compared with the model's own: {expected}.")
    elif expected.shape != found.shape:
        sizes = f"the model's output has shape {tuple(expected.shape)}, ours {tuple(found.shape)}"
        notes.append(f"This encoder's output was not compared with the model's own: {sizes}.")
    else:
        name, apart = type(theirs).__name__, _apart(found, expected)
        if not apart <= tolerance:
            raise _another(name, f"output differs by {apart:.1e} of its largest value")
        _require_blocks(name, agree()[:-1])
    if kind not in (torch.float32, torch.float64):
        said = str(kind).removeprefix("torch.")
        notes.append(f"The model in memory is {said}; here it is computed in float32.")
    return tuple(notes)


def compare_vectors(theirs: Any, ours: LoadedEncoder, *, by_text: bool) -> LoadedEncoder:
    """The encoder, whose declared pooling is held to what a SentenceTransformer itself gives.

    A hook on it, a class with a `forward` or an `encode` of its own, or a `truncate_dim` changes
    the vectors and none of its modules; then the maps are right, and whoever asks for the declared
    vectors is told.

    Args:
        theirs: the SentenceTransformer.
        ours: its first module, loaded, and what it declares.
        by_text: whether it reads texts with the same tokenizer, so that `encode` is compared too.
    """
    try:
        notes = _vector_notes(theirs, ours, by_text)
    except CheckpointError as fault:
        declared = not_computed("the model", fault)
        ours, notes = replace(ours, declared=declared), (declared.problem,)
    return replace(ours, card=replace(ours.card, notes=(*ours.card.notes, *notes)))


def _vector_notes(theirs: Any, ours: LoadedEncoder, by_text: bool) -> tuple[str, ...]:
    """Notes on what could not be compared; vectors that differ by more than rounding raise."""
    reader, said = ours.reader, ours.declared
    if said is None or said.problem or not isinstance(reader, TextReader):
        return ()
    ids = _probe(ours)[:, : said.max_tokens]
    features = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    where = next(theirs.parameters()).device
    on_device = {name: value.to(where) for name, value in features.items()}
    asked: list[tuple[Callable[[], Any], Tensor]] = [
        (lambda: theirs(on_device)["sentence_embedding"][0], _vector(ours, ids, said, 0))
    ]
    if by_text:
        text = reader.tokenizer.decode(ids[0].tolist()).strip()
        read = ours.read(text, declared=True)
        found = _vector(ours, read.values, said, read.samples[0].n_prompt)
        asked.append((lambda: theirs.encode([text], show_progress_bar=False)[0], found))
    for ask, found in asked:
        try:
            with _evaluated(theirs), torch.no_grad():
                expected = torch.as_tensor(ask()).float().cpu()
        except Exception as fault:  # code of another package, or the person's own
            why = str(fault).partition("\n")[0][:120].rstrip(".")
            return (
                "These vectors were not compared with the model's own: the model could not be run "
                f"({why}).",
            )
        _require_same_vector(theirs, expected, found)
    return ()


def _vector(
    ours: LoadedEncoder, ids: Tensor, said: Declared, n_prompt: int
) -> Float[Tensor, " d_pooled"]:
    with torch.no_grad():
        hidden = ours.model(ids.to(ours.device)).output.float().cpu()
    return said.vectors(hidden, torch.ones(hidden.shape[:2], dtype=torch.bool), n_prompt)[0]


def _require_same_vector(theirs: Any, expected: Tensor, found: Tensor) -> None:
    dim = getattr(theirs, "truncate_dim", None)
    if expected.shape != found.shape:
        why = (
            f"its truncate_dim is {dim}, but vectors here keep all {len(found)} dimensions: "
            "set it to None and truncate the vectors yourself"
            if dim is not None
            else f"its own vector has shape {tuple(expected.shape)}, not {tuple(found.shape)}"
        )
        raise CheckpointError(why)
    apart = _apart(found, expected)
    if not apart <= TOLERANCE.get(next(theirs.parameters()).dtype, 1e-4):
        raise CheckpointError(
            f"its own vectors differ from those of its modules by {apart:.1e} of the largest "
            "value, as happens with a hook or with a forward or encode method of its own"
        )


def _apart(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-12))


def _another(name: str, what: str) -> CheckpointError:
    return CheckpointError(
        f"{name} computes something other than its weights and config say: its {what}. A hook, a "
        "replaced part or an edited config can cause that; vz.record(model, …) captures the model "
        "as it runs."
    )


def _require_blocks(name: str, agree: list[bool]) -> None:
    """A norm can hide from the output what a hook or an edited setting did to one block.

    Where no block agrees, what these modules give are not the hidden states. The last one's may be
    taken before a norm; the output was compared.
    """
    if any(agree) and not all(agree):
        raise _another(name, f"hidden states after block {agree.index(False) + 1} differ")


def _probe(ours: LoadedEncoder) -> Tensor:
    """Ids that are not padding, or a picture or vectors of noise, the same at every call."""
    config = ours.config
    if config.embedding is Embedding.TOKEN:
        few = range(min(config.vocab_size, 8 * N_TOKENS))
        ids = [number for number in few if number not in (ours.padding.id, *ADDED)] or list(few)
        n_tokens = min(N_TOKENS, config.max_positions)
        return torch.tensor([[ids[7 * at % len(ids)] for at in range(n_tokens)]])
    noise = torch.Generator().manual_seed(0)
    if config.embedding is Embedding.VECTOR:
        return torch.randn(1, N_TOKENS, config.d_model, generator=noise)
    height, width = config.image_size
    return torch.randn(1, config.n_channels, height, width, generator=noise)


def _output(model: nn.Module, values: Tensor, plan: Plan) -> Output | str:
    weight = next(model.parameters())
    floating = {3: "inputs_embeds", 4: "pixel_values"}
    name = floating.get(values.ndim, "input_ids")
    given = values.to(weight.device, weight.dtype if values.is_floating_point() else None)
    try:
        with _evaluated(model), torch.no_grad():
            states = plan.family.run(model, {name: given})
    except Exception as fault:  # code of another package, on a model of any shape
        return f"the model could not be run ({str(fault).partition(chr(10))[0][:120].rstrip('.')})"
    return states[0].float().cpu()


@contextmanager
def _evaluated(model: nn.Module) -> Iterator[None]:
    """Without dropout, each module's mode afterwards as it was."""
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextmanager
def _blocks_watched(
    model: nn.Module, states: Sequence[Float[Tensor, "batch token d_model"]], tolerance: float
) -> Iterator[Callable[[], list[bool]]]:
    """Gives a function that says of each block whether it gave our state in the with block.

    Blocks are the children of a list of as many modules as there are states; of several lists it is
    the one that agrees most. A state is compared by its first token and the mean over its tokens,
    after all hooks of the block, so that nothing is kept.

    Args:
        model: what will run, on one sample.
        states: ours, after each block.
        tolerance: of the largest value.
    """
    lists = [
        list(part.children())
        for part in model.modules()
        if isinstance(part, nn.ModuleList | nn.Sequential) and len(part) == len(states)
    ]
    agree = [[False] * len(states) for _ in lists]
    handles = [
        block.register_forward_hook(_comparing(states[at], tolerance, agree[number], at))
        for number, blocks in enumerate(lists)
        for at, block in enumerate(blocks)
    ]
    try:
        yield lambda: max(agree, key=sum, default=[])
    finally:
        for handle in handles:
            handle.remove()


def _comparing(
    ours: Tensor, tolerance: float, agree: list[bool], at: int
) -> Callable[[nn.Module, Any, Any], None]:
    shape, expected = ours.shape[1:], _print(ours[0])

    def look(_: nn.Module, given: Any, out: Any) -> None:
        state = _one_sample(out, shape)
        if state is not None:
            apart = (_print(state) - expected).abs().max()
            agree[at] = bool(apart <= tolerance * expected.abs().max())

    return look


def _print(state: Float[Tensor, "token d_model"]) -> Float[Tensor, "print d_model"]:
    state = state.detach().float().cpu()
    return torch.stack([state[0], state.mean(dim=0)])


def _one_sample(out: Any, shape: torch.Size) -> Tensor | None:
    """A block's first tensor as "token d_model", if it may be hidden states of one sample."""
    values = list(out.values()) if isinstance(out, dict) else out
    first = values[0] if isinstance(values, list | tuple) and values else values
    if not isinstance(first, Tensor) or first.is_nested or not first.is_floating_point():
        return None
    if first.ndim == 3 and 1 in first.shape[:2]:
        first = first.flatten(0, 1)
    return first if first.shape == shape else None
