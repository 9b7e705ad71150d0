"""The store of runs: budget, age, release and reload."""

import ctypes
import platform
from importlib import import_module

import psutil
import pytest

import viz_encoder as vz
from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.memory import give_back
from viz_encoder.ui.state.store import GRACE_SECONDS, MAX_AGE_SECONDS, TraceStore

sweeps = import_module("viz_encoder.analyses.survey")


class Clock:
    """A clock that only moves when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, "A short one")


def test_a_run_is_found_by_its_key_alone(trace, clock):
    store = TraceStore(clock=clock)
    key = store.put(trace)
    assert store.get(key).trace is trace
    assert len(key) >= 20 and key != store.put(trace)
    with pytest.raises(SelectionError, match="has expired"):
        store.get(key[:-1])


def test_the_least_recently_used_goes_when_the_budget_is_spent(trace, clock):
    store = TraceStore(max_bytes=int(trace.nbytes * 2.5), clock=clock)
    first, second = store.put(trace), store.put(trace)
    store.get(first)
    third = store.put(trace)
    assert store.get(first) and store.get(third)
    with pytest.raises(SelectionError):
        store.get(second)


def test_one_run_over_the_budget_is_still_shown(trace, clock):
    store = TraceStore(max_bytes=1, clock=clock)
    assert store.get(store.put(trace)).trace is trace


def test_old_runs_are_forgotten(trace, clock):
    store = TraceStore(clock=clock)
    key = store.put(trace)
    clock.now = MAX_AGE_SECONDS + 1
    with pytest.raises(SelectionError):
        store.get(key)


def test_a_closed_page_lets_go_but_a_reload_finds_its_run(trace, clock):
    store = TraceStore(clock=clock)
    mine, other = store.put(trace, "mine"), store.put(trace, "other")
    store.release("mine")
    clock.now = GRACE_SECONDS - 1
    store.claim(mine, "mine again")
    clock.now = GRACE_SECONDS + 1
    assert store.get(mine) and store.get(other)
    store.release("mine again")
    clock.now += GRACE_SECONDS + 1
    with pytest.raises(SelectionError):
        store.get(mine)
    assert store.get(other)


def test_a_pinned_run_stays(trace, clock):
    store = TraceStore(max_bytes=1, clock=clock)
    pinned = store.pin(trace)
    store.put(trace)
    store.claim(pinned, "a page")
    store.release("a page")
    clock.now = 10 * MAX_AGE_SECONDS
    assert store.get(pinned).trace is trace


def test_a_survey_that_failed_can_be_asked_again(trace, clock, monkeypatch):
    store = TraceStore(clock=clock)
    entry = store.get(store.put(trace))
    whole = sweeps.survey_layers(trace)
    first = entry.survey(0)
    add, calls = sweeps._Sweep.add, []

    def failing(self, head, block):
        calls.append(head)
        if len(calls) == 1:
            raise MemoryError
        add(self, head, block)

    monkeypatch.setattr(sweeps._Sweep, "add", failing)
    with pytest.raises(MemoryError):
        entry.survey(1)
    expected = [next(whole), next(whole)]
    assert entry.survey(0) is first
    assert (entry.survey(1).thumbnails_max == expected[1].thumbnails_max).all()
    assert len(entry.surveyed) == 2


def test_freed_memory_is_given_back_when_a_run_is_dropped(trace, clock):
    calls = []
    store = TraceStore(int(trace.nbytes * 1.5), clock, lambda: calls.append(len(store._entries)))
    store.put(trace)
    assert calls == []
    store.put(trace)
    assert calls == [1]
    clock.now = MAX_AGE_SECONDS + 1
    store.put(trace)
    assert calls == [1, 1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what is freed")
def test_memory_goes_back_to_the_system():
    libc, process = ctypes.CDLL(None), psutil.Process()
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    size, count = 100_000, 1000
    blocks = [libc.malloc(size) for _ in range(count)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks[:-1]:  # the last one keeps the heap from shrinking by itself
        libc.free(block)
    before = process.memory_info().rss
    give_back()
    assert before - process.memory_info().rss > size * count // 2
    libc.free(blocks[-1])
