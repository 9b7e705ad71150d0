"""Turns: who waits in Gradio's queues, so many in all and of each client, the clients in turn."""

from typing import Any

import gradio as gr

from viz_encoder.ui.state.client import CLIENT
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.wire.clients import client_of
from viz_encoder.ui.wire.concurrency import fair_turn
from viz_encoder.ui.wire.refusals import tell

RUNS = "model"  # the queue of runs, which take a moment; all others are of long work
FULL = "The server is busy: {} requests are already waiting. Try again in a moment."
YOURS = "You already have {} requests waiting; wait until one of them has finished."


def take_turns(page: gr.Blocks, limits: Limits) -> None:
    """Patch Gradio's queues; call once the page has its queue.

    Gradio itself has one limit for all of its queues, and takes who comes first.
    """
    queue = page._queue
    push, process = queue.push, queue.process_events

    async def push_in_turn(body: Any, request: Any, username: Any) -> Any:
        line = _line(page, body)
        client, clients = client_of(request), [client_of(event.request) for event in line]
        if sentence := _refusal(clients, client, _most(page, body, limits), limits):
            tell(request.scope, 503, sentence)
            return False, sentence, "queue_full"
        answer = await push(body, request, username)
        line = _line(page, body)
        if answer[0] and line and line[-1]._id == answer[1]:
            event = line.pop()
            place = fair_turn([client_of(each.request) for each in line], client)
            line.insert(place, event)
            if place < len(line) - 1:  # those whom it is before were told another place
                queue.broadcast_estimations(_queue_name(page, body), place)
        return answer

    async def process_events(events: list[Any], *rest: Any) -> None:
        CLIENT.set(client_of(events[0].request))  # this task is no child of the request's
        await process(events, *rest)

    queue.push = push_in_turn  # type: ignore[method-assign]
    queue.process_events = process_events  # type: ignore[method-assign, assignment]


def _refusal(clients: list[str], client: str, most: int | None, limits: Limits) -> str:
    """Why this client cannot wait here; "" if it can."""
    if most is not None and clients.count(client) >= most:
        return YOURS.format(clients.count(client))
    return FULL.format(len(clients)) if len(clients) >= limits.queue_places else ""


def _most(page: gr.Blocks, body: Any, limits: Limits) -> int | None:
    """How many of a client's events may wait in this event's queue."""
    return limits.client_runs if _queue_name(page, body) == RUNS else limits.client_long


def _line(page: gr.Blocks, body: Any) -> list[Any]:
    """The events that wait in the queue of this one."""
    found = page._queue.event_queue_per_concurrency_id.get(_queue_name(page, body))
    return [] if found is None else found.queue


def _queue_name(page: gr.Blocks, body: Any) -> str:
    function = page.fns.get(body.fn_index)
    return "" if function is None else function.concurrency_id
