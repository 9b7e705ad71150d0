"""The page: the form on top, the tabs below it, and what each event does."""

import itertools
from collections.abc import Callable
from typing import Any

import gradio as gr
from PIL import Image

from viz_encoder.bundled import asset
from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.form import endpoints as form_endpoints
from viz_encoder.ui.form.form import Form, make_form, reveal
from viz_encoder.ui.form.model_opening import Opening
from viz_encoder.ui.form.model_panel import model_panel
from viz_encoder.ui.state.built import Built
from viz_encoder.ui.state.examples import (
    EXAMPLES,
    FIRST_PICTURE,
    PICTURES,
    FormExample,
    as_linked,
    opening_of,
)
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.restoring import NOT_AS_LINKED, restore
from viz_encoder.ui.state.run_description import RunDescription, for_component
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tab import TabContext, script_view
from viz_encoder.ui.tabs import TABS
from viz_encoder.ui.wire import figures, run_facts
from viz_encoder.ui.wire.endpoints import add_endpoints, check_arguments
from viz_encoder.ui.wire.errors import NO_MEMORY, alert

RUN_HOST = "core/run_host.js"
HEADING = """
<a class="viz-skip" href="#viz-main">Skip to the result</a>
<header class="viz-heading"><h1>viz_encoder</h1>
<button type="button" class="viz-to-form">Change the input</button></header>
"""
MODEL_QUEUE: dict[str, Any] = {"concurrency_limit": 1, "concurrency_id": "model"}
# Gradio keeps what each of its latest sessions sent, files in base64 too; nothing here needs that.
SESSIONS_KEPT = 8
ASKED = itertools.count()  # how often a run was asked for
PRIVATE: dict[str, Any] = {"api_visibility": "private"}
# Who chooses Picture sees one at once: that of the box, or the first example.
RUN_PICTURE = f"""(kind, picture) => {{
  if (kind !== "image") return;
  const examples = document.querySelectorAll(".viz-example");
  (picture ? document.getElementById("viz-run") : examples[{FIRST_PICTURE}]).click();
}}"""
SHARED_ENDPOINTS = (
    *form_endpoints.ENDPOINTS,
    *run_facts.ENDPOINTS,
    *figures.ENDPOINTS,
)


def make_theme() -> gr.themes.Base:
    """The stock theme with the system's own fonts: no web font is ever fetched."""
    return gr.themes.Default(
        primary_hue="indigo",
        neutral_hue="slate",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    ).set(
        body_text_color_subdued="*neutral_500",
        body_text_color_subdued_dark="*neutral_400",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
    )


def make_page(runner: Runner) -> gr.Blocks:
    """The whole page over one runner."""
    with gr.Blocks(
        title="viz_encoder", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)
    ) as page:
        gr.HTML(HEADING, elem_id="viz-top", apply_default_css=False)
        with gr.Column(elem_id="viz-page"):
            with gr.Column(elem_id="viz-inputs"):
                form = make_form(runner.models)
            with gr.Column(elem_id="viz-main"):
                shown = script_view(RUN_HOST, elem_id="viz-run-host")
                views = _make_tabs(TabContext(runner, form, shown))
        _Events(runner, form, shown, views).connect(page)
        add_endpoints(runner, SHARED_ENDPOINTS)
        add_endpoints(runner, form_endpoints.HUB_ENDPOINTS, queue="hub", at_once=4)
        for tab in TABS:
            add_endpoints(runner, tab.endpoints)
    check_arguments(page)
    page.state_session_capacity = SESSIONS_KEPT
    return page


def _make_tabs(place: TabContext) -> list[gr.HTML]:
    """Every tab, in its order; returns the parts over which a run's progress is shown."""
    views: list[gr.HTML] = []
    with gr.Tabs(elem_id="viz-tabs"):
        for tab in TABS:
            with gr.Tab(tab.title, id=tab.name, elem_id=f"viz-tab-{tab.name}"):
                views.append(tab.build(place))
    return views


