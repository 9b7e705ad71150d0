"""Modes, lengths, implementations, caches, dtypes, documents: what an audit is told to try."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.plants import Attention, Stack, causal, padding
from tests.slow import slow
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError

HALF = AuditScope(dtype=torch.float16)


def test_what_training_mode_alone_refuses_is_not_tested():
    class Spans(Stack):
        """As SpecAugment, which hides ten frames in training mode, and of fewer raises."""

        def forward(self, x, keep):
            if self.training and x.shape[1] < 10:
                raise ValueError("mask_length is larger than sequence_length")
            return super().forward(x, keep)

    report = audit(Spans().eval())
    told = report.check("train_mode")
    assert report.verdict == "PASS" and told.verdict == "NOT TESTED"
    assert "mask_length" in told.evidence and "AuditScope(lengths=[…])" in told.evidence


def test_the_longest_input_must_run():
    def short(x, keep):
        table = torch.zeros(15, 8)
        return Stack()(x + table[torch.arange(x.shape[1])], keep)

    report = audit(short, scope=AuditScope(max_positions=16))
    assert own(report) == ["lengths"] and "16 tokens" in report.check("lengths").evidence
    assert audit(short, scope=AuditScope(max_positions=15)).verdict == "PASS"
    assert audit(short).verdict == "PASS"  # what nobody promised is told only


def test_implementations_must_agree():
    model = Stack()
    other = {"fast": lambda x, keep: model(x, keep | True)}
    assert own(audit(model, scope=AuditScope(variants=other))) == ["implementations"]
    for unmasked in (lambda keep: bool(keep[:, -1].all()), lambda keep: len(keep) == 1):
        other = {"odd": lambda x, keep, open_=unmasked: model(x, keep | open_(keep))}
        found = audit(model, causal, scope=AuditScope(variants=other))
        assert own(found) == ["implementations"], str(found)
    same = AuditScope(variants={"same": lambda x, keep: model(x, keep)})
    assert audit(model, scope=same).verdict == "PASS"


def test_a_dtype_whose_constants_do_not_fit():
    class Filled(Stack):
        def forward(self, x, keep):
            torch.zeros(1, dtype=x.dtype).masked_fill(torch.ones(1).bool(), -1e9)
            return super().forward(x, keep)

    model = Filled()
    before = [p.data_ptr() for p in model.parameters()]
    report = audit(model, scope=HALF)
    assert own(report) == ["dtype"] and report.check("dtype").code == "overflow"
    assert [p.data_ptr() for p in model.parameters()] == before
    assert audit(Stack(), scope=HALF).check("dtype").verdict == "PASS"


PIECES = {  # what a step gets wrong → what is said of it
    "prompt": "moves with later tokens of its piece",
    "later": "moves with later tokens of its piece",
    "ring": "does not move with token 0, which it may know of",  # two at once take its place
    "": "it gives the same",
}


@pytest.mark.parametrize("wrong", PIECES)
def test_a_piece_of_several_tokens_is_causal_inside_and_loses_no_key(wrong):
    model = Attention()

    def step(x, cache):
        seen = x if cache is None else torch.cat([cache, x], 1)
        keep = torch.ones(seen.shape[1], seen.shape[1]).tril().bool()
        if wrong == ("prompt" if cache is None else "later"):
            keep[-x.shape[1] :] = True
        if wrong == "ring" and cache is not None and x.shape[1] > 1:
            keep[-2:, 0] = False
        return model(seen, keep.expand(len(x), -1, -1))[:, -x.shape[1] :], seen

    report = audit(lambda x, keep: model(x, keep), causal, scope=AuditScope(step=step), n_layers=1)
    found = report.check("cache")
    assert found.verdict == ("FAIL" if wrong else "PASS") and PIECES[wrong] in found.evidence, found
    assert (found.code == "open_piece") is (wrong in ("prompt", "later")), str(report)


def test_an_intent_that_links_documents_is_told_so():
    def four(valid):
        return (torch.arange(valid.shape[1]) // 4).expand(valid.shape)

    report = audit(Stack(), causal, scope=AuditScope(documents=four))
    assert own(report) == ["documents"] and "intent itself" in report.sentence


NOTHING_TO_TRY = {
    "cross": ({"cross": lambda valid: torch.ones(*valid.shape, 5, dtype=torch.bool)}, Stack),
    "documents": ({"documents": True}, Stack),
    "pool_over": ({"pool_over": lambda valid: valid}, Stack),
}


@pytest.mark.parametrize("name", NOTHING_TO_TRY)
def test_an_option_with_nothing_to_try_is_refused(name):
    options, kind = NOTHING_TO_TRY[name]
    with pytest.raises(InputError, match=rf"AuditScope\({name}=…\) is given, but "):
        audit(kind(), causal, scope=AuditScope(**options))


def test_options_that_exclude_one_another_are_refused():
    with pytest.raises(InputError, match="reorder is of the cache of step"):
        AuditScope(reorder=lambda cache, order: cache)
    with pytest.raises(InputError, match="window chooses the lengths"):
        AuditScope(window=4, lengths=[7, 9])


# Both sides of the padding: whatever can depend on the side is asked on both.


def _by_number(out, valid):
    return out[torch.arange(len(out)), valid.sum(1) - 1]


def _all_but_the_first_place(out, valid):
    keep = (valid & (torch.arange(valid.shape[1]) > 0))[..., None]
    return (out * keep).sum(1) / keep.sum(1)


def _without_the_first(valid):
    return valid & (valid.cumsum(1) > 1)


def _on_the_right(keep):
    valid = keep.any(dim=1)
    return padding(torch.arange(valid.shape[1]) < valid.sum(1, keepdim=True))


MODEL = Stack().eval()


class HalfWrong(Stack):
    """In half precision it takes the lengths alone, and in training mode, if so told."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x, keep):
        wrong = {"half": x.dtype != torch.float32, "training": self.training}[self.how]
        return super().forward(x, _on_the_right(keep) if wrong else keep)


