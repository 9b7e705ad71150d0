"""Only this server's own page, under its own name, may ask it for anything: two gates.

A page of any site can have the browser send requests here: forms, pictures, fetch without CORS.
The browser says who sent them, in headers that no page can write; other clients send none of these.
"""

import re
from reprlib import repr as shown  # cut short: it may be of any length

from starlette.types import Scope

from viz_encoder.ui.wire.clients import FORWARDED_HOST, FORWARDED_PROTO, told

HOST, ORIGIN, REFERER = b"host", b"origin", b"referer"
GRADIO_SERVER = b"x-gradio-server"
FETCH_SITE, FETCH_MODE = b"sec-fetch-site", b"sec-fetch-mode"
OWN_SITES = ("same-origin", "none")  # none: a person typed it. Another port is "same-site"
WEB = re.compile(r"(https?)://([^/?#@\s]+)((?:/[^/?#\s]+)*)(?:/.*)?")  # and the page's folder
USUAL = {"http": ":80", "https": ":443"}
REFUSED = (
    "A page of another site sent this request ({}), so it was refused. Open this server's own "
    "page and use that; behind a proxy, see docs/server.md."
)


def same_origin(scope: Scope) -> tuple[int, str] | None:
    """Refuse what a page of another site sent, but for a link that opens the page."""
    if (sender := _other_site(scope)) and not _opens_page(scope):
        return 403, REFUSED.format(sender)
    _name_ourselves(scope)
    return None


def _other_site(scope: Scope) -> str:
    """The header by which the browser says that another site sent this; "" if none does.

    Sec-Fetch-Site decides where it is told: behind a proxy, Host may be another name than the
    browser's. Old browsers leave it out, and so do all over plain HTTP to another machine.
    """
    if sites := told(scope, FETCH_SITE):
        return next((f"Sec-Fetch-Site {shown(s)}" for s in sites if s not in OWN_SITES), "")
    own = ",".join([*told(scope, HOST), *told(scope, FORWARDED_HOST)]).split(",")
    senders = ((name, said) for name in (ORIGIN, REFERER) for said in told(scope, name))
    others = (each for each in senders if not _is_one(each[1], own))
    return next((f"{name.decode().title()} {shown(said)}" for name, said in others), "")


def _is_one(origin: str, hosts: list[str]) -> bool:
    if not (found := WEB.fullmatch(origin.lower())):
        return False
    scheme, host, _ = found.groups()
    same = {name.strip().lower().removesuffix(USUAL[scheme]) for name in hosts}
    return host.removesuffix(USUAL[scheme]) in same


def _opens_page(scope: Scope) -> bool:
    """Whether a person followed a link to the page, or a frame is to show it."""
    if scope.get("method") != "GET" or scope["path"] != "/":
        return False
    if told(scope, FETCH_SITE):
        return told(scope, FETCH_MODE) == ["navigate"]
    return not told(scope, ORIGIN)  # nor do old browsers send it with a link


def _name_ourselves(scope: Scope) -> None:
    """Rewrite addresses in Gradio's responses to where the browser sees this server.

    Origin itself goes no further: Gradio would answer it with leave to read for any site.
    """
    new: list[tuple[bytes, bytes]] = []
    seen = [*told(scope, REFERER), *told(scope, ORIGIN), ""][0]
    if scope.get("method") == "POST" and (found := WEB.fullmatch(seen)):
        scheme, host, folder = found.groups()
        new = [(FORWARDED_PROTO, scheme.encode()), (FORWARDED_HOST, f"{host}{folder}".encode())]
    replaced = {ORIGIN, GRADIO_SERVER, *dict(new)}
    scope["headers"] = [each for each in scope["headers"] if each[0] not in replaced] + new


NAMES = ("127.0.0.1", "localhost")
OTHER_HOST = (
    "This server answers to 127.0.0.1 and localhost, not to {}. Behind a proxy that sends another "
    "name, start it with --public --trust-proxy; see docs/server.md."
)


def own_host(scope: Scope) -> tuple[int, str] | None:
    """A page of another site must not reach us under a name of its own (DNS rebinding)."""
    host = ", ".join(told(scope, HOST))
    if host.partition(":")[0].lower() in NAMES:
        return None
    return 400, OTHER_HOST.format(shown(host))
