"""States: hidden states of one batch after some layers, and their pooling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Embedding, Task
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.model import EncoderOutput
from viz_encoder.model.declared import Declared, token_weights
from viz_encoder.model.head import PredictionHead
from viz_encoder.model.pooling import (
    METHODS,
    NO_FILES,
    after_prefix,
    attention_shares,
    head_shares,
    pool,
    received_shares,
)
from viz_encoder.trace.capture import layers_of
from viz_encoder.trace.layer import LayerTrace, received
from viz_encoder.trace.same_model import require_made_by
from viz_encoder.trace.trace import Trace

NEEDS_QUERY = "attention"
SAME = {
    "last": "lasttoken",
    "first_last": "mean",
}  # weights of tokens, as sentence-transformers has them
NEEDS_FILES = ("pooler", "declared")  # depend on the model, whatever the input


@dataclass(frozen=True, eq=False)
class States:
    """Hidden states after some layers: 0 = embeddings, n_layers = the output.

    If the model has a final norm, it is applied at every layer, as for the output, so that all
    layers share one scale.
    """

    layers: tuple[int, ...]
    after: tuple[Float[Tensor, "batch token d_model"], ...]  # one per entry of `layers`
    first: Float[Tensor, "batch token d_model"]  # after the first block
    valid: Bool[Tensor, "batch token"]
    n_prefix: int
    head: Callable[[Tensor, Tensor], Tensor] | None = None
    declared: Declared | None = None
    n_prompt: int = 0  # leading tokens of the model's own prompt
    ran: tuple[tuple[LayerTrace, ...], ...] = ()  # by sequence, for "received"

    def pooled(
        self,
        method: str,
        place: int,
        *,
        query: Float[Tensor, " d_query"] | None = None,
        within: Bool[Tensor, "batch token"] | None = None,
    ) -> Float[Tensor, "batch d_pooled"]:
        """Pool each sequence after layers[place], over the tokens `within`.

        "first_last" is the mean of this layer and the first block; at layer 0, it is layer 0 alone.
        "received" weighs by the attention that led to this layer; at layer 0, none has: the mean.
        """
        hidden = self.after[place]
        first = self.first if self.layers[place] else hidden
        valid = self.valid if within is None else within
        with torch.inference_mode():
            if method == "declared" and self.declared is not None:
                return self.declared.vectors(hidden, valid, self.n_prompt).float()
            vectors = pool(
                hidden,
                valid,
                method,
                first=first,
                received=self.received(place) if method == "received" else None,
                query=None if query is None else query.to(hidden),
                head=self.head,
                n_prefix=self.n_prefix,
            )
        return vectors.float()

    def adds(self, method: str) -> bool:
        """Whether the vector is a sum of one part per token, up to a factor."""
        if method == "declared":
            return self.declared is not None and self.declared.additive
        return method not in ("max", "pooler")

    def parts(
        self, method: str, place: int, query: Float[Tensor, " d_query"] | None = None
    ) -> Float[Tensor, "token d_pooled"]:
        """Contribution of each token of the first sequence; the vector is their sum, up to a
        factor.

        float64, on the CPU; 0 at padding. Only for methods that add up; see `adds`.
        """
        valid, one = self.valid[:1].cpu(), self.after[place][:1].cpu().double()
        kept = torch.where(valid[..., None], one, 0)
        match method:
            case "declared":
                assert self.declared is not None
                return self.declared.parts(kept, valid, self.n_prompt)[0]
            case "cls_mean":
                rest = after_prefix(valid, self.n_prefix)
                sides = [token_weights("cls", valid, valid), token_weights("mean", valid, rest)]
            case "received":
                sides = [received_shares(valid, self.received(place)[:1].cpu().double())]
            case "attention":
                assert query is not None
                sides = [attention_shares(self.after[place][:1], self.valid[:1], query).cpu()]
            case _:
                sides = [token_weights(SAME.get(method, method), valid, valid)]
        if method == "first_last":
            first = self.first[:1].cpu().double() if self.layers[place] else kept
            kept = (kept + torch.where(valid[..., None], first, 0)) / 2
        return torch.cat([side[0, :, None].double() * kept[0] for side in sides], dim=1)

    def received(self, place: int) -> Float[Tensor, "batch token"]:
        """How much attention each token received in the block before layers[place]."""
        if not self.layers[place]:
            return self.valid.float()
        block = self.layers[place] - 1
        each = [received(one[block], real) for one, real in zip(self.ran, self.valid, strict=True)]
        return torch.stack(each)

    @property
    def has_query(self) -> bool:
        """Whether the pooler attends with a learned query, as SigLIP's does."""
        return isinstance(self.head, PredictionHead) and self.head.probe is not None

    def attention_weights(self, place: int) -> Float[Tensor, "batch head token"]:
        """Attention of each of the pooler's heads to each token, after layers[place]; sums to 1."""
        with torch.inference_mode():
            return head_shares(self.after[place], self.valid, self.head).float()


