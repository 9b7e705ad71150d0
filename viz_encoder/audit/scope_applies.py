"""Refuses an AuditScope option with nothing to try, instead of skipping it."""

from collections.abc import Iterator
from contextlib import suppress

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks.documents import numbered
from viz_encoder.audit.measure.maps import named_once
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.errors import InputError


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
    if scope.documents is not False and int(numbered(context, context.full).max()) < 1:
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
