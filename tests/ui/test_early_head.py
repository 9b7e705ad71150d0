"""The page's head and its files, and how they travel: kept by name and address, and packed."""

from pathlib import Path

import gradio as gr
import httpx
import pytest
from fastapi import FastAPI, Response
from starlette.testclient import TestClient

from viz_encoder.bundled import asset
from viz_encoder.ui.wire import static
from viz_encoder.ui.wire.static import NAMES_KEPT, EarlyHead, address, joined

PAGE = "<html><head><script>named()</script></head>\n<p>of {host}</p></html>" + 500 * "."


@pytest.fixture
def asked():
    """What pages were made for."""
    return []


@pytest.fixture
def client(asked):
    """A page by a framework that takes its time, behind our part of the head."""
    app = FastAPI()

    @app.get("/")
    def page(deep_link: str = "", status: int = 200) -> Response:
        asked.append(deep_link)
        return Response(PAGE.format(host=deep_link), status, media_type="text/html")

    app.add_middleware(EarlyHead, ("core", "views"), ("core/core.css",))
    return TestClient(app, base_url="http://here.test")


def test_the_page_is_made_once_for_each_name_and_says_the_same(client, asked):
    first, again = client.get("/"), client.get("/?a=text&view=2")
    assert len(asked) == 2  # a link has another head
    assert client.get("/").content == first.content and client.get("/?b=x").content == again.content
    assert len(asked) == 2
    client.get("/", headers={"host": "there.test"})
    client.get("/", headers={"x-forwarded-proto": "https"})
    assert len(asked) == 4
    assert "viz/first" in first.text and "viz/first" not in again.text


def test_a_page_that_is_another_is_never_kept(client, asked):
    for link in ("one", "two", "one"):
        assert f"of {link}" in client.get(f"/?deep_link={link}").text
    assert "of one" not in client.get("/").text
    assert client.get("/?status=503&a=").status_code == 503
    assert client.get("/?a=").status_code == 200


def test_names_that_are_made_up_take_no_more_room(client, asked):
    for number in range(NAMES_KEPT + 3):
        client.get("/", headers={"host": f"{number}.test"})
    made = len(asked)
    client.get("/", headers={"host": f"{NAMES_KEPT + 2}.test"})
    assert len(asked) == made
    client.get("/", headers={"host": "0.test"})
    assert len(asked) == made + 1


def test_it_is_packed_for_those_who_can_unpack_it(client):
    plain = client.get("/", headers={"accept-encoding": "identity"})
    packed = client.get("/", headers={"accept-encoding": "gzip, br"})
    assert "content-encoding" not in plain.headers and packed.content == plain.content
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == packed.num_bytes_downloaded < len(plain.content)
    assert {each.headers["vary"] for each in (plain, packed)} == {"accept-encoding"}


def test_the_page_asks_for_its_scripts_before_it_is_built(site):
    page = httpx.get(site).text
    head = page[: page.index("</head>")]
    for folder in ("core", "views", "explore"):
        assert f'<script type="module" src="{address(joined(folder))}"></script>' in head


@pytest.mark.parametrize("folder", ["core", "views", "learn"])
def test_a_folder_of_scripts_comes_as_one_file_that_is_kept(site, folder):
    path = f"{site}{address(joined(folder))}"
    plain = httpx.get(path, headers={"accept-encoding": "identity"})
    packed = httpx.get(path, headers={"accept-encoding": "gzip"})
    assert plain.text == packed.text and packed.num_bytes_downloaded * 2 < len(plain.content)
    assert "immutable" in plain.headers["cache-control"]
    assert plain.headers["content-type"].startswith("text/javascript")
    for module in Path(asset("web"), folder).glob("*.js"):
        assert plain.text.count(f'MODULES["{folder}/{module.name}"] = ') == 1
    wrong = httpx.get(f"{site}{address('offline.js')}")
    assert wrong.status_code == 404


def test_no_script_of_gradios_page_is_asked_for_at_the_root_of_the_site():
    page = Path(gr.__file__).with_name("templates") / "frontend" / "index.html"
    assert b"${rootPath}/static" in page.read_bytes()
    sent = EarlyHead(FastAPI(), (), ())._with_tags(page.read_bytes(), "")
    assert b"${rootPath}/static" not in sent
    assert b"new URL(\n\t\t\t\t\t'./static/js/iframeResizer" in sent


def test_the_address_changes_with_a_files_content_its_name_and_its_folder(tmp_path, monkeypatch):
    found = []
    for files in (
        {"core/a.js": "1", "core/b.js": "2"},
        {"core/a.js": "1", "core/b.js": "3"},
        {"core/a.js": "2", "core/b.js": "1"},
        {"core/a.js": "1", "core/c.js": "2"},
        {"core/a.js": "1", "views/b.js": "2"},
        {"core/a.js": "1"},
    ):
        folder = tmp_path / str(len(found)) / "web"
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        monkeypatch.setattr(static, "WEB", folder)
        monkeypatch.setattr(static, "asset", folder.with_name)
        found.append(static.version.__wrapped__())
        assert static.version.__wrapped__() == found[-1]
    assert len(set(found)) == len(found)
