"""What is moved, the tokens or their mask, is told on a batch of one's own, or both are named."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.plants import Stack, padding

COUNTS = {"full": [6, 4, 9, 7], "none full": [3, 6]}


class Shuffled(Stack):
    """Tokens are put into another order, and their mask is not."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(30, 8)

    def forward(self, input_ids, attention_mask):
        order = torch.cat([torch.arange(1, 9, 2), torch.arange(0, 9, 2)])
        out = super().forward(self.table(input_ids[:, order]), padding(attention_mask))
        return out[:, order.argsort()]


def test_shuffled_tokens_are_no_other_tensor():
    valid = torch.arange(9) < torch.tensor(COUNTS["full"])[:, None]
    ids = torch.randint(1, 30, (4, 9), generator=torch.Generator().manual_seed(0)) * valid
    batch = {"input_ids": ids, "attention_mask": valid}
    report = vz.audit_batch(Shuffled().eval(), batch, lambda given: padding(valid))
    assert [one.code for one in report.failed] == ["order"], str(report)


class Registers(Stack):
    """So many tokens before the others; their places in the mask stand behind."""

    def __init__(self, count):
        super().__init__()
        self.before = nn.Parameter(torch.randn(count, 8))

    def forward(self, x, mask):
        x = torch.cat([self.before.expand(len(x), -1, -1), x], dim=1)
        return super().forward(x, padding(F.pad(mask, (0, len(self.before)), value=True)))


@pytest.mark.parametrize("count", [1, 2, 4, 5])
@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_registers_masked_at_the_end_are_a_shift_or_one_of_two(counts, count):
    mask = torch.arange(9) < torch.tensor(counts)[:, None]
    batch = {"x": torch.randn(len(mask), 9, 8), "mask": mask}

    def intent(given):
        return padding(F.pad(mask, (count, 0), value=True))

    found = vz.audit_batch(Registers(count).eval(), batch, intent).failed[0]
    assert "the padding mask is shifted" in found.cause, found
