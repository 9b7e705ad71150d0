"""A page that tests share by one of its tabs: each finds that tab made anew."""

from typing import TYPE_CHECKING

from tests.ui.shared_page import KeptPages

if TYPE_CHECKING:
    from tests.ui.conftest import Opened

PLACE = {"layer": 0, "head": 0, "query": 0, "key": 0}
DRAWN = {
    "corpus": ".viz-corpus[data-painted]",
    "learn": ".viz-learn[data-painted]",
    "masks": ".viz-masks[data-painted]",
}

# The tab goes; what it still waits for writes no link.
GONE = """(tab) => {
  ({ corpus: window.vizCorpus, learn: window.vizLearn, masks: window.vizMasks })[tab].dispose();
  const old = document.querySelector(`#viz-${tab} .viz-root`);
  old.replaceWith(old.cloneNode(false));
  window.mountAnew = m.mount;
}"""
# Back to the run that the page opened with, to a place and the notes of a link, and to the tab.
ANEW = """([tab, place, linked]) => {
  const { selection } = m.current;
  document.activeElement?.blur();
  sessionStorage.clear();
  selection.flush();
  const named = [...new URLSearchParams(location.search).keys()];
  const noted = named.filter((name) => name.includes(".")).map((name) => [name, ""]);
  selection.note({ ...Object.fromEntries(noted), ...linked });
  if (m.current.run !== vizFirst) m.current.enter(vizFirst);
  selection.set(place);
  mountAnew(document.querySelector(`#viz-${tab} .viz-root`));
  scrollTo(0, 0);
}"""


class SharedTab:
    """The pages on a tab, by the query that opened each."""

    def __init__(self, pages: KeptPages) -> None:
        self.pages = pages

    def at(self, tab: str, width: int = 1440, **query: object) -> "Opened":
        """The page of a query, on a tab as a link of that query opens it."""
        place = {name: query.pop(name, usual) for name, usual in PLACE.items()}
        linked = {name: query.pop(name) for name in [*query] if "." in name}
        opened: Opened = self.pages.at(
            f"{tab} {sorted(query.items())}",
            lambda kept: self._made_anew(kept, tab, place, linked),
            lambda: self.pages.visit(tab=tab, width=width, **place, **linked, **query),
        )
        drawn = ".viz-zoo-head" if linked.get("masks.part") == "bugs" else DRAWN[tab]
        opened.page.wait_for_selector(drawn, timeout=60_000)
        opened.page.wait_for_function("window.vizTab?.run")
        opened.page.evaluate("() => { window.vizFirst ??= vizTab.run; }")
        opened.page.set_viewport_size({"width": width, "height": 1000})
        return opened

    def _made_anew(
        self, opened: "Opened", tab: str, place: dict[str, object], linked: dict[str, object]
    ) -> bool:
        page = opened.page
        if opened.faults or not page.evaluate("'vizFirst' in window"):
            return False  # a page that was loaded again is another
        page.unroute_all()
        page.mouse.move(0, 0)
        page.set_viewport_size({"width": 1440, "height": 1000})  # where each tab has its button
        opened.imported("core/tab_link.js", "m.openTab(given)", tab)
        page.wait_for_selector(f"#viz-tab-{tab}", state="attached")
        opened.imported(f"{tab}/tab.js", f"({GONE})(given)", tab)
        opened.imported("core/app_state.js", f"({ANEW})(given)", [tab, place, linked])
        return True
