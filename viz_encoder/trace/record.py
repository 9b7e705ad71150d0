"""record: captures the attention of any PyTorch model while it runs, without changing it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal, NoReturn

from torch import Tensor, nn

from viz_encoder.arguments import AS_IT_IS, public
from viz_encoder.errors import TraceError
from viz_encoder.inputs import Grid
from viz_encoder.shown import counted
from viz_encoder.trace.assemble import assemble
from viz_encoder.trace.attention_call import AttentionCall, LaterCall
from viz_encoder.trace.in_parts import put_together
from viz_encoder.trace.intercept import listening
from viz_encoder.trace.left_out import (
    SeenIn,
    is_compiled,
    of_no_call,
    unseen_beside,
    way_to_full_attention,
    why_nothing_was_captured,
)
from viz_encoder.trace.module_stack import ModuleStack
from viz_encoder.trace.one_stack import ChosenStack, modules_within, one_stack
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.trace.recorded_sample import GivenTokens
from viz_encoder.trace.run_facts import RunFacts
from viz_encoder.trace.softmax import SeenSoftmax
from viz_encoder.trace.trace import Trace
from viz_encoder.trace.windows import whole

Eager = Literal["auto"] | bool


@public(fault=TraceError)
@contextmanager
def record(
    module: nn.Module, *, hidden: bool = True, eager: Eager = "auto"
) -> "Iterator[Recording]":
    """Capture each attention call of `module` in the block, leaving outputs and gradients
    unchanged.

    It sees scaled_dot_product_attention, nn.MultiheadAttention, nn.TransformerEncoder (its fused
    path too), flex_attention and softmax times values, on this thread. It does not see traced or
    compiled code, or other kernels (flash-attn, xformers). For a compiled flex_attention,
    torch.compiler.set_stance("force_eager") runs it uncompiled.

    Args:
        module: the model or the part of it to record; other models in the block are ignored.
        hidden: keep the hidden states between blocks.
        eager: keep the T × T maps of modules that compute their own softmax. "auto" keeps them as
            long as nothing else attends.

    Raises:
        TraceError: it is not a module, or is compiled, so that only some calls would be seen.
    """
    recording = Recording(module, hidden=hidden, eager=eager)
    if is_compiled(recording.modules.values()):
        raise TraceError(
            f"{type(module).__name__} is compiled, and record() would see only some of its "
            "attention. Record the model before torch.compile, or its ._orig_mod."
        )
    with listening(recording):
        yield recording


class _NoTraceError(TraceError, AttributeError):
    """The attribute belongs to a trace, not to a recording."""


class Recording:
    """The result of a `record` block; usable after the block ends."""

    def __init__(self, module: nn.Module, *, hidden: bool = True, eager: Eager = "auto") -> None:
        self.module = module
        self.eager = bool(eager)
        self.ran_elsewhere = False
        self._auto = eager == "auto"
        self._modules = ModuleStack(module, hidden)
        self.modules: Mapping[str, nn.Module] = self._modules.modules
        self.copies = self._modules.copies
        self._calls: list[RecordedCall] = []
        self._facts: defaultdict[int, RunFacts] = defaultdict(RunFacts)  # by run
        self._fault: Exception | None = None

    def __repr__(self) -> str:
        """What ran, and what to ask for."""
        name, calls = type(self.module).__name__, counted(len(self.calls), "attention call")
        return f"<Recording of {name}: {calls}; .trace() gives the maps, .calls each call>"

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """Every captured call, in the order it ran."""
        return tuple(call for call in self._calls if call.parts is None)

    @property
    def unseen(self) -> list[SeenIn]:
        """Softmaxes that may be attention, and whose product with values was not seen."""
        ran = [one for facts in self._facts.values() for one in facts.softmaxes]
        return of_no_call(ran, self.calls, {call.shape[2:] for call in self.calls})

    @property
    def n_runs(self) -> int:
        """Number of times the module was called in the block."""
        return self._modules.run + 1

    @public(fault=TraceError)
    def trace(
        self,
        *,
        tokens: Sequence[str] | None = None,
        tokenizer: Annotated[Any, AS_IT_IS] = None,
        image: Annotated[Any, AS_IT_IS] = None,
        grid: Grid | tuple[int, int] | None = None,
        sample: int | None = None,
        run: int = -1,
        within: str = "",
        cross: bool = False,
        key_tokens: Sequence[str] | None = None,
        valid: Annotated[Tensor | None, AS_IT_IS] = None,
    ) -> Trace:
        """Build the Trace of one sequence of one run.

        Args:
            tokens: a name for each token; default numbers.
            tokenizer: in place of tokens, a tokenizer of transformers or tokenizers: it names the
                ids that the model was called with.
            image: the picture as the model saw it, for overlays: a path, bytes, a PIL image or a
                uint8 array. How its patches lie is found from the pixels that the model was called
                with; tokens that are left over stand before them.
            grid: rows and columns of the patches, where they cannot be found.
            sample: which sequence of the batch; None is the first, and a note says how many there
                are. `traces` gives all of them.
            run: which call of the module in the block; 0 is the first, -1 the last.
            within: limit to the module of this name and everything in it, such as "encoder"; or, if
                no module has that name, to those whose names match this regular expression, such as
                "temporal". Needed if a model has several stacks, because a trace is one stack of
                layers with maps of one size.
            cross: the cross-attention layers (keys come from a different sequence than queries)
                instead of the self-attention layers.
            key_tokens: names for the keys of cross-attention. Required for self-attention with a
                different number of keys than queries (a KV cache, pooled keys).
            valid: "token", True = a real token. By default, a token is real if any query of any
                layer may attend to it.

        Raises:
            TraceError: nothing was captured, several stacks match, or no maps cover the whole
                sequence; the message says what to do.
            InputError: `valid` is not one bool per token, or marks none as real.
        """
        keyed = key_tokens is not None
        chosen, facts = self._chosen(run, within, cross, sample or 0, keyed)
        meant = GivenTokens(tokens, tokenizer, grid, image)
        trace = assemble(chosen, facts, self.module, meant, key_tokens, valid)
        count = one_stack(chosen)[0].shape[0]
        if sample is not None or count == 1:
            return trace
        note = f"This is the first of {count} sequences: sample= chooses one, traces() gives all."
        return replace(trace, notes=(*trace.notes, note))

    @public(fault=TraceError)
    def traces(
        self,
        *,
        tokenizer: Annotated[Any, AS_IT_IS] = None,
        images: Sequence[Any] | None = None,
        grid: Grid | tuple[int, int] | None = None,
        run: int = -1,
        within: str = "",
    ) -> list[Trace]:
        """The Trace of each sequence of one run's batch; `images` are their pictures.

        Raises:
            TraceError: as for `trace`, or there are more or fewer images than sequences.
        """
        chosen, _ = self._chosen(run, within, False, 0, False)
        count = one_stack(chosen)[0].shape[0]
        pictures = [None] * count if images is None else list(images)
        if len(pictures) != count:
            raise TraceError(
                f"There are {len(pictures)} images for {count} sequences; give one each."
            )
        same: dict[str, Any] = {"tokenizer": tokenizer, "grid": grid, "run": run, "within": within}
        return [self.trace(image=picture, sample=at, **same) for at, picture in enumerate(pictures)]

    def _chosen(
        self, run: int, within: str, cross: bool, sample: int, keyed: bool
    ) -> tuple[ChosenStack, RunFacts]:
        if self._fault is not None:
            raise self._not_captured(self._fault) from self._fault
        names = self.modules.keys()
        ran = self._of_run(run) if self._calls else []
        is_within = modules_within(within, names)
        calls, apart = put_together(ran, lambda call: not keyed and is_within(call.name))
        if not calls:
            softmaxes = [seen for facts in self._facts.values() for seen in facts.softmaxes]
            raised = any(facts.raised for facts in self._facts.values())
            why = why_nothing_was_captured(
                self.module, self.n_runs, self.ran_elsewhere, self.eager, softmaxes, raised
            )
            raise TraceError(why + apart)
        facts = self._facts[calls[0].run]
        full = apart + way_to_full_attention(self.module)
        unseen = unseen_beside(facts.softmaxes, calls)
        return ChosenStack(calls, names, within, cross, sample, keyed, full, unseen), facts

    def __getattr__(self, name: str) -> NoReturn:
        """Raise with advice when a recording is used as a trace."""
        if name.startswith("_") or name not in (*Trace.__dataclass_fields__, *vars(Trace)):
            raise AttributeError(f"A Recording has no attribute {name!r}.")
        raise _NoTraceError(
            f"This is a Recording, which has no {name!r}. Call recording.trace(…) and give what "
            "that returns: one sequence of one run, as a Trace."
        )

    def _not_captured(self, fault: Exception) -> TraceError:
        return TraceError(
            f"An attention call of {type(self.module).__name__} ran but could not be captured "
            f"({type(fault).__name__}: {fault}). Please report it."
        )

    def _of_run(self, run: int) -> list[RecordedCall]:
        number = run + self.n_runs if run < 0 else run
        if not 0 <= number < self.n_runs:
            times, last = counted(self.n_runs, "time"), self.n_runs - 1
            raise TraceError(
                f"There is no run {run}; the module was called {times} in the block, so run is "
                f"{f'0 to {last}' if last else 0}, or -1 for the last."
            )
        calls = [call for call in self._calls if call.run == number]
        if not calls:
            others = ", ".join(map(str, dict.fromkeys(call.run for call in self._calls)))
            raise TraceError(
                f"No attention was captured in run {number}; it was in these runs: {others}."
            )
        try:
            for call in (each for each in calls if each.parts is None):
                _ = call.attention  # recomputes what a fused kernel ran on
            return [whole(call) if call.parts is None else call for call in calls]
        except TraceError:
            raise
        except Exception as fault:
            raise self._not_captured(fault) from fault

    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """Called when a module starts."""
        self._modules.enter(module, args)

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """Called when a module ends."""
        together = self._modules.leave(module, args, kwargs, out)
        self._calls += [] if together is None else [together]
        if module is self.module and not self._modules.inside:
            self._facts[self._modules.run].ended(args, kwargs)

    def attend(self, call: AttentionCall | LaterCall, part: str) -> None:
        """Called when the running module has attended."""
        if not self._modules.inside or (call.kind == "softmax" and not self.eager):
            return
        if self._auto and self.eager and call.kind != "softmax":
            self.eager = False
            self._calls = [each for each in self._calls if each.kind != "softmax"]
        self._calls.append(self._modules.attend(call, part))
        self._facts[self._modules.run].listen()

    def softened(self, seen: SeenSoftmax) -> None:
        """Called for a softmax that may be attention."""
        if self._modules.inside:
            self._facts[self._modules.run].softmaxes.append((self._modules.where, seen))
            self._modules.soften(seen)

    def fail(self, fault: Exception) -> None:
        """Called when something could not be captured; the model ran on."""
        self._fault = self._fault or fault

    def elsewhere(self, module: nn.Module) -> None:
        """Called when a module ran on another, unwatched thread."""
        self.ran_elsewhere = self.ran_elsewhere or module in self._modules
