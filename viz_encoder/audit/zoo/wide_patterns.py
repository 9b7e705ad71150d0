"""Section D, further: global tokens, the edges of windows, documents in a row."""

from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.intents import Valid, neighbors, own_document, real_tokens
from viz_encoder.audit.zoo.models import D_MODEL, Around, drawn, sdpa, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, plant

MAX_POSITIONS = 64


def with_global(valid: Valid) -> Tensor:
    """Each may attend to its neighbors; the first token to all, and all to it."""
    allowed = neighbors(1)(valid).clone()
    allowed[:, 0, :] = allowed[:, :, 0] = True
    return allowed & real_tokens(valid)


@plant(
    "D8-global",
    "A global token in one direction only",
    symptom="[CLS] reads the whole text, and no token far from it ever reads [CLS].",
    story="Window attention with global tokens (Longformer, arXiv:2004.05150; BigBird, "
    "arXiv:2007.14062) opens a row and a column; one of the two is forgotten.",
    wrong="keep[:, 0, :] = True",
    right="keep[:, 0, :] = keep[:, :, 0] = True",
    flagged_by="maps",
)
def one_direction(seed: int, fixed: bool) -> MaskedModel:
    """A window of one neighbor on either side, and token 0."""

    def make_mask(valid: Valid) -> Tensor:
        keep = neighbors(1)(valid).clone()
        if fixed:
            keep[:, 0, :] = keep[:, :, 0] = True
        else:
            keep[:, 0, :] = True
        return keep & real_tokens(valid)

    return MaskedModel(written_out(seed, sdpa), with_global, make_mask)


@plant(
    "D9-edge",
    "A window that is blind at the edge",
    symptom="No token attends to the first one, not even its neighbors.",
    story="Windows are cut out of blocks, and the first block begins one position too late.",
    wrong="keep[:, :, :1] = False",
    right="keep = near.clone()",
    flagged_by="maps",
)
def blind_at_the_edge(seed: int, fixed: bool) -> MaskedModel:
    """Two neighbors on either side."""

    def make_mask(valid: Valid) -> Tensor:
        near = neighbors(2)(valid)
        keep = near.clone()
        if not fixed:
            keep[:, :, :1] = False
        return keep

    return MaskedModel(written_out(seed, sdpa), neighbors(2), make_mask)


@plant(
    "D10-positions",
    "Packed documents whose positions run on",
    symptom="The masks are right, but a packed document gets other vectors than it does alone.",
    story="Positions are counted over the whole sequence: the second document begins where no "
    "document ever began in training.",
    wrong="positions = place",
    right="positions = place % 4",
    flagged_by="documents",
    verdict="WARN",
)
def positions_go_on(seed: int, fixed: bool) -> MaskedModel:
    """Documents of four tokens, and learned positions."""

    def forward(self: Any, x: Tensor, keep: Tensor) -> Tensor:
        place = torch.arange(x.shape[1])
        positions = place
        if fixed:
            positions = place % 4
        return self.inner(x + self.table(positions), keep)

    made = written_out(seed, sdpa)
    model = drawn(seed, lambda: Around(made, forward, table=nn.Embedding(MAX_POSITIONS, D_MODEL)))
    scope = AuditScope(documents=True)
    return MaskedModel(model, own_document(4, causal=True), scope=scope)
