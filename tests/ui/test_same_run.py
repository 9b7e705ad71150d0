"""A text that ran on a model already is not run again; another model, text or expired run is."""

import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

module = import_module("viz_encoder.ui.state.recipe")
TEXT = "the keys to the cabinet [MASK] old"


@pytest.fixture
def captures(monkeypatch):
    """What was run, one entry a run."""
    ran, capture = [], module.capture_entered

    def counted(encoder, inputs, *rest):
        ran.append((encoder.card.name, inputs.samples[0].texts))
        return capture(encoder, inputs, *rest)

    monkeypatch.setattr(module, "capture_entered", counted)
    return ran


def key(description):
    return description["key"]


def test_thirty_who_press_run_at_once_share_one_run(runner, captures):
    start = threading.Barrier(30)

    def press(number):
        start.wait()
        return runner.text("grammar", TEXT, owner=f"page {number}")

    with ThreadPoolExecutor(30) as pool:
        made = list(pool.map(press, range(30)))
    assert len(captures) == 1 and len(set(map(key, made))) == 1
    assert runner.store.get(key(made[0])).owners == {f"page {number}" for number in range(30)}


def test_only_the_same_input_on_the_same_model_is_the_same_run(runner, captures):
    made = [
        runner.text("grammar", TEXT),
        runner.text("grammar", TEXT + " "),
        runner.text("all-MiniLM-L6-v2", TEXT),
        runner.text("all-MiniLM-L6-v2", TEXT, "a second one"),
        runner.text("all-MiniLM-L6-v2", TEXT, "another"),
        runner.picture("scene", None, "a wide scene"),
        runner.picture("scene", None, "a digit"),
    ]
    again = [
        runner.text("grammar", TEXT),
        runner.text("all-MiniLM-L6-v2", TEXT, "another"),
        runner.picture("scene", None, "a digit"),
    ]
    assert len(captures) == 7 == len(set(map(key, made)))
    assert [key(made[at]) for at in (0, 4, 6)] == list(map(key, again))


def test_an_expired_run_and_one_of_a_model_that_was_read_again_run_again(runner, captures):
    first = key(runner.text("grammar", TEXT))
    runner.store._entries.clear()
    second = key(runner.text("grammar", TEXT))
    runner.models._offers.clear()  # as where a folder has changed
    third = key(runner.text("grammar", TEXT))
    assert len(captures) == 3 == len({first, second, third})


def test_a_run_that_failed_is_tried_again(runner, captures, monkeypatch):
    good = module.capture_entered

    def failing(*given):
        raise MemoryError

    monkeypatch.setattr(module, "capture_entered", failing)
    with pytest.raises(MemoryError):
        runner.text("grammar", TEXT)
    monkeypatch.setattr(module, "capture_entered", good)
    assert key(runner.text("grammar", TEXT)) and len(captures) == 1
