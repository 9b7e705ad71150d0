"""A training with a watch and without are the same, bit for bit, whatever happens in it."""

import contextlib
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack as mode_stack

import viz_encoder as vz
from tests.audit.plants import padding
from tests.slow import slow_but
from tests.training.loops import (
    MODELS,
    N_TOKENS,
    Written,
    batch,
    bert,
    hidden_of,
    real,
    to_real,
    train,
)

ROOT = Path(__file__).parents[2]


# Those without torch.compile, which takes seconds, and the quickest with it.
QUICK = ["written out", "torch.nn", "BERT, gradient checkpointing", "one layer compiled"]


@pytest.mark.filterwarnings("ignore")  # torch's compiler stops at its own
@pytest.mark.parametrize("name", slow_but(QUICK, MODELS))
def test_a_training_is_the_same_with_and_without(name):
    if name in ("torch.compile, BERT", "BERT.compile()") and torch.__version__ < "2.7":
        pytest.skip("this transformers does not compile on this torch")
    looks = []
    plain = train(MODELS[name], None)
    watched = train(
        MODELS[name], lambda model: vz.watch(model, 2, intent=to_real, log=looks.append)
    )
    for what, value in plain.items():
        if what == "python":  # beartype draws from it; below it is compared without
            continue
        assert torch.equal(value, watched[what]), what
    assert [look.step for look in looks] == [0, 2, 4]  # and not in evaluation
    assert all(look.ok and look.heads["leak"].shape == (2, 2) for look in looks)
    assert all(float(look.heads["leak"].max()) == 0 for look in looks)


def test_the_comparison_would_see_one_random_number():
    plain = train(Written, None)
    drawn = train(Written, lambda model: vz.watch(model, 2, log=lambda look: torch.rand(1)))
    assert not torch.equal(plain["torch"], drawn["torch"])


def test_random_numbers_of_python_and_numpy_are_the_same():
    command = [sys.executable, "-m", "tests.training.loops"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "the same\n", done.stderr


def torch_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)


ROOTS = {  # torch's own as the watched module itself
    "encoder": lambda: nn.TransformerEncoder(torch_layer(), 2, enable_nested_tensor=False),
    "layer": torch_layer,
    "attention": lambda: nn.MultiheadAttention(16, 2, dropout=0.2, batch_first=True),
}


def steps_of(module, watched, frozen):
    """What a few steps of one of ROOTS leave behind, and how often its feed-forward ran."""
    torch.manual_seed(0)
    for part in frozen(module):
        part.eval()
    closed, kept, ran = ~real((7, 9, 9, 3)), [], []
    first = next(part for part in module.modules() if not part._modules)
    first.register_forward_hook(lambda *_: ran.append(1))
    watch = watched(module)
    for _ in range(3):
        x = torch.randn(4, N_TOKENS, 16)
        if isinstance(module, nn.MultiheadAttention):
            out = module(x, x, x, key_padding_mask=closed)[0]
        else:
            out = module(x, src_key_padding_mask=closed)
        out.square().mean().backward()
        kept.append(out.detach())
    watch.close()
    grads = [one.grad for one in module.parameters() if one.grad is not None]
    return [*kept, *grads, torch.random.get_rng_state()], len(ran)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize(
    "frozen",
    [
        lambda module: [],
        lambda module: [*module.modules()],
        lambda module: [*module.modules()][1:2],
    ],
    ids=["training", "evaluating", "a part evaluating"],
)
def test_torchs_own_module_is_seen_as_it_trains(name, frozen):
    def watched(module):
        return vz.watch(
            module, 1, intent=lambda given: padding(real((7, 9, 9, 3))), log=looks.append
        )

    looks, made = [], copy.deepcopy(ROOTS[name]())
    plain, n_plain = steps_of(copy.deepcopy(made), lambda module: contextlib.ExitStack(), frozen)
    found, n_watched = steps_of(copy.deepcopy(made), watched, frozen)
    assert all(torch.equal(one, two) for one, two in zip(plain, found, strict=True))
    assert len(looks) == 3 and all(look.ok and "entropy" in look.heads for look in looks)
    if not frozen(made):
        assert n_watched == n_plain  # it did not run again


