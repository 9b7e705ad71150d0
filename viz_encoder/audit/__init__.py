"""Mask audit: whether a model looks where it was meant to, and nowhere else.

`audit.py` is the call, `own_batch.py` the same for one batch as it is, `arguments.py` what it is
given, `adapters.py` the modules that it knows by themselves, `audit_context.py` what its checks
share, `question.py` what a check is, `report.py` what it finds and what a report is, `verdict.py`
how one comes of them, `judged.py` how much was judged and `gaps.py` what was not tried,
`command.py` the same for a terminal.
Below: `measure` (what a model does), `diagnose` (why that is wrong), `faults` (what is wrong in
one batch), `checks` (one subject a file), `zoo` (planted bugs), `mask_input` (masks as people have
them).
"""

from viz_encoder.audit.arguments import AuditInputs as AuditInputs
from viz_encoder.audit.arguments import AuditScope as AuditScope
from viz_encoder.audit.audit import assert_mask as assert_mask
from viz_encoder.audit.audit import audit_mask as audit_mask
from viz_encoder.audit.own_batch import audit_batch as audit_batch
from viz_encoder.audit.report import Check as Check
from viz_encoder.audit.report import MaskReport as MaskReport
from viz_encoder.audit.report import Picture as Picture
from viz_encoder.audit.report import Verdict as Verdict
from viz_encoder.exported import exported


def __dir__() -> list[str]:
    """The public names, without the modules that define them."""
    return exported(globals())
