"""Changed: the changes of a run, and the proof that they were made, and nothing else."""

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import AblationProof, prove
from viz_encoder.effects.change import Change
from viz_encoder.effects.changed_capture import masks_of, removed
from viz_encoder.inputs import Inputs
from viz_encoder.trace.capture import arguments, at_rest, on_device

RUNNING = threading.Lock()  # one forward pass with changes at a time, whoever asks


@dataclass(frozen=True, eq=False)
class Changed:
    """Changes made to a run, with the original's key and inputs, to run it again."""

    changes: tuple[Change, ...]
    plain: str
    encoder: LoadedEncoder
    inputs: Inputs  # of the original run
    entered: Inputs  # with them
    ran: LoadedEncoder  # the model that ran with them: the same, or with a switch set

    @property
    def nbytes(self) -> int:
        """Bytes of what the model was given."""
        return self.entered.nbytes

    @property
    def codes(self) -> list[str]:
        """The changes as Python and links hold them."""
        return [change.code for change in self.changes]

    @property
    def plain_words(self) -> dict[str, Any]:
        """Plain data for the page: each change as code and words, and the original run."""
        tokens = self.inputs.samples[0].tokens
        changes = [{"code": each.code, "words": each.words(tokens)} for each in self.changes]
        return {"plain": self.plain, "changes": changes}

    @cached_property
    def proof(self) -> AblationProof | None:
        """Proof that only the heads were removed; None if no head was."""
        cuts = removed(self.changes)
        if not cuts:
            return None
        model, given = self.ran.model, arguments(self.ran, self.entered)
        masks = masks_of(self.changes, self.entered.samples[0], self.encoder.config.n_layers)
        placed = on_device(masks, self.encoder.device) or None
        with RUNNING, at_rest(model):
            return prove(model, lambda one: one(*given, placed).output, dict.fromkeys(cuts, "zero"))
