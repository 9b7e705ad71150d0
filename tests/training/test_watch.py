"""A watch's numbers against numpy, what it counts, and where it writes."""

import csv
import logging
import sys
import types

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image

import viz_encoder as vz
from tests.audit.plants import causal, padding
from tests.refusals import refused
from tests.training.loops import LENGTHS, N_TOKENS, batch, bert, real, to_real
from viz_encoder.errors import TraceError
from viz_encoder.trace.record import Recording
from viz_encoder.training import Look
from viz_encoder.training.beside import BatchRecording
from viz_encoder.training.look import look_at


def look(model, intent=None, given=None, **options) -> Look:
    found = []
    with vz.watch(model, intent=intent, log=found.append, **options):
        model(**(given or batch()))
    [one] = found
    return one


def maps_of(model) -> np.ndarray:
    """ "layer batch head query key", from transformers itself."""
    eager = bert(attn_implementation="eager")
    eager.load_state_dict(model.state_dict())
    with torch.no_grad():
        out = eager.eval()(**batch(), output_attentions=True)
    return torch.stack(out.attentions).double().numpy()


@pytest.mark.filterwarnings("ignore:vz.watch")
def test_leaks_are_those_of_numpy():
    model = bert().eval()
    allowed, valid = causal(real()).numpy(), real().numpy()
    found = look(model, lambda b: causal(b["attention_mask"] == 1)).heads
    forbidden = ~allowed & valid[:, :, None]
    over = maps_of(model) * forbidden[None, :, None]
    assert np.abs(found["leak"] - over.max(axis=(1, 3, 4))).max() < 1e-6
    share = over.sum(axis=(1, 3, 4)) / valid.sum()
    assert np.abs(found["leak_share"] - share).max() < 1e-6 and share.min() > 0.05
    assert not found["lost"].any()


def test_statistics_are_means_over_the_chosen_samples():
    model = bert().eval()
    maps = maps_of(model)
    for count, chosen in ((4, [0, 1, 2, 3]), (2, [0, 3]), (9, [0, 1, 2, 3])):
        whole = look(model, to_real, samples=count)
        found = whole.heads
        assert whole.samples == tuple(chosen)
        entropy, first = [], []
        for sample in chosen:
            one = maps[:, sample, :, : LENGTHS[sample], : LENGTHS[sample]]
            entropy.append(-(one * np.log(one)).sum(axis=-1).mean(axis=-1))
            first.append(one[..., 0].mean(axis=-1))
        assert np.abs(found["entropy"] - np.mean(entropy, axis=0)).max() < 1e-5
        assert np.abs(found["first"] - np.mean(first, axis=0)).max() < 1e-6
        assert "special" not in found


def test_special_tokens_are_known_by_their_ids():
    model, given = bert().eval(), batch()
    given["input_ids"][:, 0] = 2
    found = look(model, to_real, given, special_ids={2, 3}).heads
    assert np.allclose(found["special"], found["first"])


def test_only_some_samples_are_kept_of_each_layer(monkeypatch):
    held = []

    def keep(step, recording, *rest):
        held.extend(call.attention.q.shape[0] for call in recording.calls)
        return look_at(step, recording, *rest)

    monkeypatch.setattr("viz_encoder.training.watching.look_at", keep)
    look(bert().train(), to_real, samples=2)
    assert held == [2, 2] and issubclass(BatchRecording, Recording)


def test_every_counts_calls_with_gradients():
    model, looks = bert().train(), []
    with vz.watch(model, 3, log=looks.append):
        for step in range(7):
            model(**batch(step))
            with torch.no_grad():
                model(**batch(step))
    assert [one.step for one in looks] == [0, 3, 6]
    model(**batch())
    assert len(looks) == 3


@pytest.mark.filterwarnings("ignore:vz.watch")
def test_arguments_without_names_are_given_theirs():
    model, seen = bert().train(), []

    def intent(given):
        seen.append(given)
        return to_real(given)

    with vz.watch(model, intent=intent, log=lambda one: None):
        model(*batch().values())
    assert list(seen[0]) == ["input_ids", "attention_mask"]
    alone = torch.nn.Sequential(bert())
    with vz.watch(alone, intent=lambda ids: seen.append(ids) or to_real(batch()), log=id):
        alone(batch()["input_ids"].masked_fill(~real(), 1))
    assert torch.equal(seen[1], batch()["input_ids"])


