"""attribute: what carried an answer, a state or a vector, split exactly."""

from collections.abc import Callable
from typing import Any, TypedDict, Unpack, overload

from torch import Tensor, nn

from viz_encoder.arguments import Token, public
from viz_encoder.attribution.any_model import ModelShares, attribute_model
from viz_encoder.attribution.asked import AttributeArguments
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.attribution.readout import Of
from viz_encoder.attribution.rules import Through
from viz_encoder.attribution.starts import require_at_rest, starts_of
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.model import Encoder
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import One, loaded


class Asks(TypedDict, total=False):
    """The question, as `attribute` takes it."""

    of: Of | None
    label: int | str | None
    token: Token | None
    against: Any
    toward: Any
    through: Through


@overload
def attribute(
    encoder: LoadedEncoder | Encoder, text: One | Trace, **asks: Unpack[Asks]
) -> Attribution: ...
@overload
def attribute(encoder: LoadedEncoder | Encoder, text: Any, **asks: Unpack[Asks]) -> Any: ...
@overload
def attribute(
    encoder: nn.Module,
    text: Callable[[Any], Any],
    *,
    score: Callable[[Any], Tensor],
    at: nn.Module | Tensor | None = None,
) -> ModelShares: ...
@public
def attribute(
    encoder: Any,  # the overloads give the types of what is given, and of what comes
    text: Any,
    *,
    of: Of | None = None,
    label: int | str | None = None,
    token: Token | None = None,
    against: Any = None,
    toward: Any = None,
    through: Through = "values",
    score: Any = None,
    at: Any = None,
) -> Any:
    """Split an answer, a state or a sentence vector exactly over tokens, heads and links.

    With a run's attention weights, norm divisors and activation factors held as they ran, the
    encoder is linear in its input embeddings and its biases, so a score is a sum of one share a
    token and one for the biases (Ali et al., 2022, arXiv:2202.07304; Modarressi et al., 2023,
    arXiv:2306.02873). One backward pass gives all of them; attention maps are never held whole.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input, or a batch, as `vz.capture` takes it; or a trace of this encoder.
        of: "answer", the logit of a prediction head; "state", the final state of `token` along
            itself; "pooled", the vector of the whole input along itself. If not given: an answer
            where a head gives one, else the state if there is a token, else the vector.
        label: for an answer, a label or word; the likeliest if not given.
        token: where the answer is read, or whose state.
        against: what to subtract: another label, "runner-up" (labels, for answers only), or
            another text or trace: then the difference of the two runs is split, for states and
            vectors along the difference, so that the score is their distance.
        toward: for "pooled", a text or a vector: the score is the dot product with it, at length 1.
        through: "values", or "attention", the rules of AttnLRP (Achtibat et al., 2024,
            arXiv:2402.05602), whose shares do not add up to the score.
        score: for any other PyTorch model, `vz.attribute(model, run, score=score)`: a function that
            returns the number to split, given what `run(model)` returned.
        at: for any other model, the module that outputs the input embeddings, or the tensor of
            embeddings that `run` passes. Default: the module named "embeddings", or
            `get_input_embeddings()`.

    Returns:
        One result for one input, a list of them for a batch. For another model, the shares of its
        tokens and biases.

    Raises:
        SelectionError: no head that answers, no such label or token, options that do not go
            together, or a model in training mode or with quantized weights.
        InputError: inputs that the encoder cannot read, or a score that is not a number.
        TraceError: the shares do not add up to the score.
    """
    if isinstance(encoder, nn.Module) and not isinstance(encoder, Encoder):
        if score is None or not callable(text):
            raise SelectionError(_foreign(type(encoder).__name__))
        ours = of, label, token, against, toward
        if any(each is not None for each in ours) or through != "values":
            raise SelectionError(
                "of=, label=, token=, against=, toward= and through= are for encoders that vz.load "
                "gave; of another model, score= says all that is asked."
            )
        return attribute_model(encoder, text, score, at)
    if score is not None or at is not None:
        raise SelectionError("score= and at= are for other models; ask this one by of= and label=.")
    encoder = loaded(encoder, "attribute")
    require_at_rest(encoder)
    starts, one = starts_of(encoder, text)
    asked = AttributeArguments(encoder, of, label, token, against, toward, through)
    found = [asked.of(start) for start in starts]
    return found[0] if one else found


def _foreign(name: str) -> str:
    return (
        f"A {name} is asked by what runs it and by a score: vz.attribute(model, lambda model: "
        "model(**inputs), score=lambda out: out.logits[0, 1]). To ask by a text, load it: "
        "encoder = vz.load(model, tokenizer=tokenizer)."
    )
