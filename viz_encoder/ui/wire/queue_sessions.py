"""Sessions: Gradio's queue goes on for all others when one that it would tell something is gone."""

from typing import Any

import gradio as gr

from viz_encoder.ui.wire.refusals import tell

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
