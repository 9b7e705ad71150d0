"""A page that tests of a file share by one of its tabs: each finds that tab made anew."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.ui.shared_page import MOST

if TYPE_CHECKING:
    from tests.ui.conftest import Opened

PLACE = {"layer": 0, "head": 0, "query": 0, "key": 0}
DRAWN = {
    "corpus": ".viz-corpus[data-painted]",
    "learn": ".viz-learn[data-painted]",
    "masks": ".viz-masks[data-painted]",
    "zoo": ".viz-zoo-head",
}

# The tab goes; what it still does, out of sight, writes no link.
GONE = """(tab) => {
  if (tab === "masks") Object.assign(vizMasks, { ready: false }).painter.history = { now: null };
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
    """The pages of a file, by the query that opened each."""

    def __init__(self, visit: "Callable[..., Opened]") -> None:
        self.visit = visit
        self.kept: dict[str, Opened] = {}

    def at(self, tab: str, width: int = 1440, **query: object) -> "Opened":
        """The page of a query, on a tab as a link of that query opens it."""
        place = {name: query.pop(name, usual) for name, usual in PLACE.items()}
        linked = {name: query.pop(name) for name in [*query] if "." in name}
        name = f"{tab} {sorted(query.items())}"
        opened = self.kept.pop(name, None)
        if opened and (opened.faults or not opened.page.evaluate("'vizFirst' in window")):
            opened.page.close()  # a page that was loaded again is another
            opened = None
        if opened:
            self._make_anew(opened, tab, place, linked)
        else:
            while len(self.kept) >= MOST:
                self.kept.pop(next(iter(self.kept))).page.close()
            opened = self.visit(tab=tab, width=width, **place, **linked, **query)
        self.kept[name] = opened
        opened.page.wait_for_selector(DRAWN[tab], timeout=60_000)
        opened.page.wait_for_function("window.vizTab?.run")
        opened.page.evaluate("() => { window.vizFirst ??= vizTab.run; }")
        opened.page.set_viewport_size({"width": width, "height": 1000})
        return opened

    def _make_anew(
        self, opened: "Opened", tab: str, place: dict[str, object], linked: dict[str, object]
    ) -> None:
        page = opened.page
        page.unroute_all()
        page.mouse.move(0, 0)
        page.set_viewport_size({"width": 1440, "height": 1000})  # where each tab has its button
        opened.imported("core/tab_link.js", "m.openTab(given)", tab)
        page.wait_for_selector(f"#viz-tab-{tab}", state="attached")
        opened.imported(f"{tab}/tab.js", f"({GONE})(given)", tab)
        opened.imported("core/app_state.js", f"({ANEW})(given)", [tab, place, linked])
