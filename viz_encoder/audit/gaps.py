"""Lists what an audit could not try, and refuses a scope option with nothing to try."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.flex_masks import is_flex, parts_of
from viz_encoder.audit.measure.maps import named_once
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.missing_links import missing_links
from viz_encoder.errors import InputError


def gaps(context: AuditContext, inputs: AuditInputs) -> tuple[str, ...]:
    """A sentence each; none where the model does not even run."""
    return () if context.stopped else tuple(_gaps(context, inputs))


def _gaps(context: AuditContext, inputs: AuditInputs) -> Iterator[str]:
    if not context.setting.pads:
        between = "Padding at the ends: your valid has it only between tokens, so none was added."
        none = "Padding of any kind: your valid has none, so no check added any."
        yield between if context.base.padded else none
    if not context.setting.fixed and not _has_holes(context.base.valid):
        yield "Padding between real tokens: give AuditInputs(valid=…) that has some."
    yield from [one.unclear for one in context.all_of(missing_links) if one.unclear][-1:]
    if context.scope.may_leave_out:
        yield (
            "Links that are missing, samples alone where others are left out, and documents alone: "
            "what the intent allows may be left out (may_leave_out=True)."
        )
    one_side = context.setting.pads and context.setting.given is None and context.other_side is None
    if context.scope.pooled is not None and one_side:
        side = "right" if context.setting.left else "left"
        yield f'Pooling with padding on the {side}: give AuditInputs(padding_side="both").'
    if context.maps.left_out:
        names = ", ".join(context.maps.kinds_left_out)
        yield f"Attention that is not over these tokens: {names}."
    if "router" in context.subject.fixed_keys.values():
        yield (
            "A softmax over the same number of columns at any length: it was taken for a router's. "
            "If it is attention, its map was not judged."
        )
    step = context.scope.step
    if step is not None:
        if not context.scope.step_takes_mask:
            yield "A KV cache with padding: step takes no mask; give step(x, cache, passed)."
        if context.scope.reorder is None:
            yield "A KV cache whose samples are reordered, as in beam search: give reorder=."
    if not context.base.x.is_floating_point() and inputs.make is None:
        yield f"Real tokens with the id of the padding ({inputs.pad_id}): none were drawn."
    yield from _other_outputs(context)
    for what in _unread(context.base.passed):
        yield f"What is inside the {what} that your code passes: it cannot be read as a mask."


def _has_holes(valid: Bool[Tensor, "batch token"]) -> bool:
    """Whether padding stands between the real tokens of any sample."""
    before, behind = valid.cumsum(1) > 0, valid.flip(1).cumsum(1).flip(1) > 0
    return bool((~valid & before & behind).any())


def _other_outputs(context: AuditContext) -> Iterator[str]:
    """Outputs that are not judged."""
    shapes = [str(shape) for shape in context.subject.beside]
    if shapes:
        yield (
            f"Other outputs than the first: {', '.join(shapes)}. To judge another, return it: "
            "lambda x, passed: model(x, passed)[1], with module=model."
        )


def _unread(passed: Any) -> Iterator[str]:
    """The kinds of the objects in what is passed that hide what they hold."""
    for part in parts_of(passed):
        if not isinstance(part, Tensor | str | int | float | None) and not is_flex(part):
            yield type(part).__name__


def require_scope_applies(context: AuditContext) -> None:
    """Raise unless each option has something to try; a model that does not run is reported later.

    Raises:
        InputError: one has nothing.
    """
    with suppress(ModelFault):
        for why in _without_effect(context):
            raise InputError(f"AuditScope({why}")


def _without_effect(context: AuditContext) -> Iterator[str]:
    scope, maps = context.scope, context.maps
    if scope.cross is not None and (maps.layers or maps.left_out) and not maps.memories:
        yield f"cross=…) is given, but no cross-attention was seen{_what_then(context)}."
    if scope.documents is not False and int(context.documents(context.full).max()) < 1:
        yield (
            "documents=…) is given, but there is one document in each sample; leave it out, or "
            "give documents(valid) with several."
        )
    if scope.pooled is not None and context.is_pooled:
        yield "pooled=…) is given, but the model itself gives one row a sample; leave it out."
    if scope.pool_over is not None and scope.pooled is None and not context.is_pooled:
        yield "pool_over=…) is given, but nothing pools; give pooled=, too, or leave it out."


def _what_then(context: AuditContext) -> str:
    """What was seen in place of cross-attention, and what to do."""
    if context.maps.left_out:
        names = ", ".join(context.maps.kinds_left_out)
        return (
            f"; there is attention of another kind: {names}. Cross-attention is known by a module "
            "that is given both of its sequences, as in self.cross(x, memory): call it so, or "
            "leave cross= out"
        )
    if context.maps.unseen:
        names = ", ".join(named_once(context.maps.unseen))
        return (
            f"; there is a softmax that was not seen to meet values: {names}. Multiply them by it: "
            "weights @ values"
        )
    if context.unwatched:
        return " in module=; give a module that holds it"
    return (
        "; leave it out, unless the model has a softmax of its own for it: then multiply the "
        "weights by the values with @"
    )
