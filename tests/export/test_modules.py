"""Modules joined into one script: what it does, and the forms that it refuses."""

import pytest

from viz_encoder.bundled import asset
from viz_encoder.export.modules import join_folder, join_modules


@pytest.fixture
def join(tmp_path):
    def joined(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.js").write_text(source)
        return join_modules(tmp_path / "page.js", tmp_path)

    return joined


def test_each_module_runs_once_in_its_own_scope_before_who_needs_it(join, browser):
    script = join(
        page='import {\n  first as one,\n  Thing,\n} from "./a.js";\n'
        'import { second } from "./b.js";\nconst secret = "page";\n'
        "document.title = [one(), second, new Thing().name, secret].join();\n",
        a='import { second } from "./b.js";\nconst secret = "a";\n'
        "export async function later() {}\n"
        "export function first() {\n  return secret + second;\n}\n"
        'export class Thing {\n  name = "thing";\n}\n',
        b="let times = 0;\nexport const second = ++times;\n",
    )
    page = browser.new_page()
    page.set_content(f"<script>{script}</script>")
    assert page.title() == "a1,1,thing,page"
    page.close()


def test_another_module_stands_in_for_one_and_may_need_it(tmp_path, browser):
    sources = {
        "page": 'import { said } from "./a.js";\ndocument.title = said;\n',
        "a": 'export const said = "a";\n',
        "b": 'import { said as before } from "./a.js";\nexport const said = `${before} and b`;\n',
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.js").write_text(source)
    instead = {tmp_path / "a.js": tmp_path / "b.js"}
    page = browser.new_page()
    page.set_content(f"<script>{join_modules(tmp_path / 'page.js', tmp_path, instead)}</script>")
    assert page.title() == "a and b"
    page.close()


def test_folders_that_need_each_other_share_each_module(tmp_path, browser):
    sources = {
        "core/state": "let times = 0;\nexport function next() {\n  return ++times;\n}\n",
        "views/lines": 'import { next } from "../core/state.js";\nexport const seen = next();\n',
        "tab/tab": 'import { next } from "../core/state.js";\n'
        'import { seen } from "../views/lines.js";\nexport const said = `${seen}, ${next()}`;\n',
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.js").write_text(source)
    page = browser.new_page()

    def answer(route):
        folder = tmp_path / route.request.url.rsplit("/", 1)[1].removesuffix(".js")
        known = folder.is_dir()
        body = join_folder(folder, tmp_path) if known else "<p></p>"
        route.fulfill(body=body, content_type="text/javascript" if known else "text/html")

    page.route("http://127.0.0.1/**", answer)
    page.goto("http://127.0.0.1/page")
    said = """import("./tab.js").then(({ MODULES }) => MODULES["tab/tab.js"].said)"""
    assert page.evaluate(said) == "1, 2"
    assert (
        page.evaluate(
            f'{said}.then(() => import("./core.js"))'
            '.then(({ MODULES }) => MODULES["core/state.js"].next())'
        )
        == 3
    )
    page.close()


@pytest.mark.parametrize(
    "folder", sorted(each.name for each in asset("web").iterdir() if each.name != "offline")
)
def test_every_folder_of_the_page_can_be_joined(folder):
    web = asset("web")
    script = join_folder(web / folder, web)
    assert script.endswith("export { MODULES };\n")
    assert ('from "./core.js"' in script) == (folder != "core")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('import all from "./a.js";\n', "import all"),
        ('import * as all from "./a.js";\n', "import \\*"),
        ('import "./a.js";\n', "import"),
        ('import { a } from "somewhere";\n', "somewhere"),
        ('const a = await import("./a.js");\n', "import\\("),
        ("const here = import.meta.url;\n", "import.meta"),
        ("export default 3;\n", "export default"),
        ("export let count = 3;\n", "export let"),
        ("export { a };\n", "export {"),
        ("export const { a, b } = it;\n", "export const {"),
        ('export * from "./a.js";\n', "export \\*"),
        ('const tag = "</script>";\n', "</script"),
        ('import { b } from "./a.js";\n', "'b', which is not exported"),
        ('import { page } from "./page.js";\n', "imports itself"),
    ],
)
def test_what_it_does_not_know_is_refused(join, source, said):
    with pytest.raises(ValueError, match=said):
        join(page=source, a="export const a = 1;\n")
