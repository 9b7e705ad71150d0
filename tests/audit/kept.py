"""python -m tests.audit.kept: audit the zoo with seed 0, and keep what its page shows at once."""

import torch

from viz_encoder.audit.zoo import SPECIMENS
from viz_encoder.ui.tabs.masks.audits import Audits, write

if __name__ == "__main__":
    torch.set_num_threads(1)
    write(Audits().of(identifier) for identifier in SPECIMENS)
