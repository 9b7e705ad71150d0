"""A page that tests share: taken back to how it opened, or else opened anew."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from playwright.sync_api import Error, TimeoutError

from tests.ui.texts import LABELS, SENTENCES

if TYPE_CHECKING:
    from tests.ui.conftest import Opened

PLACE = ("layer", "head", "query", "key", "scale", "hide", "renorm", "words", "change", "measure")
SWITCHES = ("hide", "renorm", "words", "change")
# Whether the run that is wanted is of a text, of the model that has run the last one.
ALIKE = """({ kind, model, cut, ran }) => String(kind) === "text" && !cut && !ran
  && vizTab.run.link.kind === "text" && vizTab.run.link.model === String(model)"""
TAB = ".viz-root > .viz-alert:empty"  # every tab that is built has one

# What is chosen on the page, but for the place: controls, folds and pressed buttons by their names.
CHOSEN = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byName = (nodes, name, state) => {
    const found = {};
    for (const node of nodes) if (name(node)) (found[name(node)] ??= []).push(state(node));
    return found;
  };
  const named = (node) => node.id || (node.name && `${node.name}=${node.value}`);
  const value = (node) => (["checkbox", "radio"].includes(node.type) ? node.checked : node.value);
  const pressed = all("[data-direction], [data-line-head], #viz-tabs [role=tab]");
  return {
    controls: byName(all(".viz-root :is(input, select, textarea)"), named, value),
    form: byName(all("#viz-text-a textarea"), () => "a", value),
    folds: byName(all("details:not(.viz-folded)"), (one) => one.className, (one) => one.open),
    pressed: byName(pressed, (one) => one.textContent,
      (one) => one.ariaPressed ?? one.ariaSelected),
    other: {
      dark: document.body.classList.contains("dark"),
      left: all(".viz-full, .viz-alert, #viz-saved .file-preview").length,
      saved: Boolean(document.querySelector("#viz-saved")?.offsetParent),
    },
    link: { address: (vizTab.selection.flush(), location.search), run: vizTab.run.key },
  };
}"""
# Whether all of that is again as it was; what came with a tab that opened since may be anything.
AGAIN = f"""before => {{
  const now = ({CHOSEN})();
  const parts = Object.entries(before);
  return parts.every(([part, names]) =>
    Object.keys(names).every((name) => String(names[name]) === String(now[part][name])));
}}"""
BACK = """([before, place]) => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  document.activeElement?.blur();
  document.body.classList.toggle("dark", before.other.dark);
  for (const tab of all("#viz-tabs [role=tab][aria-selected=false]")) {
    if (String(before.pressed[tab.textContent]) === "true") tab.click();
  }
  document.querySelector("[data-direction=looks][aria-pressed=false]")?.click();
  for (const node of all("#viz-text-a textarea, .viz-root :is(input, select, textarea)")) {
    const typed = node.closest("#viz-text-a") ? before.form.a?.[0] : undefined;
    const value = typed ?? before.controls[node.id || `${node.name}=${node.value}`]?.[0];
    if (value === undefined) continue;
    if (["checkbox", "radio"].includes(node.type)) {
      if (node.checked !== value && (value || node.type === "checkbox")) node.click();
    } else if (node.value !== value) {
      node.value = value;
      const event = node.tagName === "SELECT" ? "change" : "input";
      node.dispatchEvent(new Event(event, { bubbles: true }));
    }
  }
  for (const [name, [open]] of Object.entries(before.folds)) {
    const same = all("details").filter((one) => one.className === name && one.open !== open);
    for (const node of same) node.open = open;
  }
  const { map, selection } = vizTab;
  selection.set(place);
  selection.keep({}); // the order of the atlas
  selection.flush();
  const linked = new URLSearchParams(before.link.address);
  const named = [...new URLSearchParams(location.search).keys()];
  const noted = named.filter((name) => name.includes("."));
  selection.note(Object.fromEntries(noted.map((name) => [name, linked.get(name) ?? ""])));
  if (map.view.zoomed) {
    map.view.fit();
    map.moved();
  }
  scrollTo(0, 0);
}"""


class KeptPages:
    """The pages that tests of all files share, those that were used last."""

    most = 3  # open at once, each of some 100 MB

    def __init__(self, visit: "Callable[..., Opened]") -> None:
        self.visit = visit
        self.kept: dict[str, Any] = {}

    def at(self, name: str, again: Callable[[Any], bool], anew: Callable[[], Any]) -> Any:
        """What is kept by a name, where it can be used again; else what is opened anew."""
        kept = self.kept.pop(name, None)
        if kept and not again(kept):
            kept.page.close()
            kept = None
        while not kept and len(self.kept) >= self.most:
            self.kept.pop(next(iter(self.kept))).page.close()
        self.kept[name] = kept = kept or anew()
        return kept


