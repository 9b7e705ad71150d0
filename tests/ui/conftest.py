"""One server and one Chromium for all tests of the page."""

import base64
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from gradio_client import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

import viz_encoder as vz
from tests.ui.bare_page import bare_page
from tests.ui.shared_page import KeptPages, SharedPages
from tests.ui.shared_tab import SharedTab
from tests.ui.texts import PICTURES, SENTENCES
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.trace import Trace
from viz_encoder.ui.serve import Server, ServerSettings, listen, make_app
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.wire.static import address, joined

UPLOAD_WARNING = "Method not implemented."  # what Gradio's own upload says
DRIVER = "GL Driver Message (OpenGL, Performance"  # of a browser that draws WebGL without a GPU
ABORTED = "net::ERR_ABORTED"  # what a page asked for when it was closed or reloaded
# What Gradio's client says of its own streams when the page they belong to is closed or reloaded.
STREAM_CLOSED = re.compile(
    r"signal is aborted without reason\n +at \S+ \(http://[^/]+/assets/index-"
)
PAINTED = ".viz-atlas[data-painted]"
# What the page folds away is open in tests from the start, as a person would open it.
UNFOLD = """addEventListener("DOMContentLoaded", () => document.head.append(Object.assign(
  document.createElement("style"),
  { textContent: "#viz-inputs #viz-tries { visibility: visible; position: static; }" }
)));
new MutationObserver(() => {
  for (const each of document.querySelectorAll("details.viz-folded:not([open])")) each.open = true;
  const all = { vectors: "one two padding set", masks: "check paint" };
  for (const [tab, parts] of Object.entries(all)) {
    const panel = document.getElementById(`viz-tab-${tab}`);
    const part = panel?.dataset.part;
    if (part && part !== parts && parts.split(" ").includes(part)) panel.dataset.part = parts;
  }
}).observe(document, { childList: true, subtree: true, attributeFilter: ["open", "data-part"] });"""


@contextmanager
def serving(app: object, port: int = 0) -> Iterator[str]:
    """Serve an ASGI app on that port, or any free one, for the length of a with block."""
    listener = listen("127.0.0.1", port)
    server = Server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(timeout=20)


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of a running server with the built-in models."""
    with serving(make_app(ServerSettings())) as address:
        yield address


@pytest.fixture(scope="session")
def client(site: str) -> Client:
    """A client of the named endpoints."""
    return Client(site, verbose=False)


@pytest.fixture(scope="module")
def key(client: Client) -> str:
    """A run of the first example's sentence on the server."""
    return client.predict(SENTENCES[0], api_name="/run_text")["key"]


@pytest.fixture(scope="module")
def digit(client: Client) -> str:
    """A run of a picture on the server."""
    picture = in_base64(asset(PICTURES["a digit"]))
    return client.predict(picture, api_name="/run_picture")["key"]


