"""python -m benchmarks.load: many users at once, and a visitor beside a greedy neighbor; writes LOAD.md.

Everything is on 127.0.0.1, against a public server of its own in another process.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
import psutil

import viz_encoder as vz
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.lesson.result_code import N_STEPS
from viz_encoder.lesson.seats import seat

USERS = (1, 16, 30)
VISITS = 8  # of the visitor, alone and beside each neighbor
MODEL = "all-MiniLM-L6-v2"
WORDS = "the {0} cats of house {0} sat on the {0} mats because they were so tired of {0} streets"
LONG = "long words of a text " * 95
LONGEST = 120.0  # seconds for any answer


@dataclass
class Found:
    """What a group of users met."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    mixed: int = 0


@dataclass(frozen=True)
class User:
    """One client of the server, with an address of its own as a proxy would tell it."""

    site: str
    number: int
    client: httpx.AsyncClient

    @property
    def headers(self) -> dict[str, str]:
        """Who it is."""
        return {"x-forwarded-for": f"198.51.{self.number // 250}.{self.number % 250 + 1}"}

    async def open_page(self) -> None:
        """What a browser asks for until the first map is there."""
        for path in ("", "viz/first"):
            answer = await self.client.get(self.site + path, headers=self.headers)
            answer.raise_for_status()
        await self._map(answer.json()["key"])

    async def run(self, text: str) -> list[str]:
        """Run a text and fetch its first map; returns its tokens."""
        made = await self.call("run_text", text, "", MODEL)
        await self._map(made["key"])
        return made["tokens"]

    async def call(self, name: str, *given: object) -> dict:
        """Call a named endpoint and wait for its result."""
        address = f"{self.site}gradio_api/call/{name}"
        for tried in range(20):  # as the page does where the queue is full
            asked = await self.client.post(address, json={"data": given}, headers=self.headers)
            if asked.status_code not in (429, 503):
                break
            await asyncio.sleep(min(2**tried, 8))
        asked.raise_for_status()
        told = await self.client.get(f"{address}/{asked.json()['event_id']}", headers=self.headers)
        found = re.search(r"event: (complete|error)\ndata: (.*)", told.text)
        if found is None or found[1] == "error":
            raise RuntimeError(told.text[-300:])
        return json.loads(found[2])[0]

    async def _map(self, key: str) -> None:
        path = f"viz/run/{key}/map?layer=3&head=1"
        (await self.client.get(self.site + path, headers=self.headers)).raise_for_status()


Act = Callable[[User, int], Awaitable[bool]]
Neighbor = Callable[[User], list[Awaitable[object]]]  # what it asks for at once


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 users; writes nothing")
    given = parser.parse_args()
    lines = asyncio.run(_measured((1, 3) if given.quick else USERS, not given.quick))
    print("\n".join(lines))
    if not given.quick:
        (Path(__file__).parent / "LOAD.md").write_text("\n".join(lines) + "\n")