class Failing(Written):
    """Fails in the middle of a pass when it is told to."""

    fault: BaseException | None = None

    def forward(self, input_ids, attention_mask):
        out = super().forward(input_ids, attention_mask)
        if self.fault is not None:
            raise self.fault
        return out


@pytest.mark.parametrize("fault", [ValueError("mine"), KeyboardInterrupt()])
def test_what_the_model_raises_goes_through_and_nothing_stays(fault):
    model, looks = Failing().train(), []
    model.fault = fault
    with (
        pytest.raises(type(fault)) as raised,
        vz.watch(model, 1, intent=to_real, log=looks.append),
    ):
        model(**batch())
    assert raised.value is fault and looks == []
    assert not mode_stack() and not model._forward_hooks and not model._forward_pre_hooks
    assert not torch.nn.modules.module._global_forward_hooks


def test_after_a_failed_pass_the_loop_goes_on():
    model, looks = Failing().train(), []
    watch = vz.watch(model, 1, intent=to_real, log=looks.append)
    for fault in (None, KeyboardInterrupt(), ValueError(), None):
        model.fault = fault
        try:
            model(**batch()).sum().backward()
        except (KeyboardInterrupt, ValueError):
            continue
    watch.close()
    assert [look.step for look in looks] == [0, 3] and not mode_stack()


def test_a_fault_of_the_loop_passes_and_ends_the_watch():
    model = Written().train()
    with pytest.raises(ZeroDivisionError), vz.watch(model, log=lambda look: None):
        raise ZeroDivisionError
    assert not model._forward_hooks


def test_a_wrong_intent_is_told_at_the_first_call():
    for wrong in (lambda b: b["attention_mask"], lambda b: to_real(b).float()):
        with vz.watch(Written().train(), intent=wrong, log=lambda look: None) as watch:
            with pytest.raises(vz.VizEncoderError, match=r"intent\(batch\) gave"):
                watch._module(**batch())
            assert not mode_stack()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("intent", r"missed step 1: intent\(batch\) raised OSError"),
        ("log", "missed step 1: OSError"),
    ],
)
def test_a_later_fault_of_the_watch_is_said_once_and_the_loop_goes_on(where, said):
    model, calls = Written().train(), []

    def broken(given):
        calls.append(given)
        if len(calls) > 1:
            raise OSError("disk full")
        return to_real(given) if where == "intent" else None

    options = {"intent": to_real, "log": lambda look: None, where: broken}
    with vz.watch(model, 1, **options), pytest.warns(UserWarning, match=said):
        outs = [model(**batch()) for _ in range(3)]
    assert len(calls) == 3 and len(outs) == 3


def test_copies_and_pickles_of_the_model_are_not_watched():
    model, looks = bert().train(), []
    with vz.watch(model, 1, log=looks.append):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert torch.equal(
                hidden_of(other.eval()(**batch())), hidden_of(model.eval()(**batch()))
            )
    assert len(looks) == 2  # the two calls of the model itself


def test_a_model_inside_a_compiled_one_is_said_not_to_be_seen():
    torch.compiler.reset()
    model = Written().train()
    outer = torch.compile(Inner(model), backend="aot_eager")
    watch = vz.watch(model, 1, log=lambda look: pytest.fail("it cannot be seen"))
    outer(batch()).sum().backward()
    with pytest.warns(UserWarning, match="seen no call of the model"):
        watch.close()


def test_a_watched_model_can_be_recorded_beside():
    model = Written().train()
    with vz.watch(model, 1, intent=to_real, log=lambda look: None) as watch:
        with vz.record(model) as recording:
            model(**batch())
        assert watch.last is not None and len(recording.calls) == 2


@pytest.mark.filterwarnings("ignore")
def test_a_model_compiled_in_place_has_its_own_call_back():
    model = MODELS["BERT.compile()"]().train()
    call = model._compiled_call_impl
    with vz.watch(model, 1, log=lambda look: None):
        assert model._compiled_call_impl is not call
    assert model._compiled_call_impl is call


class Inner(nn.Module):
    """Calls the model with keywords."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, given):
        return self.model(**given)