@pytest.fixture(scope="module")
def of_file(client: Client, plain: Trace, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A saved run of that sentence, of a model that is not on the server."""
    of_another_model(plain).save(path := tmp_path_factory.mktemp("runs") / "run.safetensors")
    return client.predict(in_base64(path), api_name="/open_saved")["key"]


@pytest.fixture(scope="session")
def models() -> Models:
    """The built-in models, each loaded once."""
    return Models("cpu")


@pytest.fixture
def runner(models: Models) -> Runner:
    """What runs models for the page, without any run so far."""
    return Runner(models, TraceStore())


@pytest.fixture(scope="session")
def plain(minilm: LoadedEncoder) -> Trace:
    """The same run in Python."""
    return vz.capture(minilm, SENTENCES[0])


@pytest.fixture(scope="session")
def trace(plain: Trace) -> Trace:
    """What most tests hold the page against; some have another."""
    return plain


@dataclass
class Opened:
    """A page, and every fault it or the network reported."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)

    def painted(self) -> Page:
        """The page, once its atlas is complete."""
        self.page.wait_for_selector(PAINTED, timeout=60_000)
        return self.page

    def map_painted(self, name: str) -> None:
        """Wait until the big map shows the head of that name, such as 3.5."""
        self.page.wait_for_selector(f".viz-map[data-painted*=':{name}:']", timeout=30_000)

    def open_saved(self, path: object) -> None:
        """Upload a saved run; what it shows is to be waited for."""
        self.page.get_by_text("Open a saved run").click()
        self.page.set_input_files("#viz-saved input[type=file]", str(path))

    def imported(self, module: str, expression: str, given: object = None) -> object:
        """What an expression gives, with the exports of a script of assets/web as `m`."""
        return self.page.evaluate(
            "async ([folder, module, given]) => { const { MODULES } = await import("
            "new URL(folder, document.baseURI).href); const m = MODULES[module]; "
            f"return {expression}; }}",
            [address(joined(module.partition("/")[0])), module, given],
        )

    def hover(self, row: int, column: int) -> str:
        """Point at a cell of the big map; returns what the page says of it."""
        box = self.page.evaluate(
            """([row, column]) => {
              const { map } = window.vizTab;
              const [, y] = map.box(row, column);
              if (y < 0 || y > innerHeight - 4) map.canvas.scrollIntoView({ block: "center" });
              return map.box(row, column);
            }""",
            [row, column],
        )
        self.page.mouse.move(*box)
        return self.page.inner_text(".viz-readout")


def saved(page, part, kind):
    """What a press in the menu ⤓ of a part of the page saves: its name and its content."""
    opener = page.locator(f"{part} .viz-take-open")
    if opener.count() and not page.is_visible(f"{part} .viz-popover"):
        opener.click()
    with page.expect_download(timeout=60_000) as started:
        page.locator(f"{part} .viz-saves").get_by_role("button", name=kind, exact=True).click()
    return started.value.suggested_filename, started.value.path().read_bytes()


def until_said(page: Page, where: str, words: str) -> None:
    """Wait until an element says these words."""
    page.wait_for_function(
        "([where, words]) => document.querySelector(where)?.textContent.includes(words)",
        arg=[where, words],
        timeout=60_000,
    )


def open_tab(page: Page, title: str, part: str = "") -> None:
    """Open a tab by its title, and one of its parts."""
    page.get_by_role("tab", name=title, exact=True).click()
    if part:
        page.click(f"#viz-tab-{title.lower()} button[data-part={part}]")


def compare_with(page: Page, key: str) -> None:
    """Ask against a run of this page, and compare the maps with it."""
    page.select_option("#viz-explain-against", f"run:{key}")
    said = "!document.querySelector('.viz-reference-said').textContent.startsWith('Opening')"
    page.wait_for_function(
        f"key => vizTab.reference.other?.key === key && {said}", arg=key, timeout=30_000
    )


def described(page: Page) -> None:
    """Wait until the page is idle: what came was read, and chips say their numbers to readers."""
    page.evaluate("new Promise((done) => requestIdleCallback(() => requestIdleCallback(done)))")


def of_another_model(trace: Trace) -> Trace:
    """The same run under the name of a model that no server offers."""
    return replace(trace, origin=replace(trace.origin, model="elsewhere"))


def in_base64(path: Path) -> str:
    """A file as the endpoints take it."""
    return base64.b64encode(path.read_bytes()).decode()


def begun(site: str, name: str, *given: object) -> str:
    """Call an endpoint; returns the address at which it answers."""
    call = f"{site}gradio_api/call/{name}"
    answer = httpx.post(call, json={"data": given}, timeout=60).raise_for_status()
    return f"{call}/{answer.json()['event_id']}"


@contextmanager
def lasting(chromium: Browser, site: str) -> Iterator[BrowserContext]:
    """A profile in which the page's scripts are fetched and compiled once."""
    with chromium.new_context() as context:
        # While one is open, all pages of the site come in its process: a seventh less to compute.
        context.new_page().goto(f"{site}favicon.ico")
        yield context


@pytest.fixture(scope="session")
def profile(chromium: Browser, site: str) -> Iterator[BrowserContext]:
    """One profile for all visits."""
    with lasting(chromium, site) as context:
        yield context


@pytest.fixture(scope="module")
def bare(chromium: Browser) -> Iterator[Page]:
    """A page without a server, to draw with single modules."""
    with bare_page(chromium) as page:
        yield page


@pytest.fixture
def visit(profile: BrowserContext, site: str) -> Iterator[Callable[..., Opened]]:
    """Open the page with a query; every fault in its console fails the test."""
    with _visits(profile, site) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def visit_once(profile: BrowserContext, site: str) -> Iterator[Callable[..., Opened]]:
    """The same for a page that tests of a file share."""
    with _visits(profile, site) as open_page:
        yield open_page


@pytest.fixture(scope="session")
def kept_pages(profile: BrowserContext, site: str) -> Iterator[KeptPages]:
    """The pages that tests of all files share by `shared` and `tab_anew`."""
    with _visits(profile, site) as open_page:
        yield KeptPages(open_page)


@pytest.fixture
def shared(kept_pages: KeptPages) -> Iterator[Callable[..., Opened]]:
    """Like `visit`, but the page may have been that of another test, at another place, before."""
    used: list[Opened] = []

    def at(prepare: Callable[[Opened], object] | None = None, **query: object) -> Opened:
        opened = SharedPages(kept_pages).at(prepare, **query)
        used.append(opened)
        return opened

    yield at
    assert [opened.faults for opened in used if opened.faults] == []


@pytest.fixture
def tab_anew(kept_pages: KeptPages) -> Iterator[Callable[..., Opened]]:
    """A page on a tab that is made anew, though the page may have been that of another test."""
    used: list[Opened] = []

    def at(tab: str, **query: object) -> Opened:
        used.append(SharedTab(kept_pages).at(tab, **query))
        return used[-1]

    yield at
    assert [opened.faults for opened in used if opened.faults] == []


@pytest.fixture
def masks(tab_anew: Callable[..., Opened]) -> Callable[..., Page]:
    """The page on its Masks tab, by what is in its link: usually no mask."""
    return lambda **query: tab_anew("masks", **{"masks.mask": "none", **query}).page


@contextmanager
def _visits(profile: BrowserContext, site: str) -> Iterator[Callable[..., Opened]]:
    visits: list[Opened] = []

    def open_page(
        width: int = 1440, height: int = 1000, folded: bool = False, **query: object
    ) -> Opened:
        page = profile.new_page()
        if not folded:
            page.add_init_script(UNFOLD)
        if query.pop("opening", None) is None:  # else the page opens on what stands out
            query = {"layer": 0, "head": 0, "query": 0, "key": 0, **query}
        page.set_viewport_size({"width": width, "height": height})
        opened = Opened(page, site)
        _listen_for_faults(opened)
        page.goto(f"{site}?{urlencode(query)}")
        visits.append(opened)
        return opened

    yield open_page
    for opened in visits:
        opened.page.close()
    assert [opened.faults for opened in visits if opened.faults] == []


def _listen_for_faults(opened: Opened) -> None:
    page, report = opened.page, opened.faults.append
    page.on("console", lambda m: report(f"{m.text} ({m.location['url']})") if matters(m) else None)
    listen_for_errors(page, report)
    page.on("dialog", lambda dialog: report(f"dialog: {dialog.message}"))
    # A request that leaves this machine fails, too: the browser finds no other host.
    page.on("requestfailed", lambda r: None if r.failure == ABORTED else report(f"failed: {r.url}"))


def listen_for_errors(page: Page, report: Callable[[str], None]) -> None:
    """Report every error that a script of the page didn't catch, but of a stream that it closed."""
    page.on("pageerror", lambda error: STREAM_CLOSED.search(str(error)) or report(str(error)))


def matters(message: ConsoleMessage) -> bool:
    expected = message.text == UPLOAD_WARNING or STREAM_CLOSED.search(message.text)
    expected = expected or DRIVER in message.text
    return message.type in ("error", "warning") and not expected