class _Events:
    """Event handlers; each leaves the page unchanged on an error."""

    def __init__(self, runner: Runner, form: Form, shown: gr.HTML, views: list[gr.HTML]) -> None:
        self.runner, self.form, self.shown = runner, form, shown
        self.result = [shown, form.notice, form.saved]
        self.offered = {kind: runner.models.names(kind) for kind in ("text", "image")}
        # A click while a run is in progress waits for it, and then runs what the form holds.
        latest = {"trigger_mode": "always_last"}
        self.running: dict[str, Any] = {
            **{"show_progress_on": views, **latest},
            **MODEL_QUEUE,
            **PRIVATE,
        }
        self.opening = Opening(runner.models, runner.limits)

    def connect(self, page: gr.Blocks) -> None:
        form = self.form
        other = [form.opening.run.click] if form.opening is not None else []
        for asked in (form.run.click, form.text_a.submit, form.text_b.submit, *other):
            asked(self.run, form.inputs, self.result, **self.running)
        form.saved.upload(self.show_saved, form.saved, self.result, **self.running)
        quick: dict[str, Any] = {"queue": False, "show_progress": "hidden", **PRIVATE}
        form.kind.change(reveal, form.kind, form.shown, **quick)
        form.kind.change(_first_picture, [form.kind, form.picture], form.picture, **quick)
        form.kind.input(None, [form.kind, form.picture], None, js=RUN_PICTURE, **quick)
        for button, example in zip(form.examples, EXAMPLES, strict=True):
            filled = button.click(_filler(example), None, form.filled, **quick)
            self._connect_run(filled, example)
        models = [form.text_model, form.picture_model]
        page.load(self.lists, None, models, **quick)
        # A link that asks for a run fills the form and waits its turn; the first example does not.
        filled = self.shown.submit(self.fill, None, form.filled, **quick)
        filled.then(self.restore, None, self.result, **self.running)
        changes = form.kind.change, *(each.change for each in models)
        for changed in (form.about_box.expand, *changes):
            changed(self.about, [form.kind, *models], form.about, **quick)
        if form.opening is not None:
            loaded = [form.kind, *models, form.about]
            self.opening.connect(form.opening, loaded, MODEL_QUEUE)

    def run(
        self,
        kind: str,
        text_a: str,
        text_b: str,
        text_model: str,
        picture: str | None,
        picture_model: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008  (Gradio finds it in the signature)
    ) -> tuple[Any, Any, Any]:
        """Run what the form holds."""
        owner, tell = request.session_hash, _teller(progress)
        if kind == "image":
            return _told(lambda: self.runner.picture(picture_model, picture, "", owner, tell))
        if kind == "pair" and isinstance(text_b, str) and not text_b.strip():
            empty = "Text B is empty; type a second text, or choose Text above."
            return gr.skip(), alert(empty), gr.skip()
        second = text_b if kind == "pair" else ""
        return _told(lambda: self.runner.text(text_model, text_a, second, owner, tell))

    def lists(self) -> tuple[Any, Any]:
        """The models that can be chosen by now; nothing where they are still those of the start."""
        return self._choices("text"), self._choices("image")

    def fill(self, request: gr.Request) -> tuple[Any, ...]:
        """The form as the link has it."""
        query = as_linked(dict(request.query_params))
        kind = query.get("kind", "text")
        kind = kind if kind in ("text", "pair", "image") else "text"
        first, *_ = self.runner.models.names("text")
        texts = query.get("a", opening_of(first).text), query.get("b", "")
        picture, model = _example(query.get("example", "")), _model(query)
        if isinstance(model, Built) and "example" not in query:
            picture = gr.skip()  # it ran on what is there
        lists = (self._choices(each, model) for each in ("text", "image"))
        return kind, *texts, picture, *reveal(kind), *lists

    def restore(
        self,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008
    ) -> tuple[Any, Any, Any]:
        """The run that the link asks for."""
        query = as_linked(dict(request.query_params))
        owner, tell = request.session_hash, _teller(progress)
        lost: list[str] = []

        def work() -> RunDescription:
            made = restore(self.runner, query, owner, tell)
            lost.extend(note for note in made["notes"] if note.endswith(NOT_AS_LINKED))
            return made

        made, notice, box = _told(work)
        return made, notice or "".join(map(alert, lost)), box

    def about(self, kind: str, text_model: str, picture_model: str) -> str:
        """Panel about the chosen model and its parts."""
        name = picture_model if kind == "image" else text_model
        try:
            return model_panel(self.runner.models, name)
        except VizEncoderError as fault:
            return alert(str(fault))

    def show_saved(self, path: str | None, request: gr.Request) -> tuple[Any, Any, Any]:
        """Show an uploaded trace; after a refusal the box is empty for another one."""
        view, notice, _ = _told(lambda: self.runner.saved(path, request.session_hash))
        return view, notice, None if notice else gr.skip()

    def _choices(self, kind: str, model: str | Built = "") -> Any:
        names = self.runner.models.names(kind)
        if isinstance(model, Built):
            if model.reads == kind:
                return gr.update(choices=[*names, (model.name, model.listed)], value=model.listed)
            model = ""
        if not model and names == self.offered[kind]:
            return gr.skip()
        chosen = model if model in names else names[0] if names else None
        return gr.update(choices=names, value=chosen)

    def _connect_run(self, filled: Any, example: FormExample) -> None:

        def show(model: str, request: gr.Request) -> tuple[Any, Any, Any]:
            owner = request.session_hash
            return _told(lambda: self.runner.picture(model, None, example.picture, owner))

        if example.kind == "image":
            filled.then(show, self.form.picture_model, self.result, **self.running)
        else:
            filled.then(self.run, self.form.inputs, self.result, **self.running)