def states_of(
    encoder: LoadedEncoder, trace: Trace, layers: Sequence[int] | None = None
) -> tuple[States, tuple[int, ...]]:
    """States of one run as a batch of one, and its layers; default all.

    Raises:
        SelectionError: there is no such layer, or the model did not make the run.
    """
    require_made_by(encoder, trace)
    chosen = choose_states(layers, encoder.config.n_layers)
    batch = tuple(state[None] for state in trace.hidden_states)
    states = read_through(encoder, batch, trace.output[None], trace.valid[None], chosen)
    return replace(states, n_prompt=trace.sample.n_prompt, ran=(trace.layers,)), chosen


def states_of_batch(
    encoder: LoadedEncoder,
    ran: EncoderOutput,
    valid: Bool[Tensor, "batch token"],
    layers: tuple[int, ...],
    methods: Sequence[str],
) -> States:
    """States of a batch that ran; its queries and keys are held for "received" alone."""
    states = read_through(encoder, ran.hidden, ran.output, valid, layers)
    if "received" not in methods:
        return states
    return replace(states, ran=tuple(layers_of(ran, at) for at in range(len(valid))))


def read_through(
    encoder: LoadedEncoder,
    hidden: Sequence[Float[Tensor, "batch token d_model"]],
    output: Float[Tensor, "batch token d_model"],
    valid: Bool[Tensor, "batch token"],
    layers: tuple[int, ...],
) -> States:
    """Apply the final norm to hidden states; the last layer is the output itself."""
    config, heads = encoder.config, dict(encoder.model.heads.items())

    def after(layer: int) -> Tensor:
        if layer == config.n_layers:
            return output
        state = hidden[layer].to(encoder.device, encoder.dtype)
        with torch.inference_mode():
            return encoder.model.final_norm(state)

    return States(
        layers=layers,
        after=tuple(map(after, layers)),
        first=after(1),
        valid=valid.to(output.device),
        n_prefix=len(config.prefix) if config.embedding is Embedding.PATCH else 1,
        head=heads.get(str(Task.POOL)),
        declared=encoder.declared,
    )


def choose_states(layers: Sequence[int] | None, n_layers: int) -> tuple[int, ...]:
    """Hidden states from 0 (the embeddings) to n_layers (the output); -1 = the last, None = all."""
    if layers is None:
        return tuple(range(n_layers + 1))
    for layer in layers:
        if not -n_layers - 1 <= layer <= n_layers:
            raise SelectionError(
                f"There is no state {layer}; choose 0 (embeddings) to {n_layers} (the output), or "
                f"-1 (the last) to {-n_layers - 1}."
            )
    if not layers:
        raise SelectionError("No state is chosen; choose at least one.")
    return tuple(dict.fromkeys(layer % (n_layers + 1) for layer in layers))


def choose_methods(
    encoder: LoadedEncoder,
    methods: Sequence[str] | None,
    extra: Sequence[str] = (),
    unlike: str = "",
) -> tuple[str, ...]:
    """Check the requested methods; None: all that this model supports, and `extra`.

    Args:
        encoder: the model.
        methods: their names.
        extra: names of further methods.
        unlike: why the input has no declared vector, from `unlike_declared`.

    Raises:
        SelectionError: there is no such method, or this model does not support it.
    """
    reasons = left_out(encoder, unlike)
    if methods is None:
        able = [name for name in METHODS if name not in reasons and name != NEEDS_QUERY]
        return (*able, *extra)
    for method in methods:
        if method not in METHODS and method not in extra:
            known = ", ".join((*METHODS, *(name for name in extra if name not in METHODS)))
            raise SelectionError(f"There is no pooling {method!r}; choose one of {known}.")
        if method in NEEDS_FILES and method in reasons:
            raise SelectionError(reasons[method])
        if method == NEEDS_QUERY and method not in extra:
            raise SelectionError(
                "Attention pooling needs a learned query; train one on labeled items first."
            )
    if not methods:
        raise SelectionError(f"No pooling is chosen; choose from {', '.join(METHODS)}.")
    return tuple(dict.fromkeys(methods))


def left_out(encoder: LoadedEncoder, unlike: str = "") -> dict[str, str]:
    """Methods that do not apply to this model or input, each with the reason."""
    reasons, name = {}, encoder.card.name
    if encoder.declared is None:
        reasons["declared"] = f"{name} declares no pooling: {NO_FILES}."
    elif why := encoder.declared.problem or unlike:
        reasons["declared"] = why
    if str(Task.POOL) not in encoder.model.heads:
        reasons["pooler"] = f"{name} has no pooler: its files hold no head that makes one vector."
    if encoder.config.embedding is Embedding.PATCH:
        reasons["last"] = "The last token of a picture is only its lower right patch."
        if not encoder.config.prefix:
            for method in ("cls", "cls_mean"):
                reasons[method] = f"{name} has no [CLS]: its first token is the upper left patch."
    return reasons


def unlike_declared(encoder: LoadedEncoder, sample: Sample, n_tokens: int) -> str:
    """Why sentence-transformers would have read this input differently; "" if it would not.

    Args:
        encoder: the model.
        sample: the input as read.
        n_tokens: its number of tokens, without padding.
    """
    if encoder.declared is None:
        return ""
    return encoder.declared.unlike(n_tokens, sample.n_prompt, "".join(sample.texts[:1]))
