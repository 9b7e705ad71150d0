"""A packed document that leaves out other links alone is not called wrong where it may."""

import torch

from tests.audit.audits import audit
from tests.audit.plants import Stack
from viz_encoder.audit import AuditScope


def number_of(valid):
    return (torch.arange(valid.shape[1]) >= 4).long().expand(valid.shape)


def two_documents(valid):
    number = number_of(valid)
    return (number[:, :, None] == number[:, None, :]) & valid[:, None, :]


class EveryThird(Stack):
    """Looks at itself and at every third place."""

    def forward(self, x, keep):
        places = torch.arange(x.shape[1])
        return super().forward(x, keep & ((places % 3 == 0) | (places[:, None] == places)))


def test_a_document_may_leave_out_other_links_alone():
    scope = AuditScope(documents=number_of, may_leave_out=True)
    report = audit(EveryThird().eval(), two_documents, scope=scope)
    assert report.check("documents").verdict == "PASS" and report.ok, str(report)
