"""A measure of what a prediction head answers: one logit minus another."""

from copy import copy

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Token, read_token
from viz_encoder.config import Task
from viz_encoder.effects.measure import BestLabels, MeasureArguments, Outputs
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import SelectionError
from viz_encoder.shown import quoted
from viz_encoder.trace.prediction_heads import choose_head, likelihoods, masked_tokens, read_label


class Logits:
    """The logit of an answer minus that of another: > 0 where the model prefers the answer."""

    def __init__(self, run: Rerun, task: Task, asked: MeasureArguments) -> None:
        """Take the model's first and second choice for the answers that are not given."""
        self._run, self.head = run, choose_head(run.encoder, task)
        self.place = _place(run, asked.at) if task is Task.MASKED else None
        logits = self.logits(run.output)[0]
        if len(logits) < 2:
            raise SelectionError(
                f"{run.encoder.card.name} gives a single score, so there are no two answers to "
                "compare; choose the measure 'pooled' or 'state'."
            )
        first, second = logits.topk(2).indices.tolist()
        self.answer = (
            first if asked.answer is None else read_label(run.encoder, self.head, asked.answer)
        )
        rival = second if self.answer == first else first
        self.other = (
            rival if asked.other is None else read_label(run.encoder, self.head, asked.other)
        )
        if self.answer == self.other:
            raise SelectionError(_one_answer(asked, self.name(self.answer)))

    def against(self, rival: int) -> "Logits":
        """The same answer compared with another label."""
        changed = copy(self)
        changed.other = rival
        return changed

    @property
    def words(self) -> str:
        """Which two logits are compared, and where."""
        place = "" if self.place is None else f" at token {self.place}"
        return f"logit of “{self.name(self.answer)}” − “{self.name(self.other)}”{place}"

    def name(self, number: int) -> str:
        """Name of a label."""
        return self._run.encoder.output_name(self.head, number)

    def logits(self, outputs: Outputs) -> Float[Tensor, "variant label"]:
        """The head's scores, at the place that is asked about."""
        run = self._run
        with torch.inference_mode():
            head = run.model.heads[str(self.head.task)]
            if self.place is None:
                return head(outputs, run.valid.expand(len(outputs), -1)).float()
            return head(outputs[:, self.place : self.place + 1])[:, 0].float()

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """The difference of the two logits."""
        logits = self.logits(outputs)
        return (logits[:, self.answer] - logits[:, self.other]).double().cpu().numpy()

    def pair(self, outputs: Outputs) -> Float[np.ndarray, "variant 2"]:
        """Probability of each of the two answers."""
        shares, _ = likelihoods(self.head, self.logits(outputs))
        both: Float[np.ndarray, "variant 2"] = shares[:, [self.answer, self.other]].cpu().numpy()
        return both

    def said(self, outputs: Outputs) -> BestLabels:
        """The label that comes first now, and how likely it is."""
        shares, _ = likelihoods(self.head, self.logits(outputs))
        best = shares.max(dim=-1)
        return BestLabels(best.indices.cpu().numpy(), best.values.cpu().numpy())


def _one_answer(asked: MeasureArguments, name: str) -> str:
    """Why there are not two answers to compare."""
    if asked.answer is None:
        return (
            f"other is {quoted(name)}, which is the model's own answer here; give another word, or "
            "answer= as well."
        )
    return f"answer and other are both {quoted(name)}; give two different ones."


def _place(run: Rerun, at: Token | None) -> int:
    if at is not None:
        return read_token(at, run.sample.tokens)
    places = masked_tokens(run.sample.tokens)
    if not places:
        raise SelectionError(
            "The text has no [MASK], so nothing is predicted; replace a word with [MASK], or give "
            "a token, such as at=3."
        )
    return places[0]
