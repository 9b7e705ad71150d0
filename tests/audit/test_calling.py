"""A correct model passes however it is naturally called, or a sentence has the line to write."""

import re

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.plants import Attention, causal, padding
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError

VALID = torch.arange(9) < torch.tensor([6, 4, 9, 3])[:, None]
IDS = torch.randint(1, 50, VALID.shape, generator=torch.Generator().manual_seed(0)) * VALID
NAMED = {"input_ids": IDS, "attention_mask": VALID.long()}


class OfIds(nn.Module):
    """Makes its own mask, from ids."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(50, 8)
        self.layers = nn.ModuleList(Attention() for _ in range(2))
        self.eval()

    def attend(self, ids, valid):
        x = self.table(ids)
        for layer in self.layers:
            x = x + layer(x, padding(valid))
        return x

    def forward(self, tokens):
        return self.attend(tokens, tokens != 0)


class OfBoth(OfIds):
    def forward(self, ids, valid):
        return self.attend(ids, valid)


class ByName(OfIds):
    def forward(self, *, ids, valid, scale=1.0):
        return self.attend(ids, valid) * scale


class OfPair(OfIds):
    def forward(self, batch):
        return self.attend(*batch)


class OfFeatures(OfIds):
    """As sentence-transformers calls its modules."""

    def forward(self, features, **unused):
        valid = features["attention_mask"].bool()
        return {"token_embeddings": self.attend(features["input_ids"], valid), **features}


def meant(batch):
    return padding(VALID)


BATCHES = {
    "a tuple": (OfBoth, (IDS, VALID)),
    "a list": (OfBoth, [IDS, VALID]),
    "a tuple that forward takes whole": (OfPair, (IDS, VALID)),
    "ids alone": (OfIds, IDS),
    "a feature dict": (OfFeatures, NAMED),
    "labels beside": (OfIds, {"tokens": IDS, "labels": torch.zeros(4)}),
    "keywords": (ByName, {"ids": IDS, "valid": VALID}),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_is_passed_as_the_signature_tells(name):
    kind, batch = BATCHES[name]
    model = kind()
    assert vz.audit_batch(model, batch, meant).verdict == "PASS"
    model.layers[1].forward = lambda x, keep: Attention.forward(model.layers[1], x, keep | True)
    assert vz.audit_batch(model, batch, meant).verdict == "FAIL"


CANNOT = {
    "positions for keywords": (ByName, (IDS, VALID), "model(ids=batch[0], valid=batch[1])"),
    "labels behind": (OfIds, (IDS, torch.zeros(4)), "model(tokens=batch[0])"),
    "another name": (OfIds, {"input_ids": IDS}, "model(tokens=batch['input_ids'])"),
    "one too many": (OfBoth, (IDS, VALID, IDS), "model(ids=batch[0], valid=batch[1])"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_passed_has_the_line_to_write_and_that_line_works(name):
    kind, batch, call = CANNOT[name]
    model = kind()
    with pytest.raises(InputError) as told:
        vz.audit_batch(model, batch, meant)
    line = re.search(r"vz\.audit_batch\(lambda batch: (.*), batch, intent, …", str(told.value))
    assert line[1] == call
    run = eval(f"lambda batch: {call}", {"model": model})
    assert vz.audit_batch(run, batch, meant, module=model).verdict == "PASS"


SHAPES = {
    "(query, key)": (causal(VALID)[2], r"pattern\[None\] & valid\[:, None, :\]"),
    "(batch, token)": (VALID, r"valid\[:, None, :\]\.expand\(-1, valid\.shape\[1\], -1\)"),
    "heads": (padding(VALID)[:, None].expand(-1, 2, -1, -1), "one mask for all heads"),
    "one sample": (padding(VALID)[:1], "of 1 samples, and the batch of 4"),
    "numbers": (padding(VALID).long(), "write mask == 1"),
    "to be added": (padding(VALID).float(), "mask == 0"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_intent_of_another_shape_has_the_line_to_write(name):
    given, cure = SHAPES[name]
    with pytest.raises(InputError, match=cure):
        vz.audit_batch(OfBoth(), (IDS, VALID), lambda batch: given)


@pytest.mark.parametrize(
    "given",
    [VALID[:, None, None], VALID[:, None], padding(VALID)[:, None], padding(VALID).numpy()],
    ids=["(batch, 1, 1, key)", "(batch, 1, key)", "(batch, 1, query, key)", "numpy"],
)
def test_an_intent_whose_axes_can_only_mean_one_thing_is_taken(given):
    assert vz.audit_batch(OfBoth(), (IDS, VALID), lambda batch: given).verdict == "PASS"


def test_a_model_that_makes_its_own_mask_is_called_with_x_alone():
    inputs = AuditInputs(vocab_size=50, pad_id=0)
    report = vz.audit_mask(OfIds(), padding, inputs=inputs)
    assert report.verdict == "PASS" and any(
        "(x): no mask was passed" in x for x in report.not_tested
    )
    forgets = OfIds()
    forgets.attend = lambda ids, valid: OfIds.attend(forgets, ids, valid | True)
    assert vz.audit_mask(forgets, padding, inputs=inputs).verdict == "FAIL"
    with pytest.raises(InputError, match="takes no mask beside x"):
        vz.audit_mask(OfIds(), padding, lambda valid: valid, inputs=inputs)


def test_a_call_that_does_not_fit_is_an_error_of_the_audit():
    with pytest.raises(InputError, match=r"AuditInputs\(vocab_size=50\)"):
        vz.audit_mask(OfIds(), padding, d_model=8)
    assert vz.audit_mask(OfBoth(), padding, lambda v: v, d_model=8).verdict == "ERROR"
    by_keys = lambda x, valid: Attention()(x, valid[:, None].expand(-1, x.shape[1], -1))  # noqa: E731
    found = vz.audit_mask(by_keys, padding, d_model=8).check("runs")
    assert (found.verdict, found.code) == ("ERROR", "make_mask")
    with pytest.raises(InputError, match=r"model\(ids=x, valid=passed\)"):
        vz.audit_mask(ByName(), padding, d_model=8)
    with pytest.raises(InputError, match=r"lambda x, passed: model\("):
        vz.audit_mask(OfFeatures(), padding, inputs=AuditInputs(vocab_size=50))


def test_two_halves_are_audited_one_by_one():
    torch.manual_seed(0)
    whole = nn.Transformer(16, 2, 2, 2, 32, batch_first=True).eval()
    with pytest.raises(InputError, match=r"vz\.audit_mask\(model\.encoder, intent"):
        vz.audit_mask(whole, padding, d_model=16)
    assert vz.audit_mask(whole.encoder, padding).verdict == "PASS"
    with pytest.raises(InputError, match=r"AuditScope\(cross=…\)"):
        vz.audit_mask(whole.decoder, padding, d_model=16)
    memory = torch.randn(1, 5, 16)
    report = vz.audit_mask(
        lambda x, keep: whole.decoder(
            x, memory.expand(len(x), -1, -1), tgt_mask=~keep.repeat_interleave(2, dim=0)
        ),
        padding,
        d_model=16,
        module=whole.decoder,
        scope=AuditScope(cross=lambda valid: torch.ones(*valid.shape, 5, dtype=torch.bool)),
    )
    assert report.verdict == "PASS", str(report)


@pytest.mark.parametrize("kind", ["T5", "Bart"])
def test_encoder_decoders_of_transformers_are_audited_one_by_one(kind):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {
        "T5": {"d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2},
        "Bart": {
            **{f"{half}_layers": 2 for half in ("encoder", "decoder")},
            **{f"{half}_attention_heads": 2 for half in ("encoder", "decoder")},
            "max_position_embeddings": 64,
        },
    }[kind]
    config = getattr(transformers, f"{kind}Config")(vocab_size=50, d_model=16, **sizes)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    for batch in (NAMED, {**NAMED, "decoder_input_ids": IDS}):
        with pytest.raises(InputError, match=r"vz\.audit_batch\(model\.get_encoder\(\), batch"):
            vz.audit_batch(model, batch, meant)
    with pytest.raises(InputError, match=r"vz\.audit_mask\(model\.get_encoder\(\), intent"):
        vz.audit_mask(model, padding)
    assert vz.audit_batch(model.get_encoder(), NAMED, meant).verdict == "PASS"
    assert vz.audit_mask(model.get_encoder(), padding).verdict == "PASS"
