"""Modules joined into one script: what it does, and the forms that it refuses."""

import pytest

from viz_encoder.export.modules import join_modules


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
