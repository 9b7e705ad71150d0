"""Heavy answers: a few at a time, others quick beside them, and none for a page that has gone."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi import Response

from tests.coroutines import run_apart
from viz_encoder.ui.wire.concurrency import GIVEN_UP, Places

WAITING = 60  # more than the server has threads


class Asked:
    """A request whose client is there, or has gone."""

    client = None

    def __init__(self, gone):
        self.gone = gone

    async def is_disconnected(self):
        return self.gone


def test_only_so_many_work_at_once_and_the_gone_are_dropped():
    at_work, most, done = set(), [], []

    def work(number):
        at_work.add(number)
        most.append(len(at_work))
        threading.Event().wait(0.01)
        at_work.discard(number)
        done.append(number)
        return Response()

    async def all_of_them():
        route = Places(2, small=lambda given: given["number"] == 13)(work)
        numbers = [*range(12), 13]
        return await asyncio.gather(*(route(Asked(n % 3 == 0), number=n) for n in numbers))

    answers = run_apart(all_of_them())
    assert max(most) == 3
    assert 13 in done[:3], "small work waits for no other"
    assert sorted(done) == [n for n in [*range(12), 13] if n % 3]
    codes = [200 if n % 3 else GIVEN_UP for n in [*range(12), 13]]
    assert [answer.status_code for answer in answers] == codes


@pytest.fixture(scope="module")
def key(client):
    return client.predict("bank " * 300, api_name="/run_text")["key"]


def test_a_row_does_not_wait_for_a_crowd_of_rollouts(site, key):
    base, answered, begun = f"{site}viz/run/{key}", [], threading.Event()

    def rollout(query):
        url = f"{base}/figure/rollout.csv?query={query}"
        answered.append(httpx.get(url, timeout=300).status_code)
        begun.set()

    with ThreadPoolExecutor(WAITING) as crowd:
        asked = [crowd.submit(rollout, query) for query in range(WAITING)]
        begun.wait()
        row = httpx.get(f"{base}/row?layer=0&head=0&query=1", timeout=300)
        before = len(answered)
        assert row.status_code == 200 and before < WAITING // 4
        for one in asked:
            one.result()
    assert answered == [200] * WAITING
