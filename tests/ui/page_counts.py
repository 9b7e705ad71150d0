"""What a page asks of its reader, counted: controls, room, sizes of type, targets, borders."""

from typing import Any

from playwright.sync_api import Page

from tests.ui.test_contrast import contrast

SIZES = (12, 14, 16, 22)  # pixels of type
# Resolves once the page's height has been the same for a while, and nothing is being computed.
SETTLED = """() => {
  const behind = document.querySelector(".viz-behind") !== null;
  const now = [document.documentElement.scrollHeight, behind];
  const same = window.vizCounted?.now.every((one, at) => one === now[at]);
  if (!same || now[1]) window.vizCounted = { now, since: performance.now() };
  return performance.now() - window.vizCounted.since > 700;
}"""
COUNTS = """(sizes) => {
  const CONTROL = "button, input, select, textarea, summary, a[href], [role=tab], [role=slider]";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const box = (node) => node.getBoundingClientRect();
  const name = (node) => {
    const classes = String(node.className?.baseVal ?? node.className).split(" ").slice(0, 2);
    const said = (node.ariaLabel ?? node.textContent).trim().slice(0, 30);
    return `${[node.tagName.toLowerCase(), ...classes].join(".")} ${said}`;
  };

  // A group of which one member is a stop of the Tab key is one control, as the words of a text
  // or the kinds of an input.
  const stops = (node) => node.tabIndex >= 0 || node.role === "tab";
  const radio = (node) => (node.type === "radio" ? node.closest("fieldset, #viz-kind") : null);
  const words = (node) => node.closest(".viz-words, .viz-share-grid");
  const controls = all(CONTROL).filter((node) =>
    shown(node) && box(node).right > 0 && stops(node) && !node.disabled);
  const inSight = (node) => {
    const { left, top, width, height } = box(node);
    const at = document.elementFromPoint(left + width / 2, top + height / 2);
    return at && (node.contains(at) || at.contains(node) || node.labels?.[0]?.contains(at));
  };
  const whole = (node) => words(node) ?? radio(node) ?? node;
  const groups = new Set(controls.filter(inSight).map(whole));

  // A label, and the border around what is typed into, belong to the target; links within sentences
  // are text, and cells of a grid are as small as it must be.
  const above = (node) => (node ? [node, ...above(node.parentElement)] : []);
  const bordered = (one) => parseFloat(getComputedStyle(one).borderTopWidth) > 0;
  const typed = (node) => node.matches("textarea, select, input")
    && !["checkbox", "radio", "range", "file", "hidden"].includes(node.type);
  const edge = (node) => above(node).slice(0, 6).find(bordered) ?? node;
  const sides = (node) => {
    const all = [node, node.labels?.[0] ?? node, typed(node) ? edge(node) : node].map(box);
    return [Math.max(...all.map((one) => one.width)), Math.max(...all.map((one) => one.height))];
  };
  const inText = (node) => node.tagName === "A" && getComputedStyle(node).display === "inline";
  const inGrid = (node) => words(node) || node.matches(".viz-heads-cell");
  const small = controls.filter((node) => box(node).width && !inText(node) && !inGrid(node)
    && sides(node).some((side) => side < 23.5));

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: parent } = walker.currentNode;
    const unseen = ["SCRIPT", "STYLE", "OPTION"].includes(parent.tagName);
    if (walker.currentNode.data.trim() && !unseen && shown(parent)) texts.push(walker.currentNode);
  }
  const odd = {};
  for (const { parentElement: parent } of texts) {
    const size = parseFloat(getComputedStyle(parent).fontSize);
    if (!sizes.some((each) => Math.abs(each - size) < 0.1)) (odd[size] ??= []).push(name(parent));
  }

  // Where there is something: texts by their lines, drawings, controls, and boxes with a ground.
  const scrolls = (one) => /auto|scroll|hidden/.test(getComputedStyle(one).overflowY);
  // Without what is scrolled out of a box.
  const within = ({ left, right, top, bottom, width }, node) => {
    const outer = above(node).find(scrolls);
    const whole = !outer || outer.contains(document.body);
    const clip = whole ? { top: -Infinity, bottom: Infinity } : box(outer);
    [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
    return { left, right, top, bottom, width, height: bottom - top };
  };
  const boxes = texts.flatMap((text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return [...range.getClientRects()].map((rect) => within(rect, text.parentElement));
  });
  const solid = all("canvas, img, svg, input, select, textarea, button, pre").filter(shown);
  boxes.push(...solid.map((node) => within(box(node), node.parentElement)));
  const places = boxes.filter((one) => one.width > 1 && one.height > 1 && one.bottom > 0);
  const end = Math.max(...places.map(({ bottom }) => bottom));
  const lines = places.map(({ top, bottom }) => [top, bottom]).sort(([a], [b]) => a - b);
  const gaps = [];
  let [until] = lines[0];
  for (const [top, bottom] of lines) {
    if (top - until > 40) gaps.push([Math.round(until), Math.round(top - until)]);
    until = Math.max(until, bottom);
  }
  const CELL = 20;
  const SIDE = 300 / CELL;
  const [rows, columns] = [Math.floor(end / CELL), Math.floor(innerWidth / CELL)];
  const full = Array.from({ length: rows }, () => new Uint8Array(columns));
  const cells = (from, to, many) =>
    [Math.max(0, Math.floor(from / CELL)), Math.min(many, Math.ceil(to / CELL))];
  for (const { left, right, top, bottom } of places) {
    const [[first, last], sides] = [cells(top, bottom, rows), cells(left, right, columns)];
    for (let row = first; row < last; row++) full[row].fill(1, ...sides);
  }
  const empty = [];
  const free = (row, column) => {
    for (let y = row; y < row + SIDE; y++)
      for (let x = column; x < column + SIDE; x++) if (full[y][x]) return false;
    return true;
  };
  for (let row = 0; row + SIDE <= rows; row++)
    for (let column = 0; column + SIDE <= columns; column++)
      if (free(row, column)) {
        empty.push([column * CELL, row * CELL]);
        for (let y = row; y < row + SIDE; y++) full[y].fill(1, column, column + SIDE);
      }

  // What is typed into or chosen from: its border on what is behind it.
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const edges = all("input, select, textarea")
    .filter((node) => typed(node) && shown(node) && box(node).width > 1)
    .map((node) => {
      const behind = above(edge(node).parentElement).map((one) => getComputedStyle(one));
      const style = getComputedStyle(edge(node));
      const ink = bordered(edge(node)) ? style.borderTopColor : "rgba(0, 0, 0, 0)";
      const grounds = behind.map((style) => numbers(style.backgroundColor));
      return { text: name(node), ink: numbers(ink), grounds, opacity: 1 };
    });
  return {
    controls: [...groups].map(name), height: document.documentElement.scrollHeight, empty, gaps,
    small: small.map((node) => `${sides(node).map(Math.round)} ${name(node)}`), odd, edges,
    wide: document.documentElement.scrollWidth - innerWidth,
  };
}"""


def counted(page: Page) -> dict[str, Any]:
    """Every count of what the page shows now, each with the names of what was counted."""
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(SETTLED, timeout=30_000)
    found: dict[str, Any] = page.evaluate(COUNTS, SIZES)
    edges = found.pop("edges")
    found["faint"] = [
        f"{contrast(one):.2f} {one['text']}" for one in edges if one["ink"] and contrast(one) < 3
    ]
    found["odd"] = [f"{size} px {one}" for size, many in found["odd"].items() for one in many]
    return found
