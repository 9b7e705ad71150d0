"""Behind a notebook's proxy: a path before ours, a Host of its own, and no word of either."""

import httpx
import pytest
from playwright.sync_api import Browser
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.slow import slow
from tests.ui.conftest import listen_for_errors, serving

CONNECTION = (b"host", b"connection", b"transfer-encoding", b"content-length")


def proxy(target: str, prefix: str) -> ASGIApp:
    """What stands at the prefix is the target; it is asked by its own name."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{prefix}/"):
            return await answer(send, 404, [], b"no such page")
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        path = f"{target}{scope['raw_path'].decode()[len(prefix) + 1 :]}"
        query = scope["query_string"].decode()
        async with httpx.AsyncClient(timeout=60) as client:
            asked = client.stream(
                scope["method"],
                f"{path}?{query}" if query else path,
                headers=passed(scope["headers"]),
                content=body,
            )
            async with asked as found:
                start = {"status": found.status_code, "headers": passed(found.headers.raw)}
                await send({"type": "http.response.start", **start})
                async for part in found.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body"})

    return app


async def answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def passed(headers):
    """All that is not of one connection."""
    return [(n.lower(), v) for n, v in headers if n.lower() not in CONNECTION]


@pytest.mark.parametrize("prefix", [slow(""), "/user/a/proxy/7860"])
def test_the_page_runs_a_text_and_shows_a_picture(chromium: Browser, site, prefix):
    faults: list[str] = []
    with serving(proxy(site, prefix)) as front, chromium.new_context() as context:
        page = context.new_page()
        listen_for_errors(page, faults.append)
        page.goto(f"{front[:-1]}{prefix}/?layer=0&head=0&query=0&key=0")
        page.wait_for_selector(".viz-map[data-painted]", timeout=60_000)
        page.fill("#viz-text-a textarea", "A proxied sentence")
        page.click("#viz-run")
        page.wait_for_function("decodeURI(location.search).includes('proxied')")
        page.click("#viz-text-a textarea")
        page.get_by_role("button", name="A wide scene").click()
        page.wait_for_function("document.querySelector('#viz-picture img')?.naturalWidth > 0")
    assert faults == []