class SharedPages:
    """The pages that are taken back, by the query that opened each."""

    def __init__(self, pages: "KeptPages") -> None:
        self.pages = pages

    def at(self, prepare: "Callable[[Opened], object] | None" = None, **query: object) -> "Opened":
        """The page of a query at the place it names; `prepare` is called when it has opened."""
        place = {name: query.pop(name) for name in PLACE if name in query}
        by = f"{prepare.__module__}.{prepare.__qualname__}" if prepare else ""
        name = f"{by} {sorted(query.items())}"
        shared = self.pages.at(
            name, SharedPage.taken_back, lambda: SharedPage(self._opened(prepare, query))
        )
        try:
            shared.go(**place)
        except Error:
            self.pages.kept.pop(name).page.close()  # the next test has another
            raise
        return shared.opened

    def _opened(
        self, prepare: "Callable[[Opened], object] | None", query: dict[str, object]
    ) -> "Opened":
        opened = self.pages.visit(**query)
        opened.painted()
        opened.page.wait_for_selector(".viz-atlas[data-painted]", timeout=60_000)
        # The form may come after the map; a picture's has no text box.
        box = "() => vizTab.run.grid || document.querySelector('#viz-text-a textarea')"
        opened.page.wait_for_function(box, timeout=60_000)
        if prepare:
            prepare(opened)
        return opened


class SharedPage:
    """A page, and what was chosen on it when it had opened."""

    def __init__(self, opened: "Opened") -> None:
        self.opened, self.page = opened, opened.page
        self.place = self.page.evaluate(
            "names => Object.fromEntries(names.map((name) => [name, vizTab.selection[name]]))",
            PLACE,
        )
        self.chosen = self.page.evaluate(CHOSEN)
        self.size = self.page.viewport_size
        self.tabs = self.page.locator(TAB).count()

    def taken_back(self) -> bool:
        """Undo what was chosen since; False where the page can't be as it was."""
        if self.opened.faults or self.page.locator(TAB).count() > self.tabs:
            return False  # a tab that was opened stays
        if not self.page.evaluate("Boolean(window.vizTab?.run)"):
            return False
        self.page.unroute_all()
        self.page.mouse.move(0, 0)
        if self.page.viewport_size != self.size:
            self.page.set_viewport_size(self.size)
        try:
            self._run_again()
            if self.page.is_visible("#viz-saved"):
                self.page.get_by_text("Open a saved run").click(timeout=2_000)  # which closes it
            self.page.evaluate(BACK, [self.chosen, self.place])
            self.page.wait_for_function(AGAIN, arg=self.chosen, timeout=2_000)
        except TimeoutError:  # any other error is one of this file, and would open a page a test
            return False
        return not self.opened.faults

    def _run_again(self) -> None:
        """Go back to the run from one with changes, or from another of the form."""
        if self.page.evaluate("vizTab.run.key") == self.chosen["link"]["run"]:
            return
        self.page.evaluate("vizTab.reference.choose()")
        wanted = parse_qs(self.chosen["link"]["address"].removeprefix("?"))
        if self.page.is_visible("#viz-restore"):
            self.page.click("#viz-restore")
        elif wanted.get("a") == [SENTENCES[0]]:
            self.page.get_by_role("button", name=LABELS[0]).click(timeout=2_000)
        elif self.page.evaluate(ALIKE, wanted):
            self.page.fill("#viz-text-a textarea", wanted["a"][0], timeout=2_000)
            self.page.click("#viz-run", timeout=2_000)
        else:
            return
        again = "key => vizTab.run.key === key"
        self.page.wait_for_function(again, arg=self.chosen["link"]["run"], timeout=10_000)
        self.opened.painted()

    def go(self, **place: object) -> None:
        """Choose a place as a link of it would, all else as usual, and wait until it is drawn."""
        chosen = {**self.place, **place}
        chosen |= {name: bool(chosen[name]) for name in SWITCHES}
        self.page.evaluate(
            "(place) => (vizTab.selection.set(place), vizTab.selection.flush())", chosen
        )
        kept = "+".join(name for name in SWITCHES[:3] if chosen[name]) or "all"
        head = f"{chosen['layer']}.{chosen['head']}"
        weights = chosen["measure"] == "attention"
        map_said = f"$=':{head}:{kept}'"
        if chosen["change"] or not weights:
            map_said = f"*=':{head}:{kept}:{'change:' if weights else ''}'"
        for painted in (
            f".viz-map[data-painted{map_said}]",
            f".viz-source[data-painted$=':{kept}:{head}:{chosen['query']}']:not(.viz-behind)",
        ):
            self.page.wait_for_selector(painted, state="attached", timeout=30_000)