LEFT_IS_WRONG = {
    "pooled": (MODEL, {"pooled": _by_number}),
    "pool_over": (
        MODEL,
        {"pooled": _all_but_the_first_place, "pool_over": _without_the_first},
    ),
    "variants": (MODEL, {"variants": {"by lengths": lambda x, k: MODEL(x, _on_the_right(k))}}),
    "dtype": (HalfWrong("half").eval(), {"dtype": torch.bfloat16}),
    "train_mode": (HalfWrong("training").eval(), {}),
    "lengths": (lambda x, k: MODEL(x, k if x.shape[1] < 33 else _on_the_right(k)), {}),
}


@pytest.mark.parametrize("name", LEFT_IS_WRONG)
def test_what_is_wrong_on_the_left_only_is_red_where_both_sides_are_asked(name):
    model, options = LEFT_IS_WRONG[name]
    both = AuditInputs(padding_side="both")
    report = audit(model, scope=AuditScope(**options), inputs=both)
    assert own(report) == ["left_padding"], str(report)  # nothing on the right
    assert report.sentence.startswith("With padding on the left: ")


def test_right_models_pass_on_both_sides():
    scope = AuditScope(
        pooled=lambda out, valid: (out * valid[..., None]).sum(1) / valid.sum(1, keepdim=True),
        pool_over=lambda valid: valid,
        variants={"same": lambda x, keep: MODEL(x, keep)},
        dtype=torch.bfloat16,
    )
    report = audit(MODEL, scope=scope, inputs=AuditInputs(padding_side="both"))
    assert report.verdict == "PASS" and "nowhere else" in report.sentence, str(report)


HIDING = {
    "1": lambda ids, pad: ids > 1,
    "0, where it is not the padding": lambda ids, pad: (ids > 0) & (ids != pad),
    "2": lambda ids, pad: (ids != 2) & (ids != pad),
    "3": lambda ids, pad: (ids != 3) & (ids != pad),
    "the last": lambda ids, pad: (ids < 199) & (ids != pad),
}


@pytest.mark.parametrize("side", [slow("right"), "left"])
@pytest.mark.parametrize("hidden", [None, *HIDING])
def test_a_mask_made_of_ids_that_hides_a_real_one_at_the_edge(hidden, side):
    class FromIds(Stack):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(200, 8)

        def forward(self, ids):
            real = HIDING[hidden](ids, pad) if hidden else ids != pad
            return super().forward(self.table(ids), padding(real))

    pad = 1 if hidden and hidden.startswith("0") else 0
    given = AuditInputs(vocab_size=200, pad_id=pad, padding_side=side)
    report = vz.audit_mask(FromIds().eval(), padding, inputs=given)
    assert report.verdict == ("FAIL" if hidden else "PASS"), str(report)
    assert not hidden or own(report)[0] in ("maps", "runs")


class Later(Stack):
    """Attends everywhere from 9 tokens on, in training mode or in bfloat16 alone."""

    def forward(self, x, keep):
        now = self.training if self.when == "training" else x.dtype is torch.bfloat16
        return super().forward(x, keep | keep.new_tensor(now and x.shape[1] > 8))


LATER = ("train_mode", "dtype", "implementations", "lengths")