def test_a_csv_file_has_a_line_a_number_and_the_atlas_beside_it(tmp_path):
    path, model = tmp_path / "runs" / "watch.csv", bert().train()
    for _ in range(2):  # a second run adds to it
        with vz.watch(model, 1, intent=to_real, log=path):
            model(**batch(lengths=(9, 9, 9, 4)))
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    numbers = [row for row in rows if row["name"] == "entropy"]
    assert {(row["layer"], row["head"]) for row in numbers} == {*zip("0011", "0101", strict=True)}
    assert len(numbers) == 8 and all(float(row["value"]) > 0 for row in numbers)
    told = [row["text"] for row in rows if row["text"]]
    assert len(told) == 2 and told[0].startswith("INFO: 4 to 9 real tokens of 9; 3 of 4 samples")
    with Image.open(path.with_name("watch-000000.png")) as picture:
        assert picture.size[0] >= 64 and len(np.unique(np.asarray(picture))) > 5


class Board:
    """As torch.utils.tensorboard.SummaryWriter."""

    def __init__(self):
        self.said = []

    def add_scalar(self, tag, value, step):
        self.said.append((tag, value, step))

    def add_text(self, tag, text, step):
        self.said.append((tag, text, step))

    def add_image(self, tag, picture, step, dataformats):
        assert dataformats == "HWC" and picture.dtype == np.uint8
        self.said.append((tag, picture.shape[2], step))


@pytest.mark.filterwarnings("ignore:vz.watch")
def test_tensorboard_is_written_by_its_own_names():
    board, model = Board(), bert().train()
    with vz.watch(model, 1, intent=lambda b: causal(b["attention_mask"] == 1), log=board):
        model(**batch())
    said = {tag: value for tag, value, step in board.said if step == 0}
    assert said["leak/layer_1_head_0"] > 0.05 and said["watch/atlas"] == 3
    assert said["leak/largest"] == max(v for t, v in said.items() if t.startswith("leak/"))
    assert said["watch/maps"].startswith("FAIL: Layer")


