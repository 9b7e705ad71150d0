"""Mask audit: whether a model looks where it was meant to, and nowhere else."""

from viz_encoder.audit.arguments import AuditInputs as AuditInputs
from viz_encoder.audit.arguments import AuditScope as AuditScope
from viz_encoder.audit.audit import assert_mask as assert_mask
from viz_encoder.audit.audit import audit_mask as audit_mask
from viz_encoder.audit.report import Check as Check
from viz_encoder.audit.report import MaskReport as MaskReport
from viz_encoder.audit.report import Picture as Picture
from viz_encoder.audit.report import Verdict as Verdict
