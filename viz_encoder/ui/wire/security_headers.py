"""SecurityHeaders: what a browser may load, run and frame of this server, told with each answer."""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Gradio makes functions of texts (templates and `js_on_load`), and sets styles on elements, as
# Plotly does: the two "unsafe" parts. Scripts that stand in its page are named by their digests.
POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
SPACES = ("https://huggingface.co", "https://*.huggingface.co", "https://*.hf.space")
NOTEBOOKS = ("http://127.0.0.1:*", "http://localhost:*", "vscode-webview:")


class SecurityHeaders:
    """Adds them to every answer; `framed_by` are the pages that may show this one in a frame."""

    def __init__(self, app: ASGIApp, framed_by: Sequence[str] = ()) -> None:
        """No other page may frame this one unless it is named."""
        self._app = app
        self._parts = {**POLICY, "frame-ancestors": " ".join(framed_by) or "'none'"}
        self._told = {
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
            **({} if framed_by else {"x-frame-options": "DENY"}),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, with these headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = self._policy(scope.get(INLINE, ()))
                headers.update(self._told)
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)

    def _policy(self, inline: Iterable[str]) -> str:
        scripts = " ".join((self._parts["script-src"], *inline))
        parts = {**self._parts, "script-src": scripts}
        return "; ".join(" ".join(part) for part in parts.items())


def inline_scripts(page: bytes) -> list[str]:
    """Digests of the scripts in a page that holds no word of a client, for a scope's INLINE."""
    return [_digest(script) for script in SCRIPT.findall(page)]


def _digest(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


INLINE = "viz_encoder.inline_scripts"  # in the scope of a request
SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
