"""Rerun: one input run once and kept, so that with heads edited only the layers above run again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import read_index
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.sample import Sample
from viz_encoder.model.attention import LayerRecord
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.trace.capture import arguments, at_rest, on_device
from viz_encoder.trace.head_rows import blocks_of
from viz_encoder.trace.run_facts import require_no_knock


def one_by_one(given: Any) -> list[Any]:
    """Each input by itself; a list of numbers is one input, a list of anything else is several."""
    if not isinstance(given, list):
        return [given]
    if not given:
        raise InputError("The list is empty; give at least one input.")
    return [given] if isinstance(given[0], Integral) else given


HeadPlace = tuple[int, int]  # layer, head


Heads = Annotated[Literal["all"] | Sequence[HeadPlace], '"all", or pairs such as [(3, 0)]']


def chosen(heads: Heads, config: EncoderConfig) -> tuple[HeadPlace, ...]:
    """The heads, in order, none twice."""
    if heads == "all":
        every = (
            (layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)
        )
        return tuple(every)
    found = tuple(sorted({_head(*each, config) for each in heads}))
    if not found:
        raise SelectionError('No head is given; give "all" or pairs such as [(3, 0)].')
    return found


def _head(layer: int, head: int, config: EncoderConfig) -> HeadPlace:
    return read_index("layer", layer, config.n_layers), read_index("head", head, config.n_heads)


BATCH_TOKENS = 4096  # run at once: enough to keep a processor busy, few enough for its cache


@dataclass(frozen=True, eq=False)
class Replaced:
    """A HeadEdit: in each variant, some heads say something else; all others stay as they are."""

    where: Bool[Tensor, "#variant head"]
    value: Float[Tensor, "#variant #head #token d_value"]

    def __call__(
        self, mixed: Float[Tensor, "#variant head token d_value"]
    ) -> Float[Tensor, "variants head token d_value"]:
        """The heads' outputs with the chosen ones replaced."""
        return torch.where(self.where[..., None, None], self.value.to(mixed.dtype), mixed)

    def of(self, variants: slice) -> "Replaced":
        """The edit of some variants alone."""
        where = self.where[variants] if len(self.where) > 1 else self.where
        value = self.value[variants] if len(self.value) > 1 else self.value
        return Replaced(where, value)


class Alone(NamedTuple):
    """The outputs with some heads of one layer replaced, each alone."""

    layer: int
    heads: list[int]
    outputs: Float[Tensor, "variant token d_model"]
    done: float  # the share of all heads that is done with these


class Rerun:
    """One input on one encoder: each layer's input, each head's output, and the final output."""

    def __init__(
        self,
        encoder: LoadedEncoder,
        inputs: Inputs,
        mask: CustomMask | None = None,
        records: list[LayerRecord] | None = None,
    ) -> None:
        """Run it once, untouched; with a custom mask, and adding to records, if they are given."""
        require_no_knock(encoder.model, "effect, patch and the like")
        if len(inputs.samples) != 1:
            raise InputError(f"There are {len(inputs.samples)} inputs; give them one at a time.")
        self.encoder, self.model = encoder, encoder.model
        self.sample: Sample = inputs.samples[0]
        self.valid = inputs.valid.to(encoder.device)
        self.n_layer_runs = 0  # of one input through one layer; n_layers of these are one forward
        values, valid, segments = arguments(encoder, inputs)
        with at_rest(self.model):
            x = self.model.embed(values, segments)
            self.given = self.model.given(x, values, valid, on_device(mask, encoder.device))
            self.entered: list[Float[Tensor, "1 token d_model"]] = []
            self.said: list[Float[Tensor, "1 head token d_value"]] = []
            for block, given in zip(self.model.layers, self.given, strict=True):
                self.entered.append(x)
                x = block(x, given._replace(edit=self._listen), records)
            self.output: Float[Tensor, "1 token d_model"] = self.model.final_norm(x)

    def _listen(self, mixed: Tensor) -> Tensor:
        self.said.append(mixed)
        return mixed

    def edited(
        self, edits: Mapping[int, Replaced], n_variants: int = 1
    ) -> Iterator[Float[Tensor, "variant token d_model"]]:
        """The output with heads replaced, some variants at a time.

        Args:
            edits: by layer; the layers below the lowest are not run again.
            n_variants: how many different edits there are.
        """
        lowest, n_tokens = min(edits), self.output.shape[1]
        block: Any = self.model.layers[lowest]
        step = max(1, BATCH_TOKENS // n_tokens)
        for variants in blocks_of(n_variants, step):
            size = variants.stop - variants.start
            with at_rest(self.model):
                # Head outputs of the lowest edited layer are known; only what follows runs again.
                attended = block.attn.out(edits[lowest].of(variants)(self.said[lowest]))
                x = block.after_attention(
                    self.entered[lowest].expand(len(attended), -1, -1), attended
                )
                for number in range(lowest + 1, len(self.given)):
                    edit = edits[number].of(variants) if number in edits else None
                    x = self.model.layers[number](x, self.given[number]._replace(edit=edit))
                self.n_layer_runs += size * (len(self.given) - lowest)
                output = self.model.final_norm(x)
            yield output

    def each_alone(
        self, heads: Sequence[HeadPlace], stand_in: Callable[[int], Tensor]
    ) -> Iterator[Alone]:
        """Each head alone replaced, a layer's as one batch.

        Args:
            heads: (layer, head).
            stand_in: by layer, what stands in for its heads: "#variant #head #token d_value".
        """
        n_heads, n_done = self.model.config.n_heads, 0
        for layer in sorted({layer for layer, _ in heads}):
            numbers = [head for its, head in heads if its == layer]
            where = torch.eye(n_heads, dtype=torch.bool, device=self.encoder.device)[numbers]
            edits = {layer: Replaced(where, stand_in(layer))}
            for output in self.edited(edits, len(numbers)):
                part, numbers = numbers[: len(output)], numbers[len(output) :]
                n_done += len(part)
                yield Alone(layer, part, output, n_done / len(heads))

    @property
    def n_forwards(self) -> float:
        """Cost of the reruns, in full forward passes of this input."""
        return self.n_layer_runs / len(self.given)
