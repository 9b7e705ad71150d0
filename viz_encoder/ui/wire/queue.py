"""Queue: in Gradio's queues clients take turns, so many wait, and lost sessions end nothing."""

from typing import Any

import gradio as gr

from viz_encoder.ui.state.expiring_store import CLIENT
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.wire.clients import client_of
from viz_encoder.ui.wire.concurrency import fair_turn
from viz_encoder.ui.wire.errors import tell

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
    if most is not None and clients.count(client) >= most:
        return YOURS.format(clients.count(client))
    return FULL.format(len(clients)) if len(clients) >= limits.queue_places else ""


def _most(page: gr.Blocks, body: Any, limits: Limits) -> int | None:
    return limits.client_runs if _queue_name(page, body) == RUNS else limits.client_long


def _line(page: gr.Blocks, body: Any) -> list[Any]:
    found = page._queue.event_queue_per_concurrency_id.get(_queue_name(page, body))
    return [] if found is None else found.queue


def _queue_name(page: gr.Blocks, body: Any) -> str:
    function = page.fns.get(body.fn_index)
    return "" if function is None else function.concurrency_id


LONGEST = 100  # characters of a session's name, which Gradio keeps for long; its own have 11 or 36
UNNAMED = f"A session_hash must have 1 to {LONGEST} ASCII characters; with /call, leave it out."


def outlive_sessions(page: gr.Blocks) -> None:
    """Patch Gradio's queue; call after all other changes to it.

    Gradio keeps the messages of so many sessions, drops the oldest, and raises where it would tell
    one that is gone. Within the loop of the queue, that would end it, and no call would be taken.
    """
    queue = page._queue
    push, send = queue.push, queue.send_message
    sessions = queue.pending_messages_per_session

    async def push_or_leave(body: Any, request: Any, username: Any) -> Any:
        name = body.session_hash
        if name is not None and not (0 < len(name) <= LONGEST and name.isascii()):
            tell(request.scope, 422, UNNAMED)
            return False, UNNAMED, "validator_error"
        for event in queue.event_ids_to_events.values():  # dropped last: somebody waits
            if event.session_hash in sessions:
                sessions.move_to_end(event.session_hash)
        body.event_id = None  # whatever a client wrote there is not its event
        try:
            return await push(body, request, username)
        except Exception:
            if body.event_id is not None:
                await queue.remove_from_queue(body.event_id)
            raise

    def send_if_there(event: Any, message: Any) -> None:
        if event.session_hash in sessions:
            return send(event, message)
        event.alive = False  # no client is left to receive its result

    queue.push = push_or_leave  # type: ignore[method-assign]
    queue.send_message = send_if_there  # type: ignore[method-assign, assignment]
