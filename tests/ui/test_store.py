"""The store of runs: budget, age, release and reload."""

import ctypes
import platform
import threading
from dataclasses import replace
from importlib import import_module

import psutil
import pytest

import viz_encoder as vz
from tests.ui.reruns import entry_of, put
from viz_encoder.errors import Expired, SelectionError
from viz_encoder.trace.map_view import MapView
from viz_encoder.ui.state.expiring_store import CLIENT, GRACE_SECONDS, MAX_AGE_SECONDS, Kept
from viz_encoder.ui.state.limits import give_back
from viz_encoder.ui.state.painted_mask import PaintedMask
from viz_encoder.ui.state.store import Entry, TraceStore

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
    key = put(store, trace)
    assert store.get(key).trace is trace
    assert len(key) >= 20 and key != put(store, trace)
    with pytest.raises(SelectionError, match="has expired"):
        store.get(key[:-1])


def test_the_least_recently_used_goes_when_the_budget_is_spent(trace, clock):
    store = TraceStore(max_bytes=int(trace.nbytes * 2.5), clock=clock)
    first, second = put(store, trace), put(store, trace)
    store.get(first)
    third = put(store, trace)
    assert store.get(first) and store.get(third)
    with pytest.raises(SelectionError):
        store.get(second)


def test_one_run_over_the_budget_is_still_shown(trace, clock):
    store = TraceStore(max_bytes=1, clock=clock)
    assert store.get(put(store, trace)).trace is trace


def test_a_run_lives_for_as_long_as_it_is_used(trace, clock):
    store = TraceStore(clock=clock)
    used, forgotten = put(store, trace), put(store, trace)
    for _ in range(5):
        clock.now += MAX_AGE_SECONDS - 1
        assert store.get(used).trace is trace
    with pytest.raises(Expired):
        store.get(forgotten)
    clock.now += MAX_AGE_SECONDS + 1
    with pytest.raises(Expired):
        store.get(used)


def held_by(store, client, trace, count):
    """So many runs of one client; their keys."""
    token = CLIENT.set(client)
    keys = [put(store, trace) for _ in range(count)]
    CLIENT.reset(token)
    return keys


def is_held(store, key):
    try:
        return store.get(key) is not None
    except Expired:
        return False


def test_a_greedy_client_loses_its_own_runs_and_no_others(trace, clock):
    store = TraceStore(max_bytes=int(trace.nbytes * 10.5), clock=clock)
    (visitor,) = held_by(store, "a visitor", trace, 1)
    greedy = held_by(store, "greedy", trace, 60)
    assert is_held(store, visitor)
    assert [is_held(store, key) for key in greedy] == [False] * 51 + [True] * 9
    more = held_by(store, "a visitor", trace, 3)
    assert all(is_held(store, key) for key in (visitor, *more))
    assert [is_held(store, key) for key in greedy[-9:]] == [False] * 3 + [True] * 6


def test_a_run_two_pages_show_stays_until_both_are_closed(trace, clock):
    store = TraceStore(clock=clock)
    key = put(store, trace, owners=["one"])
    store.claim(key, "two")
    store.release("one")
    clock.now += GRACE_SECONDS + 1
    assert is_held(store, key)
    store.release("two")
    clock.now += GRACE_SECONDS + 1
    assert not is_held(store, key)


def test_a_run_counts_all_that_is_held_for_it(minilm, clock):
    store = TraceStore(clock=clock)
    inputs = minilm.read("A short one")
    entry = store.get(put(store, vz.capture(minilm, inputs)[0], minilm, inputs))
    ran = entry.nbytes
    tensors = [entry.trace.output, *entry.trace.hidden_states, inputs.values]
    assert ran > sum(tensor.nbytes for tensor in tensors)
    surveyed, means = entry.survey(0), entry.key_means(0)
    thumbnails = surveyed.thumbnails_max.nbytes + surveyed.thumbnails_mean.nbytes
    swept = entry.nbytes - ran
    assert thumbnails + means.nbytes < swept < 1.2 * (thumbnails + means.nbytes)
    entry.survey(0, MapView(hide_special=True))
    assert entry.nbytes > ran + 1.3 * swept
    recipe = replace(entry.recipe, mask=PaintedMask("causal"))
    plain, masked = Entry(entry.trace, entry.recipe), Entry(entry.trace, recipe)
    assert masked.nbytes == plain.nbytes + masked.masked.intent.nbytes