def test_a_real_tensorboard(tmp_path):
    board = pytest.importorskip("torch.utils.tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = bert().train()
    with board.SummaryWriter(str(tmp_path)) as log, vz.watch(model, 1, intent=to_real, log=log):
        model(**batch())
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert "entropy/layer_1_head_1" in read.Tags()["scalars"]
    assert read.Tags()["images"] == ["watch/atlas"]


def test_weights_and_biases_keep_their_own_steps(monkeypatch):
    library = types.ModuleType("wandb")
    library.Image = lambda array: ("image", array.shape[2])
    monkeypatch.setitem(sys.modules, "wandb", library)
    said = []

    class Run:
        __module__ = "wandb.sdk.wandb_run"

        def log(self, data, step=None, commit=None):
            assert step is None and commit is False
            said.append(data)

    model = bert().train()
    with vz.watch(model, 2, intent=to_real, log=Run()):
        for step in range(3):
            model(**batch(step))
    assert [one["watch/step"] for one in said] == [0, 2]
    assert said[1]["watch/atlas"] == ("image", 3) and "entropy/layer_0_head_1" in said[0]


def test_what_cannot_be_watched_or_written_is_answered():
    model = bert()
    for log in (3, logging.getLogger(), None):
        refused(vz.VizEncoderError, "SummaryWriter, a wandb run", vz.watch, model, log=log)
    for every in (0, 1.5, True):
        refused(vz.VizEncoderError, r"every is .*whole number", vz.watch, model, every, log=id)
    refused(vz.VizEncoderError, r"must be a torch\.nn\.Module", vz.watch, lambda x: x, log=id)
    with (
        pytest.warns(UserWarning, match="missed step 0: No attention of Linear"),
        vz.watch(torch.nn.Linear(2, 2), log=id) as watch,
    ):
        watch._module(torch.ones(1, 2))


def test_a_model_with_two_stacks_is_watched_within_one():
    config = hf.BartConfig(
        d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, vocab_size=40,
        max_position_embeddings=64, pad_token_id=1, bos_token_id=2, eos_token_id=2,
        decoder_start_token_id=2, forced_eos_token_id=2,
    )  # fmt: skip
    model = hf.BartModel(config).train()
    with (
        pytest.warns(UserWarning, match=r"vz\.watch\(within='encoder"),
        vz.watch(model, log=id),
    ):
        model(**batch())
    found = look(model, to_real, within="encoder")
    assert found.heads["leak"].shape == found.heads["entropy"].shape == (2, 2) and found.ok
    assert batch()["input_ids"].shape[1] == N_TOKENS


def trained(events, model, watch, n_steps, accumulate):
    """The events of a Trainer in their order, around passes of the model."""
    state = hf.TrainerState()
    control, args = hf.TrainerControl(), None
    events.on_train_begin(args, state, control)
    for step in range(n_steps):
        state.global_step = step
        events.on_step_begin(args, state, control)
        for part in range(accumulate):
            model(**batch(10 * step + part))
            events.on_substep_end(args, state, control)
        events.on_step_end(args, state, control)
    events.on_evaluate(args, state, control, metrics={})
    events.on_train_end(args, state, control)


def test_transformers_own_events_count_the_optimizers_steps():
    from transformers.trainer_callback import CallbackHandler

    model, looks = bert().train(), []
    watch = vz.watch(every=2, intent=to_real, log=looks.append)
    flow = hf.trainer_callback.DefaultFlowCallback()
    events = CallbackHandler([flow, watch], model, None, None, None)
    args = types.SimpleNamespace(output_dir="")
    events.call_event("on_init_end", args, hf.TrainerState(), hf.TrainerControl())
    events.callbacks.remove(flow)
    trained(events, model, watch, n_steps=5, accumulate=3)
    assert [one.step for one in looks] == [0, 2, 4] and all(one.ok for one in looks)
    assert not model._forward_hooks
    with pytest.raises(AttributeError):
        _ = watch.off_train_begin


@pytest.mark.slow
def test_a_real_trainer(tmp_path):
    pytest.importorskip("accelerate")
    model, looks = hf.BertForTokenClassification(bert().config), []

    def collate(items):
        given = batch(items[0])
        return {**given, "labels": given["input_ids"] % 2}

    args = hf.TrainingArguments(
        output_dir=str(tmp_path), max_steps=4, per_device_train_batch_size=1, report_to=[],
        gradient_accumulation_steps=2, save_strategy="no", use_cpu=True, disable_tqdm=True,
        remove_unused_columns=False,
    )  # fmt: skip
    watch = vz.watch(every=2, intent=to_real, log=looks.append)
    trainer = hf.Trainer(model, args, collate, list(range(16)), callbacks=[watch])
    trainer.train()
    assert [one.step for one in looks] == [0, 2] and all(one.ok for one in looks)


def test_what_a_look_could_not_see_is_said(monkeypatch):
    def unseen(*_):
        raise TraceError("nothing of it")

    monkeypatch.setattr("viz_encoder.training.look._traces", unseen)
    with pytest.warns(UserWarning, match="vz.watch, step 0: Statistics: nothing of it"):
        found = look(bert().train(), to_real)
    assert found.not_seen == ("Statistics: nothing of it",) and found.checks == ()


def test_a_batch_that_is_changed_between_calls_is_not_changed_by_one():
    model, given = bert().train(), batch()
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    valid = real()

    def intent(seen):
        return padding(valid if "src" in seen else seen["attention_mask"] == 1)

    with vz.watch(model, 1, intent=intent, log=lambda look: None) as watch:
        model(**given)
        given["attention_mask"].add_(0)  # the loop's own doing, after the call
        watch.start(layer)
        layer(torch.randn(*valid.shape, 8), src_key_padding_mask=~valid)
    assert watch.last.checks == () and watch.found == {}
