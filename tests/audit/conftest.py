"""One thread: what is audited is too small to be shared out; and shapes where a plant is audited.

Checking the shapes of every audit takes an eighth of its time: `table.audit` checks those of each
plant and of each correct model.
"""

import pytest
import torch

from tests.shape_checks import shapes_checked


@pytest.fixture(autouse=True, scope="module")
def _as_users_run_it():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with shapes_checked(False):
        yield
    torch.set_num_threads(before)
