"""Each check sees a plant that it alone can see, and nothing is red in what is right."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.plants import Attention, NoMaps, Stack, banded, causal, padding
from viz_encoder.audit import AuditInputs, AuditScope, checks
from viz_encoder.audit.measure.reach import reach
from viz_encoder.errors import InputError, MaskError

SMALL = {"d_model": 8, "n_layers": 2}
HALF = AuditScope(dtype=torch.float16)


def audit(model, intent=padding, make_mask=None, **more):
    return vz.audit_mask(model, intent, make_mask, **{**SMALL, **more})


def own(report, verdict="FAIL"):
    """The names of the checks that have this verdict of themselves."""
    return [c.name for c in report.checks if c.verdict == verdict and not c.follows_from]


def of(valid):
    return valid


@pytest.mark.parametrize("kind", [Stack, NoMaps])
@pytest.mark.parametrize("intent", [padding, causal, banded(3)])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_red_where_all_is_right(kind, intent, seed):
    report = audit(kind(seed=seed), intent, seed=seed)
    assert report.verdict == "PASS", str(report)


@pytest.mark.parametrize(
    ("make_mask", "code"),
    [
        (lambda valid: ~causal(valid), "inverted"),
        (lambda valid: causal(valid).mT, "transposed"),
        (lambda valid: torch.ones_like(causal(valid)), "ignored"),
        (padding, "pattern_ignored"),
        (
            lambda valid: padding(valid) & torch.ones(2 * valid.shape[1:]).tril(1).bool(),
            "sees_next",
        ),
        (lambda valid: causal(valid)[:1].expand(len(valid), -1, -1), "first_sample"),
        (lambda valid: causal(valid).roll(1, 0), "other_sample"),
        (lambda valid: causal(valid).repeat(2, 1, 1).unflatten(0, (-1, 2)), "repeat"),
    ],
)
def test_a_map_names_its_cause(make_mask, code):
    report = audit(Stack(), causal, make_mask)
    maps = report.check("maps")
    assert report.verdict == "FAIL" and maps.code == code and maps.cause and maps.cure
    assert "consistent with" not in maps.cause


def near(valid):
    place = torch.arange(valid.shape[1])
    return padding(valid) & ((place[:, None] - place[None, :]).abs() <= 2)


def test_padding_that_is_not_masked_is_named():
    report = audit(Stack(), near, lambda valid: near(torch.ones_like(valid)))
    assert own(report) == ["maps"] and report.check("maps").code == "padding_ignored"


def test_a_window_that_is_one_too_narrow_is_lost_links_and_named():
    report = audit(Stack(), banded(4), banded(3))
    assert own(report) == ["maps"] and report.check("maps").code == "window"
    assert "never looks at" in report.check("maps").evidence


def test_one_head_of_one_layer_is_found_and_pictured():
    class OneHead(Stack):
        def forward(self, x, keep):
            x = self.layers[0](x, keep)
            both = keep[:, None].repeat(1, 2, 1, 1)
            both[:, 1] = True
            return self.layers[1](x, both)

    report = audit(OneHead(), causal)
    found, shot = report.check("maps"), report.pictures[0]
    assert (found.layer, found.head) == (1, 1) == (shot.layer, shot.head)
    assert "only in layer 1 (heads [1])" in found.evidence
    assert shot.leaks[found.query, found.key] and not (shot.leaks & shot.intended).any()
    assert shot.observed[found.query, found.key] == pytest.approx(found.amount)


def test_a_leak_is_never_averaged_away():
    class Faint(Stack):
        def forward(self, x, keep):
            bias = torch.zeros(2, *keep.shape[1:])
            bias[0] = torch.where(keep[0], 0.0, -9.0)
            return self.layers[0](x, keep | True, torch.where(keep, 0.0, -9.0)[:, None])

    assert audit(Faint(n_layers=1), causal, n_layers=1).check("maps").verdict == "FAIL"


def test_zeros_and_ones_that_are_added_are_the_cause():
    class Added(Stack):
        def forward(self, x, mask):
            q, k, v = self.layers[0].qkv(x).chunk(3, -1)
            mixed = F.scaled_dot_product_attention(
                *(one.unflatten(-1, (2, -1)).transpose(1, 2) for one in (q, k, v)),
                attn_mask=mask[:, None],
            )
            return x + mixed.transpose(1, 2).flatten(2)

    report = audit(Added(), causal, lambda valid: causal(valid).float(), n_layers=1)
    assert own(report) == ["static"] and report.check("static").code == "zero_one_added"
    assert report.check("maps").follows_from == "static"


def test_static_finds_a_tilde_on_whole_numbers():
    report = audit(
        lambda x, mask: Stack()(x, mask.bool()[:, None, :].expand(-1, x.shape[1], -1)),
        padding,
        lambda valid: ~valid.int(),
    )
    assert report.check("static").verdict == "FAIL"
    assert report.check("static").code == "int_inverted"


def test_constants_that_nothing_else_can_see():
    class Weak(Stack):
        def forward(self, x, keep):
            return (
                super().forward(x, keep)
                + 0 * torch.zeros(x.shape[1], x.shape[1]).masked_fill(~keep[0], -1e4).sum()
            )

    report = audit(Weak(), causal)
    assert own(report, "WARN") == ["constants"] and report.check("constants").amount == -1e4


def test_it_runs_only_where_batch_is_length():
    def crossed(x, valid):
        return Stack()(x, valid[None].expand(len(x), *x.shape[1:2], -1))

    report = audit(crossed, padding, of)
    assert own(report) == ["runs"] and report.check("runs").code == "axes"


def test_nan_in_a_real_row():
    report = audit(lambda x, keep: Stack()(x, keep) / (x[:, :, :1] != x[0, 2, 0]), padding)
    assert own(report)[0] == "runs" and report.check("runs").query == 2


def test_random_in_eval_mode():
    model = Stack()
    report = audit(lambda x, keep: F.dropout(model(x, keep), 0.5))
    assert own(report) == ["runs"] and report.check("runs").code == "random"


def test_samples_that_mix_by_a_mean_over_the_batch():
    model = Stack()
    report = audit(lambda x, keep: model(x, keep) + x.mean(0, keepdim=True))
    assert own(report)[0] == "batch_independence"


def test_a_mask_after_the_softmax_and_a_sink_are_told_apart():
    class After(Stack):
        def forward(self, x, keep, sink=False):
            for layer in self.layers:
                q, k, v = (
                    one.unflatten(-1, (2, -1)).transpose(1, 2) for one in layer.qkv(x).chunk(3, -1)
                )
                scores = q @ k.mT
                if self.sink:
                    scores = scores.masked_fill(~keep[:, None], -torch.inf)
                    scores = torch.cat([scores, torch.zeros_like(scores[..., :1])], -1)
                    weights = scores.softmax(-1)[..., :-1]
                else:
                    weights = scores.softmax(-1).masked_fill(~keep[:, None], 0.0)
                x = x + layer.out((weights @ v).transpose(1, 2).flatten(2))
            return x

    model = After()
    model.sink = False
    report = audit(model, causal)
    assert own(report) == ["row_sums"] and report.check("row_sums").code == "after_softmax"
    model.sink = True
    report = audit(model, causal)
    assert report.verdict == "PASS" and report.check("row_sums").verdict == "INFO"


def test_a_convolution_leaks_where_maps_are_right():
    model, stem = Stack(), nn.Conv1d(8, 8, 3, padding=1)
    report = audit(lambda x, keep: model(stem(x.mT).mT, keep), causal)
    assert own(report) == ["gradient"] and report.check("maps").verdict == "PASS"
    assert report.check("gradient").code == "besides_attention"


def test_gradients_judge_where_there_are_no_maps():
    model = NoMaps()
    report = audit(lambda x, keep: model(x, keep.mT), causal)
    assert own(report)[0] == "gradient" and report.check("maps").verdict == "NOT TESTED"
    report = audit(lambda x, keep: model(x, banded(2)(keep.any(1))), banded(3))
    assert own(report) == ["gradient"] and "does not depend" in report.check("gradient").evidence


def test_nan_gradients_of_finite_outputs():
    class Poisoned(Stack):
        def forward(self, x, keep):
            both = keep & keep.any(1)[:, :, None]
            q, k, v = self.layers[0].qkv(x).chunk(3, -1)
            weights = (q @ k.mT).masked_fill(~both, -torch.inf).softmax(dim=-1)
            return (weights @ v).nan_to_num(0.0)

    report = audit(Poisoned(n_layers=1), padding, n_layers=1)
    assert own(report) == ["gradient"] and report.check("gradient").code == "empty_row"


def test_changed_tokens_judge_where_there_are_no_gradients():
    model = NoMaps()

    @torch.no_grad()
    def detached(x, keep):
        return model(x, keep | torch.ones_like(keep).tril(1))

    report = audit(detached, causal)
    assert own(report)[0] == "perturbation"
    assert report.check("gradient").verdict == "NOT TESTED"


def test_positions_counted_from_the_padding_are_seen_alone_and_padded_only():
    model = Stack()

    def left(x, keep):
        return model(x + torch.arange(x.shape[1])[:, None] / 3, keep)

    report = audit(left, inputs=AuditInputs(padding_side="left"))
    assert own(report) == ["padding_invariance"]
    told = audit(left)
    assert told.verdict == "PASS" and told.check("left_padding").verdict == "INFO"
    assert own(audit(left, inputs=AuditInputs(padding_side="both"))) == ["left_padding"]


@pytest.mark.parametrize("pool", ["mean", "max", "last"])
def test_pooling_over_padding(pool):
    ways = {
        "mean": lambda out, valid: out.mean(1),
        "max": lambda out, valid: (out * valid[..., None]).amax(1),
        "last": lambda out, valid: out[:, -1],
    }
    report = audit(Stack(), scope=AuditScope(pooled=ways[pool]))
    assert own(report) == ["output_pooling"]
    model = Stack()
    inside = audit(
        lambda x, passed: ways[pool](model(x, passed[0]), passed[1]),
        padding,
        lambda valid: (padding(valid), valid),
    )
    assert inside.verdict == "FAIL" and own(inside)[0] in ("gradient", "padding_invariance")


def test_right_pooling_is_not_red():
    def mean(out, valid):
        return (out * valid[..., None]).sum(1) / valid.sum(1, keepdim=True)

    assert audit(Stack(), scope=AuditScope(pooled=mean)).verdict == "PASS"
    model = Stack()
    report = audit(lambda x, passed: mean(model(x, padding(passed)), passed), padding, of)
    assert report.verdict == "PASS", str(report)


def test_the_order_of_the_batch():
    model = Stack()

    def first_matters(x, keep):
        return model(x, keep) * torch.arange(1, 1 + len(x))[:, None, None] ** (len(x) > 1)

    assert "batch_independence" in own(audit(first_matters))
    assert audit(first_matters).check("permutation").verdict == "FAIL"


def test_two_paths():
    model = Stack()
    report = audit(lambda x, keep: model(x, keep) + 0.1 * torch.is_grad_enabled())
    assert own(report) == ["grad_mode"] and report.check("grad_mode").code == "path"


def test_a_mask_that_is_not_used():
    built_in = audit(lambda x, keep: Stack()(x, causal(torch.ones(x.shape[:2]) > 0)), causal)
    assert built_in.check("mask_used").verdict == "INFO"
    ignored = audit(lambda x, keep: Stack()(x, None), padding)
    assert ignored.check("mask_used").verdict == "FAIL"
    assert ignored.check("mask_used").follows_from == "maps"


def test_one_empty_sample_spoils_the_others():
    model = Stack()

    def spoiled(x, keep):
        return model(x, keep) * torch.where(keep.any(-1).all(), 1.0, 2.0)

    report = audit(spoiled)
    assert own(report) == ["empty_sample"]


def test_an_empty_sample_that_gives_nan_itself_is_told_only():
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
    )
    report = vz.audit_mask(encoder, padding)
    assert report.verdict == "PASS" and report.check("empty_sample").verdict == "INFO"


def test_nan_in_padding_is_told_only():
    assert audit(Stack()).check("poisoned_padding").verdict == "INFO"


def test_a_bug_in_training_mode_only():
    class Training(Stack):
        def forward(self, x, keep):
            x = F.dropout(x, 0.3, self.training)
            return super().forward(x, keep | keep.new_tensor(self.training))

    model = Training()
    report = audit(model, causal)
    assert own(report) == ["train_mode"] and "In training mode" in report.sentence
    assert model.training and report.check("eval_mode").verdict == "INFO"


def test_a_model_in_eval_mode_is_not_said_to_train():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 1).eval()
    assert vz.audit_mask(model, padding).check("eval_mode").verdict == "PASS"


@pytest.mark.parametrize("from_length", [11, 33])
def test_a_bug_above_a_length(from_length):
    model = Stack()

    def long(x, keep):
        return model(x, keep | keep.new_tensor(x.shape[1] >= from_length))

    report = audit(long, causal)
    assert own(report) == ["lengths"]
    assert own(audit(long, causal, scope=AuditScope(lengths=(7, from_length - 1)))) == []


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
    same = AuditScope(variants={"same": lambda x, keep: model(x, keep)})
    assert audit(model, scope=same).verdict == "PASS"


def test_a_cache():
    model = Attention()

    def whole(x, keep):
        return model(x, keep)

    def step(x, cache, corner=False):
        seen = x if cache is None else torch.cat([cache, x], 1)
        n_new, n_all = x.shape[1], seen.shape[1]
        keep = torch.ones(n_all, n_all).tril().bool().expand(len(x), -1, -1)
        if corner:
            keep = keep & (torch.arange(n_all) < n_new)
        keep = keep | torch.eye(n_all).bool()
        return model(seen, keep)[:, -n_new:], seen

    right = audit(whole, causal, scope=AuditScope(step=step), n_layers=1)
    assert right.check("cache").verdict == "PASS"
    cornered = AuditScope(step=lambda x, c: step(x, c, corner=True))
    wrong = audit(whole, causal, n_layers=1, scope=cornered)
    assert own(wrong) == ["cache"] and wrong.check("cache").code == "corner"


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


def packed(valid):
    number = torch.arange(valid.shape[1]) // 4
    return causal(valid) & (number[:, None] == number[None, :])


def test_packed_documents():
    assert (
        audit(Stack(), packed, scope=AuditScope(documents=True)).check("documents").verdict
        == "PASS"
    )
    leaking = audit(Stack(), packed, causal, scope=AuditScope(documents=True))
    assert leaking.check("documents").verdict == "FAIL"
    assert "Document 1 reads document 0" in leaking.check("documents").evidence
    assert leaking.check("maps").code == "documents"
    own_words = audit(
        Stack(),
        causal,
        scope=AuditScope(
            documents=lambda valid: (torch.arange(valid.shape[1]) // 4).expand(valid.shape)
        ),
    )
    assert own(own_words) == ["documents"] and "intent itself" in own_words.sentence


def test_intents_that_differ_by_layer():
    class Mixed(Stack):
        def forward(self, x, keeps):
            for layer, keep in zip(self.layers, keeps, strict=True):
                x = layer(x, keep)
            return x

    def both(valid):
        return [causal(valid), banded(2)(valid)]

    assert audit(Mixed(), [causal, banded(2)], both).verdict == "PASS"
    swapped = audit(Mixed(), [causal, banded(2)], lambda valid: both(valid)[::-1])
    assert own(swapped) == ["maps"] and swapped.check("maps").layer == 1


def test_the_number_of_experts_is_no_number_of_keys():
    class Gated(Stack):
        def forward(self, x, keep):
            x = super().forward(x, keep)
            gate = (x @ torch.ones(8, 7)).softmax(-1)
            return x + torch.einsum("ble,ed->bld", gate, torch.ones(7, 8))

    report = audit(Gated(), causal)
    assert report.verdict == "PASS", str(report)


def test_peaked_weights_that_are_0_are_no_lost_links():
    for kind in (Stack, NoMaps):
        model = kind(seed=3)
        with torch.no_grad():
            for layer in model.layers:
                layer.qkv.weight[:16] *= 4 if kind is NoMaps else 40
        report = audit(model, causal)
        assert report.verdict == "PASS", str(report)


def test_ids_are_audited_by_their_embeddings():
    class Ids(Stack):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 8)

        def forward(self, ids, keep):
            return super().forward(self.table(ids), keep)

    model, ids = Ids(), AuditInputs(vocab_size=11)
    right = vz.audit_mask(model, causal, inputs=ids, n_layers=2)
    assert right.verdict == "PASS" and right.check("gradient").verdict == "PASS"
    wrong = vz.audit_mask(model, causal, padding, inputs=ids, n_layers=2)
    assert wrong.check("gradient").verdict == "FAIL"


def test_a_check_that_crashes_is_red(monkeypatch):
    broken = checks.gradient.QUESTION.__class__("gradient", "Broken", lambda context: 1 / 0)
    monkeypatch.setattr("viz_encoder.audit.audit.QUESTIONS", (*checks.QUESTIONS[:6], broken))
    monkeypatch.setattr("viz_encoder.audit.checks.row_sums.ask", None)
    report = audit(Stack())
    assert report.verdict == "ERROR" and not report.ok
    assert "ZeroDivisionError" in report.check("gradient").evidence
    with pytest.raises(MaskError):
        vz.assert_mask(Stack(), padding, **SMALL)


def test_the_model_is_left_as_it_was():
    model = Stack().train()
    model.layers[0].eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.get_rng_state()
    audit(model, causal, scope=AuditScope(dtype=torch.bfloat16))
    assert model.training and not model.layers[0].training and model.layers[1].training
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())
    assert all(p.grad is None for p in model.parameters())


def test_reach_is_the_closure_of_all_paths():
    allowed = torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]).bool()
    known = reach(allowed, 3)
    for layer, query, key in torch.cartesian_prod(*(torch.arange(n) for n in (3, 4, 4))).tolist():
        assert known[layer, query, key] == (0 <= query - key <= layer + 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d_model": None}, "d_model="),
        ({"intent": lambda valid: valid.float()}, "torch.float32"),
        ({"intent": lambda valid: valid[:, :2]}, "must give"),
        ({"intent": [padding] * 3}, "3 intents are given for 2 layers"),
        ({"intent": None}, "intent is a function"),
        ({"d_model": -1}, "d_model is -1"),
        ({"d_model": 0}, "d_model is 0"),
        ({"n_layers": 0}, "n_layers is 0"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"inputs": torch.zeros(2)}, "inputs is Tensor; it must be an AuditInputs"),
        ({"scope": {"window": 3}}, "scope is dict; it must be an AuditScope"),
    ],
)
def test_wrong_arguments_are_answered(options, words):
    given = {"intent": padding, **SMALL, **options}
    intent = given.pop("intent")
    with pytest.raises(InputError, match=words):
        vz.audit_mask(Stack(), intent, **given)


@pytest.mark.parametrize(
    ("group", "fields", "words"),
    [
        (AuditInputs, {"valid": torch.ones(7, 7).bool()}, "7 samples of 7 tokens"),
        (AuditInputs, {"padding_side": "middle"}, "'middle'"),
        (AuditScope, {"lengths": (1,)}, "2 tokens at least"),
        (AuditScope, {"lengths": "12"}, "lengths is '12'"),
        (AuditScope, {"lengths": ["12"]}, "lengths holds '12'"),
        (
            AuditScope,
            {"lengths": [10**9]},
            "1,000,000,000 tokens; an audit goes up to 4,096",
        ),
        (AuditScope, {"max_positions": 10**9}, "up to 4,096"),
        (AuditScope, {"window": 10**9}, "up to 4,096"),
        (AuditScope, {"window": -1}, "window is -1"),
        (AuditScope, {"dtype": "bf16"}, "dtype is 'bf16'"),
        (AuditScope, {"dtype": torch.int8}, "dtype is torch.int8"),
    ],
)
def test_what_an_audit_cannot_try_is_answered(group, fields, words):
    with pytest.raises(InputError, match=words):
        group(**fields)


def test_a_make_mask_that_raises_is_the_code_that_fails():
    report = audit(Stack(), padding, lambda valid: valid[99])
    assert report.verdict == "FAIL" and "in make_mask" in report.sentence


@pytest.mark.parametrize(
    ("make_mask", "code"),
    [
        (lambda valid: torch.ones_like(padding(valid)), "ignored"),
        (lambda valid: padding(valid).mT, "transposed"),
    ],
)
def test_rows_of_padding_tell_what_real_rows_cannot(make_mask, code):
    def fused(x, keep):
        q = x.unflatten(-1, (2, -1)).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, q, q, attn_mask=keep[:, None])
        return x + mixed.transpose(1, 2).flatten(2)

    maps = audit(fused, padding, make_mask, n_layers=1).check("maps")
    assert maps.verdict == "FAIL" and maps.code == code and "consistent" not in maps.cause


def test_nan_gradients_of_padded_inputs_alone_are_not_red():
    model = Stack()

    def divided(x, valid):
        x = (x / valid[..., None]).masked_fill(~valid[..., None], 0.0)
        return model(x, padding(valid))

    report = audit(divided, padding, of)
    assert report.verdict == "PASS", str(report)


def test_a_leak_in_half_precision_only():
    model = Stack()

    def half(x, keep):
        if x.dtype != torch.float16:
            return model(x, keep)
        return model(x, None if keep.ndim == 2 else keep | True)

    report = audit(half, scope=HALF)
    assert own(report) == ["dtype"] and "forbidden keys" in report.check("dtype").evidence


def encoder_of_torch():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 2).eval()


def test_a_path_whose_maps_are_not_seen_is_not_said_to_hold():
    encoder = encoder_of_torch()

    def open_to_all(x, ignored):
        return encoder(x, src_key_padding_mask=torch.zeros_like(ignored))

    maps = audit(open_to_all, padding, lambda valid: ~valid, d_model=32).check("maps")
    assert maps.verdict == "FAIL" and maps.code == "ignored" and "does not" not in maps.evidence
    assert maps.cause.startswith("consistent with: every token looks at every token")

    def open_with_gradients(x, ignored):
        return encoder(x, src_key_padding_mask=ignored & (not torch.is_grad_enabled()))

    maps = audit(open_with_gradients, padding, lambda valid: ~valid, d_model=32).check("maps")
    assert maps.code == "path" and "without them it does not" in maps.evidence


def test_a_mask_that_is_dropped_in_a_batch_of_one():
    model = Stack()
    report = audit(lambda x, keep: model(x, keep if len(x) > 1 else torch.ones_like(keep)))
    assert own(report) == ["padding_invariance"] and "batch of one" in report.sentence
    assert "Batches of more than 3 samples." in report.not_tested


def test_a_row_without_a_key_is_not_cured_by_positions():
    found = audit(encoder_of_torch(), causal, d_model=32).check("left_padding")
    assert found.verdict == "INFO" and "row 0 of sample 0 has no key there" in found.evidence
    assert "drop the row" in found.cure and "position_ids" not in found.cure


def test_a_right_mean_with_positions_that_count_the_padding():
    model = Stack()

    def mean(x, passed):
        keep, valid = passed
        out = model(x + torch.arange(x.shape[1])[:, None] / 3, keep) * valid[..., None]
        return out.sum(1) / valid.sum(1, keepdim=True)

    def both(valid):
        return padding(valid), valid

    report = audit(mean, padding, both, inputs=AuditInputs(padding_side="left"))
    found = report.check("padding_invariance")
    assert own(report) == ["padding_invariance"] and found.code == "positions"
    assert found.cause.startswith("consistent with") and "position_ids" in found.cure
    assert audit(mean, padding, both).check("left_padding").code == "positions"
    wrong = audit(lambda x, passed: model(x, passed[0]).mean(1).detach(), padding, both)
    assert wrong.check("padding_invariance").code != "positions"


def test_intents_are_counted_against_the_layers_of_a_module():
    with pytest.raises(InputError, match="3 intents are given for 2 layers"):
        vz.audit_mask(encoder_of_torch(), [padding] * 3, lambda valid: ~valid)
    for n_intents in (3, 4):
        with pytest.raises(InputError, match=f"{n_intents} intents are given, and 2 attention"):
            vz.audit_mask(Stack(), [padding] * n_intents, padding, d_model=8)
    assert vz.audit_mask(Stack(), [padding] * 2, padding, d_model=8).verdict == "PASS"


@pytest.mark.parametrize("model", [lambda x, keep: x * torch.nan, Stack()])
def test_nothing_is_judged_by_comparing_nan_with_nan(model):
    report = audit(lambda x, keep: model(x * torch.nan, keep), module=nn.Identity())
    assert own(report) == ["runs"]
    green = [c.name for c in report.checks if c.verdict in ("PASS", "INFO")]
    assert set(green) <= {"static", "eval_mode", "constants"}
    told = report.check("permutation")
    assert (
        told.verdict == "NOT TESTED" and "could not be judged: the output is NaN" in told.evidence
    )
    assert "sink" not in str(report) and "very same" not in str(report)


def test_nan_without_padding_or_at_one_length_only_is_red():
    model = Stack()

    def by_padding(x, keep):
        n_ignored = (~keep).sum()
        return model(x, keep) * (n_ignored / n_ignored)

    def by_length(x, keep):
        return model(x, keep) * (torch.nan if x.shape[1] > 20 else 1)

    assert own(audit(by_padding))[0] == "batch_independence"
    longer = audit(by_length)
    assert own(longer) == ["lengths"] and "output row 0 of sample 0" in longer.sentence