async def _measured(users: tuple[int, ...], greedy: bool) -> list[str]:
    command = [sys.executable, "-m", "viz_encoder", "serve", "--public", "--trust-proxy"]
    command += ["--port", "7900"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert server.stdout is not None
        site = next(found[0] for line in server.stdout if (found := re.search(r"http\S+", line)))
        return await _tables(site + "/", psutil.Process(server.pid), users, greedy)
    finally:
        server.terminate()
        server.wait()


async def _tables(
    site: str, process: psutil.Process, counts: tuple[int, ...], greedy: bool
) -> list[str]:
    lines = [
        "# Load\n",
        "Seconds from the request to the first map, or through all twelve steps of the lesson (24 answers after a run), all measured in one run of the benchmark. "
        "× ideal is the slowest answer ÷ (users × the median of one user alone); mixed up counts "
        "answers with another text's tokens. Written by `python -m benchmarks.load`.\n",
        "| users at once | task | median | slowest | × ideal | errors | mixed up | RSS (MB) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    truth = vz.load(MODEL, device="cpu")
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=LONGEST, limits=limits) as client:
        people = [User(site, number, client) for number in range(max(counts))]
        tasks = {"open the page": _opens, "run a text": _runs(truth), "follow the lesson": _learns}
        for name, act in tasks.items():
            await act(people[0], -1)  # warm
            alone = [(await _all(act, people[:1], -2 - at)).seconds[0] for at in range(5)]
            for count in counts:
                found = await _all(act, people[:count], count)
                lines.append(_line(count, name, found, median(alone), process))
        if greedy:
            lines += await _beside(people[0], process)
    return lines


async def _opens(user: User, _: int) -> bool:
    await user.open_page()
    return True


def _runs(truth: LoadedEncoder) -> Act:
    async def act(user: User, turn: int) -> bool:
        text = WORDS.format(1000 + user.number * 37 + turn)
        return tuple(await user.run(text)) == truth.read(text).samples[0].tokens

    return act


async def _learns(user: User, _: int) -> bool:
    """A seat's sentence, and in each step of the lesson one token's numbers and the questions."""
    own = seat(1 + user.number)
    made = await user.call("run_text", own.text, "", "grammar")
    place = {"layer": 2, "head": 0, "query": own.masked + 1, "key": own.source + 1}
    for step in range(1, N_STEPS + 1):
        for part, more in (("token", {}), ("exercises", {"step": step, "seed": own.number})):
            path = f"{user.site}viz/run/{made['key']}/learn/{part}"
            answer = await user.client.get(path, params={**place, **more}, headers=user.headers)
            answer.raise_for_status()
    return tuple(made["tokens"][1:-1]) == tuple(own.text.split())


async def _all(act: Act, users: list[User], turn: int) -> Found:
    """All of them at once."""
    found = Found()

    async def one(user: User) -> None:
        start = time.perf_counter()
        try:
            found.mixed += not await act(user, turn)
        except (httpx.HTTPError, RuntimeError) as fault:
            found.errors.append(repr(fault))
        found.seconds.append(time.perf_counter() - start)

    await asyncio.gather(*map(one, users))
    return found


def _line(count: int, what: str, found: Found, alone: float, process: psutil.Process) -> str:
    slowest, held = max(found.seconds), process.memory_info().rss / 2**20
    for fault in found.errors[:3]:
        print(fault, file=sys.stderr)
    return (
        f"| {count} | {what} | {median(found.seconds):.2f} | {slowest:.2f} | "
        f"{slowest / (count * alone):.1f} | {len(found.errors)} | {found.mixed} | {held:,.0f} |"
    )


async def _beside(visitor: User, process: psutil.Process) -> list[str]:
    """A visitor's answers beside one greedy neighbor of each kind."""
    lines = [
        "\nA visitor repeatedly runs a text and fetches its map, alone and beside one greedy "
        "neighbor.\n",
        "| neighbor | served (refused) | median | slowest | slowest ÷ alone | errors | RSS (MB) |",
        "|---|---|---|---|---|---|---|",
    ]
    alone = 0.0
    for at, (name, neighbor) in enumerate(NEIGHBORS.items()):
        greedy = User(visitor.site, 2000 + at, visitor.client)
        async with _greedy(neighbor, greedy) as got:
            found = Found()
            for visit in range(VISITS):
                start = time.perf_counter()
                try:
                    await visitor.run(WORDS.format(f"{at}{visit}"))
                except (httpx.HTTPError, RuntimeError) as fault:
                    found.errors.append(repr(fault))
                found.seconds.append(time.perf_counter() - start)
            held = process.memory_info().rss / 2**20
        slowest = max(found.seconds)
        alone = alone or slowest
        lines.append(
            f"| {name} | {got['served']} ({got['refused']}) | {median(found.seconds):.2f} | {slowest:.2f} | {slowest / alone:.1f} | "
            f"{len(found.errors)} | {held:,.0f} |"
        )
    return lines


@asynccontextmanager
async def _greedy(neighbor: Neighbor, user: User) -> AsyncIterator[Counter[str]]:
    """Somebody who asks again and again; how many requests were served and refused."""
    got: Counter[str] = Counter()
    at_it = asyncio.create_task(_again_and_again(neighbor, user, got))
    await asyncio.sleep(1)  # it has begun
    yield got
    at_it.cancel()
    with suppress(asyncio.CancelledError):
        await at_it


async def _again_and_again(neighbor: Neighbor, user: User, got: Counter[str]) -> None:
    async def one(asking: Awaitable[object]) -> None:
        try:
            await asking
            got["served"] += 1
        except (httpx.HTTPError, RuntimeError):
            got["refused"] += 1

    while True:
        await asyncio.gather(*map(one, neighbor(user)))
        await asyncio.sleep(0.2)


def _no_neighbor(_: User) -> list[Awaitable[object]]:
    return []


def _set(count: int) -> Neighbor:
    """A set of texts of some 480 tokens."""
    items = "\n".join(f"{n} {LONG}" for n in range(count))
    return lambda user: [user.call("compare_set", items, MODEL)]


def _brackets(user: User) -> list[Awaitable[object]]:
    """24 MB that are slow to parse."""

    async def send() -> None:
        answer = await user.client.post(
            f"{user.site}gradio_api/call/run_text",
            content=b"[" + b"[]," * 8_000_000 + b"[]]",
            headers={**user.headers, "content-type": "application/json"},
        )
        answer.raise_for_status()

    return [send()]


def _long_runs(user: User) -> list[Awaitable[object]]:
    return [user.run(f"{random.random()} {LONG}") for _ in range(12)]


def _downloads(user: User) -> list[Awaitable[object]]:
    async def take() -> None:
        made = await user.call("run_text", LONG, "", MODEL)
        path = f"{user.site}viz/run/{made['key']}/take/safetensors?layer=0&head=0"
        (await user.client.get(path, headers=user.headers)).raise_for_status()

    return [take() for _ in range(40)]


def _half_opens(user: User) -> list[Awaitable[object]]:
    return [_half_open(user)]


async def _half_open(user: User) -> None:
    """300 requests that never end."""
    host, port = re.findall(r"//([^:]+):(\d+)", user.site)[0]
    opened = [await asyncio.open_connection(host, int(port)) for _ in range(300)]
    try:
        for _, writer in opened:
            writer.write(b"POST /viz/open/link HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        await asyncio.sleep(30)
    finally:
        for _, writer in opened:
            writer.close()


NEIGHBORS: dict[str, Neighbor] = {
    "none": _no_neighbor,
    "a set of 500 texts of 480 tokens": _set(500),
    "a set of 100 texts of 480 tokens": _set(100),
    "24 MB of `[],`": _brackets,
    "runs of 480 tokens, 12 at once": _long_runs,
    "40 downloads of a run at once": _downloads,
    "300 requests that never end": _half_opens,
}

if __name__ == "__main__":
    main()