@pytest.mark.parametrize("name", LATER)
def test_what_is_wrong_only_past_the_first_length(name):
    """As a path that is taken only by training, a dtype, another kernel, or pooling."""
    model, right = Later().eval(), Stack().eval()
    model.when = "training" if name == "train_mode" else "bfloat16"
    variant = {"long": lambda x, keep: right(x, keep | keep.new_tensor(x.shape[1] > 8))}

    def mean(out, valid):
        real = (valid | (out.shape[1] > 8))[..., None]
        return (out * real).sum(1) / real.sum(1)

    options = {
        "dtype": {"dtype": torch.bfloat16},
        "implementations": {"variants": variant},
        "lengths": {"pooled": mean},
    }
    audited = model if name in ("train_mode", "dtype") else right
    report = audit(audited, causal, scope=AuditScope(**options.get(name, {})))
    length = 49 if name == "dtype" else 12
    assert own(report) == [name], str(report)
    assert f"t {length} tokens" in report.check(name).evidence
    told = audit(audited, causal, scope=AuditScope(lengths=[7], **options.get(name, {})))
    assert told.verdict == "PASS", str(told)


class Positioned(Stack):
    """Positions are added to real tokens, which steps may count otherwise."""

    def forward(self, x, keep, moved=0):
        places = (keep.any(dim=1).cumsum(dim=1) - 1).clamp(min=0) + moved
        return super().forward(x + places[..., None] / 3, keep)

    def step(self, wrong):
        def run(x, cache, keep):
            seen = x if cache is None else torch.cat([cache, x], dim=1)
            n_hidden = (~keep.any(dim=1)).sum(dim=1, keepdim=True)
            moved = {"never": 0, "padding": n_hidden, "pieces": int(x.shape[1] == 2)}
            moved |= {"steps": int(cache is not None), "long": int(seen.shape[1] > 8)}
            moved["pieces or long"] = moved["long"] or moved["pieces"]
            return self(seen, keep, moved[wrong])[:, -x.shape[1] :], seen

        return run


@pytest.mark.parametrize(
    "wrong, verdict, words",
    [
        ("never", "PASS", "at once"),
        ("padding", "FAIL", "With padding before the prompt"),
        ("pieces", "INFO", "Run in pieces"),
        ("pieces or long", "FAIL", "at 12 tokens"),  # what is only told ends no search
        ("steps", "FAIL", "Run token by token"),
    ],
)
def test_positions_that_steps_count_otherwise_are_no_mask(wrong, verdict, words):
    model = Positioned(1).eval()
    scope = AuditScope(step=model.step(wrong))
    found = audit(model, causal, scope=scope, n_layers=1).check("cache")
    assert found.verdict == verdict and words in found.evidence, found
    assert not found.code and (not found.cause or found.cause.startswith("not known"))


class OnlyLong(Stack):
    """What a training does to a mask, or over padding, from some length on."""

    def __init__(self, least, how):
        super().__init__()
        self.least, self.how = least, how
        self.norm = nn.BatchNorm1d(8, eps=1e-12) if how == "norm" else nn.Identity()

    def forward(self, x, keep):
        if x.shape[1] >= self.least and self.how == "norm":
            x = self.norm(x.flatten(0, 1)).view(x.shape)
        elif x.shape[1] >= self.least:
            keep = F.dropout((~keep).float(), 0.3, self.training) == 0
        return super().forward(x, keep)


@pytest.mark.parametrize("how, told", [("norm", "over 36 positions"), ("dropout", "at 12 tokens")])
def test_training_at_other_lengths_is_looked_at_too(how, told):
    found = audit(OnlyLong(9, how).eval()).check("train_mode")
    assert found.verdict == ("WARN" if how == "norm" else "FAIL") and told in found.evidence, found
    assert audit(OnlyLong(999, how).eval()).check("train_mode").verdict in ("PASS", "NOT TESTED")


def test_a_sample_of_padding_that_is_nan_in_training_alone_is_told_so():
    class Model(Stack):
        def forward(self, x, keep):
            empty = (
                ~keep.any(dim=(1, 2))[:, None, None] & x.new_tensor(torch.is_grad_enabled()).bool()
            )
            return super().forward(x, keep).masked_fill(empty, torch.nan)

    found = audit(Model().eval()).check("empty_sample")
    assert found.verdict == "INFO" and found.evidence.endswith("With gradients on, it gives NaN.")


@pytest.mark.parametrize(
    "place, row",
    [(0, "out[:, 0]"), (1, "out[torch.arange(len(out)), pool_over(valid).long().argmax(1)]")],
)
def test_where_one_token_is_pooled_the_fix_takes_its_row(place, row):
    def one(valid):
        return torch.arange(valid.shape[1]).expand_as(valid) == place

    def mean(out, valid):
        return (out * valid[..., None]).sum(1) / valid.sum(1, keepdim=True)

    report = audit(Stack().eval(), scope=AuditScope(pooled=mean, pool_over=one))
    assert report.check("pooled_tokens").cure == f"Take that one row of the output: {row}."