def test_what_is_computed_of_held_runs_makes_room_too(trace, clock):
    store = TraceStore(max_bytes=int(trace.nbytes * 2.05), clock=clock)
    first, second = put(store, trace), put(store, trace)
    for layer in range(trace.n_layers):
        store.get(second).survey(layer)
    store.get(second)
    assert not is_held(store, first) and is_held(store, second)


def test_memory_is_flat_once_the_budget_is_reached(minilm, clock):
    inputs = minilm.read("a word or two " * 30)
    size = vz.capture(minilm, inputs)[0].nbytes
    store, process = TraceStore(4 * size, clock, give_back), psutil.Process()

    def grown(runs):
        before = process.memory_info().rss
        for _ in range(runs):
            entry = store.get(put(store, vz.capture(minilm, inputs)[0], minilm, inputs))
            entry.survey(0)
        return process.memory_info().rss - before

    grown(8)  # past the budget
    assert grown(12) < 4 * size  # without a budget, 12


def test_a_closed_page_lets_go_but_a_reload_finds_its_run(trace, clock):
    store = TraceStore(clock=clock)
    mine, other = (put(store, trace, owners=[page]) for page in ("mine", "other"))
    store.release("mine")
    clock.now = GRACE_SECONDS - 1
    store.claim(mine, "mine again")
    clock.now += GRACE_SECONDS + 1
    assert store.get(mine) and store.get(other)
    store.release("mine again")
    clock.now += GRACE_SECONDS + 1
    with pytest.raises(SelectionError):
        store.get(mine)
    assert store.get(other)


def test_a_run_that_a_reload_found_lives_by_its_use_as_before(trace, clock):
    store = TraceStore(clock=clock)
    key = put(store, trace, owners=["a page"])
    store.release("a page")
    store.claim(key, "a page")
    for _ in range(3):
        clock.now += MAX_AGE_SECONDS - 1
        assert is_held(store, key)


def test_what_was_on_its_way_as_the_page_closed_keeps_the_run_no_longer(trace, clock):
    store = TraceStore(clock=clock)
    key = put(store, trace, owners=["a page"])
    store.release("a page")
    clock.now = 1.0
    store.get(key)
    clock.now += GRACE_SECONDS + 1
    assert not is_held(store, key)


def test_a_pinned_run_stays(trace, clock):
    store = TraceStore(max_bytes=1, clock=clock)
    pinned = put(store, trace)
    store.hold(pinned)
    put(store, trace)
    store.claim(pinned, "a page")
    store.release("a page")
    clock.now = 10 * MAX_AGE_SECONDS
    assert store.get(pinned).trace is trace


def test_a_survey_that_failed_can_be_asked_again(trace, clock, monkeypatch):
    store = TraceStore(clock=clock)
    entry = store.get(put(store, trace))
    whole = sweeps.survey_layers(trace)
    first = entry.survey(0)
    add, calls = sweeps.HeadSweep.add, []

    def failing(self, walk, block):
        calls.append(walk)
        if len(calls) == 1:
            raise MemoryError
        add(self, walk, block)

    monkeypatch.setattr(sweeps.HeadSweep, "add", failing)
    with pytest.raises(MemoryError):
        entry.survey(1)
    expected = [next(whole), next(whole)]
    assert entry.survey(0) is first
    assert (entry.survey(1).thumbnails_max == expected[1].thumbnails_max).all()
    assert len(entry.surveyed) == 2


def test_freed_memory_is_given_back_when_a_run_is_dropped(trace, clock):
    calls = []
    store = TraceStore(int(trace.nbytes * 1.5), clock, lambda: calls.append(len(store._entries)))
    put(store, trace)
    assert calls == []
    put(store, trace)
    assert calls == [1]
    clock.now = MAX_AGE_SECONDS + 1
    put(store, trace)
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


def test_a_result_is_computed_once_and_the_last_few_are_kept(trace):
    kept, entry, computed, both = Kept(2), entry_of(trace), [], threading.Barrier(2)

    def ask(what):
        return kept.of(entry, what, lambda: computed.append(what) or what)

    def ask_both():
        both.wait()
        ask(3)

    assert [ask(what) for what in (0, 1, 0, 2, 0, 1)] == [0, 1, 0, 2, 0, 1]
    assert computed == [0, 1, 2, 1]
    threads = [threading.Thread(target=ask_both) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert computed == [0, 1, 2, 1, 3]
    few, runs = Kept(2, runs=1), [entry_of(trace), entry_of(trace)]
    assert [few.of(one, 0, object) is few.of(one, 0, object) for one in runs] == [True, True]
    assert few.of(runs[0], 0, lambda: "again") == "again"  # of the last run alone
