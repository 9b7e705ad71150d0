"""Finds an output's token axis: the one as long as the tokens, at two lengths."""

from collections.abc import Callable

from torch import Tensor

from viz_encoder.audit.measure.setting import RowsLost
from viz_encoder.errors import InputError

ReadOutput = Callable[[Tensor, Tensor], Tensor]  # (output, valid) → "batch token d" or "batch d"
CaseAndOutput = tuple[Tensor, Tensor]  # an output, and the valid of its case
RETURN = "Give a function that returns one row a token, or one row a sample: lambda x, passed: "


def as_it_is(out: Tensor, valid: Tensor) -> Tensor:
    """One row a token, or one row a sample."""
    return out


def reading_of(made: CaseAndOutput, other: CaseAndOutput | None) -> ReadOutput:
    """How to read the output; unchanged if its samples are not the batch's.

    What is as long at every length (labels, queries) is one row a sample.

    Args:
        made: the output of the base case, which has another number of samples than of tokens.
        other: that of another length; None where the model runs at one length only.

    Raises:
        InputError: it holds neither one row a token nor one row a sample.
    """
    out, valid = made
    n_samples, n_tokens = valid.shape
    if out.ndim == 0:
        raise InputError(f"The output is one number. {RETURN}model(x, passed).last_hidden_state")
    if len(out) != n_samples:
        return _other_samples(out, valid)
    if out.ndim == 1:
        return _flat
    same = other is not None and other[0].ndim == out.ndim and len(other[0]) == len(other[1])
    if other is None or not same:
        return _at_one_length(out, n_tokens)
    sizes = list(zip(out.shape, other[0].shape, strict=True))
    moving = [axis for axis, (size, then) in enumerate(sizes) if axis and size != then]
    follows = [axis for axis in moving if sizes[axis] == (n_tokens, other[1].shape[1])]
    if len(moving) < 2 and moving == follows:
        return _by_axis(follows[0]) if follows else _flat
    if out.ndim > 2 and out.shape[1] == n_tokens and not follows:
        return _by_axis(1)  # so it is wrong at the other length, which a check will say
    raise InputError(f"{_unread(out, n_tokens)} {RETURN}{_line(out, n_tokens, len(moving))}")


def _by_axis(axis: int) -> ReadOutput:
    """The tokens are there; of each there may be a single number."""

    def read(out: Tensor, valid: Tensor) -> Tensor:
        moved = out.movedim(axis, 1)
        if moved.shape[1] != valid.shape[1]:
            raise RowsLost.of(moved, valid)
        return moved[..., None] if moved.ndim == 2 else moved

    return read


def _flat(out: Tensor, valid: Tensor) -> Tensor:
    """One row a sample."""
    return out[:, None] if out.ndim == 1 else out.flatten(1)


def _at_one_length(out: Tensor, n_tokens: int) -> ReadOutput:
    if (out.shape[1] == n_tokens) is (out.ndim > 2):
        return _by_axis(1) if out.ndim > 2 else as_it_is
    if out.ndim > 2:
        raise InputError(f"{_unread(out, n_tokens)} {RETURN}{_line(out, n_tokens, 1)}")
    raise InputError(
        f"The output is {tuple(out.shape)} for {n_tokens} tokens, and no other length runs, so it "
        "cannot be told whether it holds one number a token or one vector a sample. "
        f"{RETURN}model(x, passed)[..., None] for the first, model(x, passed).repeat(1, 2) for "
        "the second."
    )


def _other_samples(out: Tensor, valid: Tensor) -> ReadOutput:
    """With the tokens before the samples, or all of them, or the real ones, in one row."""
    n_samples, n_tokens = valid.shape
    if out.ndim > 2 and out.shape[:2] == (n_tokens, n_samples):
        return lambda out, valid: out.transpose(0, 1)
    if out.ndim == 2 and len(out) == valid.numel():
        return lambda out, valid: out.view(*valid.shape, -1)
    if out.ndim == 2 and len(out) == int(valid.sum()):
        return _unpacked
    return as_it_is


def _unpacked(out: Tensor, valid: Tensor) -> Tensor:
    whole = out.new_zeros(*valid.shape, out.shape[-1])
    return whole.masked_scatter(valid[..., None], out)


def _unread(out: Tensor, n_tokens: int) -> str:
    return (
        f"The output is {tuple(out.shape)} for {n_tokens} tokens; it was expected to have one axis "
        "as long as they are, or none that grows with them."
    )


def _line(out: Tensor, n_tokens: int, n_moving: int) -> str:
    more = out.shape[1] - n_tokens
    if n_moving == 1 and out.ndim > 2 and 0 < more < n_tokens:
        return (
            f"model(x, passed)[:, {more}:], if it puts {more} in front, [:, :-{more}] if behind; "
            "or count what it puts there among the tokens, in AuditInputs(valid=…) of "
            f"{out.shape[1]} of them"
        )
    return "model(x, passed)…, cut or taken before it makes another shape of them"