def _told(work: Callable[[], RunDescription]) -> tuple[Any, Any, Any]:
    """The run's description, and no saved run; on a fault the page as it was, and the fault."""
    try:
        return _anew(work()), "", None
    except VizEncoderError as fault:
        return gr.skip(), alert(str(fault)), gr.skip()
    except MemoryError:
        return gr.skip(), alert(NO_MEMORY), gr.skip()


def _anew(description: RunDescription) -> str:
    """The description as one the page has not seen: it may show a run made from it by now."""
    return for_component({**description, "asked": next(ASKED)})


def _example(name: str) -> Image.Image | None:
    """An example's pixels: Gradio serves no file of ours by its path."""
    return Image.open(asset(PICTURES[name])) if name in PICTURES else None


def _model(query: dict[str, str]) -> str | Built:
    """The model that a link names; "" where it asks for one that cannot be, as the run says."""
    try:
        return Recipe.from_link(query).model if "build" in query else query.get("model", "")
    except VizEncoderError:
        return ""


def _first_picture(kind: str, picture: str | None) -> Any:
    """A picture for an empty box, so that Run runs as it does with a text."""
    return gr.skip() if picture or kind != "image" else _example(next(iter(PICTURES)))


def _filler(example: FormExample) -> Callable[[], tuple[Any, ...]]:
    """Fills the form with an example and its model; what the example does not have stays."""

    def fill() -> tuple[Any, ...]:
        image = example.kind == "image"
        texts = (gr.skip(), gr.skip()) if image else (example.text, example.other)
        picture = _example(example.picture) if image else gr.skip()
        models = (gr.skip(), example.model) if image else (example.model, gr.skip())
        return example.kind, *texts, picture, *reveal(example.kind), *models

    return fill


def _teller(progress: gr.Progress) -> Callable[[float, str], None]:
    def tell(share: float, words: str) -> None:
        progress(share, desc=words)

    return tell
