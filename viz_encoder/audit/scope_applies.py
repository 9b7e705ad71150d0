"""Refuses an AuditScope option with nothing to try, instead of skipping it."""

from collections.abc import Iterator
from contextlib import suppress

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks.documents import numbered
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
    if scope.cross is not None and maps.layers and not maps.cross:
        instead = "give a module that holds it" if context.unwatched else "leave it out"
        where = " in module=" if context.unwatched else ""
        yield f"cross=…) is given, but no cross-attention was seen{where}; {instead}."
    if scope.documents is not False and int(numbered(context, context.full).max()) < 1:
        yield (
            "documents=…) is given, but there is one document in each sample; leave it out, or "
            "give documents(valid) with several."
        )
    if scope.pooled is not None and context.is_pooled:
        yield "pooled=…) is given, but the model itself gives one row a sample; leave it out."
    if scope.pool_over is not None and scope.pooled is None and not context.is_pooled:
        yield "pool_over=…) is given, but nothing pools; give pooled=, too, or leave it out."
