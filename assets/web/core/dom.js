// Building elements: text always enters as text, never as markup.

/** @import { Attributes } from "./elements.d.ts" */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes<HTMLElementTagNameMap[Tag]>} attributes
 * @param {(string | Node)[]} children
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

/** An element of a drawing.
 * @type {(tag: string, attributes: Record<string, string | number>, ...children: (string | Node)[]) => SVGElement} */
export function svg(tag, attributes, ...children) {
  const node = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** @typedef {(event: MouseEvent & { currentTarget: HTMLButtonElement }) => unknown} Pressed */

/** A small button.
 * @type {(text: string, onclick: Pressed, more?: Attributes<HTMLButtonElement>) => HTMLButtonElement} */
export const button = (text, onclick, more) =>
  el("button", { type: "button", class: "viz-small", onclick, ...more }, text);

/** One whose text is a sign: its label says what it does.
 * @type {(text: string, label: string, onclick: Pressed) => HTMLButtonElement} */
export const labelled = (text, label, onclick) => button(text, onclick, { "aria-label": label, title: label });

/** A control behind its label. @type {(label: string, ...nodes: (string | Node)[]) => HTMLLabelElement} */
export const control = (label, ...nodes) => el("label", { class: "viz-control" }, label, ...nodes);

/** A slider behind its label, with its number; `changed` is called as it moves.
 * @type {(id: string, label: string, value: number, unit: string, changed: () => unknown) =>
 *   { input: HTMLInputElement, node: HTMLElement }} */
export function slider(id, label, value, unit, changed) {
  const said = el("output", { for: id }, `${value}${unit}`);
  const input = el("input", { type: "range", class: "viz-slider", id, min: Math.min(1, value), max: 100, value });
  input.addEventListener("input", () => {
    said.textContent = `${input.value}${unit}`;
    changed();
  });
  return { input, node: control(label, input, said) };
}

/** A line of controls. @type {(...nodes: (string | Node)[]) => HTMLDivElement} */
export const controls = (...nodes) => el("div", { class: "viz-controls" }, ...nodes);

/** Small print. @type {(...children: (string | Node)[]) => HTMLParagraphElement} */
export const caption = (...children) => el("p", { class: "viz-caption" }, ...children);

/** Small print that is read out when it changes. @type {(...children: (string | Node)[]) => HTMLParagraphElement} */
export const status = (...children) => el("p", { class: "viz-caption", role: "status" }, ...children);

/** What went wrong, in place; out of sight while it is empty. */
export const alertLine = () => el("p", { class: "viz-alert", role: "alert" });

/** Choices by [value, text]. @type {(entries: Iterable<readonly [string | number, string]>) => HTMLOptionElement[]} */
export const options = (entries) => Array.from(entries, ([value, text]) => el("option", { value }, text));

/** A line of a table, by its name. @type {(name: string | Node, ...cells: (string | Node)[]) => HTMLTableRowElement} */
export const tableRow = (name, ...cells) => rowWith({}, name, ...cells);

/** One with attributes; a cell that has some is made already.
 * @type {(attributes: Attributes<HTMLTableRowElement>, name: string | Node, ...cells: (string | Node)[]) => HTMLTableRowElement} */
export function rowWith(attributes, name, ...cells) {
  const made = cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : el("td", {}, cell)));
  return el("tr", attributes, el("th", { scope: "row" }, name), ...made);
}

/** Another head, body and foot of a table. @type {(table: HTMLTableElement, head: Node, rows: Node[], ...foot: Node[]) => void} */
export const fillTable = (table, head, rows, ...foot) => table.replaceChildren(head, el("tbody", {}, ...rows), ...foot);

/** A table's head: its corner, and a title a column.
 * @type {(corner: string, ...titles: (string | Node)[]) => HTMLElement} */
export const tableHead = (corner, ...titles) =>
  el("thead", {}, el("tr", {}, el("td", {}, corner), ...titles.map((title) => el("th", { scope: "col" }, title))));

/** The one node that is there.
 * @type {<Kind extends Element = HTMLElement>(root: ParentNode, selector: string) => Kind} */
export function query(root, selector) {
  const found = root.querySelector(selector);
  if (!found) throw new Error(`There is no ${selector} here.`);
  return /** @type {any} */ (found);
}

/** The picture at an address, or null where there is none. @param {string} url */
export function loadPicture(url) {
  const image = new Image();
  image.src = url;
  return image.decode().then(
    () => image,
    () => null,
  );
}

export const context2d = (/** @type {HTMLCanvasElement} */ canvas) =>
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** A canvas of css pixels, sharp on any screen; returns its context, scaled to css pixels.
 * @type {(canvas: HTMLCanvasElement, width: number, height: number) => CanvasRenderingContext2D} */
export function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = context2d(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Call when light turns to dark or back. @param {() => unknown} callback @param {AbortSignal} [signal] */
export function onTheme(callback, signal) {
  const observer = new MutationObserver(callback);
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true, attributeFilter: ["class"] });
  }
  signal?.addEventListener("abort", () => observer.disconnect());
}

// Call when the width of a node has changed, and with it whether it is in sight.
export function onWidth(/** @type {Element} */ node, /** @type {() => unknown} */ callback) {
  let width = -1;
  new ResizeObserver(() => {
    if (width !== node.clientWidth) callback();
    width = node.clientWidth;
  }).observe(node);
}

/** Call when a node comes into sight, and when it leaves it.
 * @type {(node: Element, callback: (seen: boolean) => unknown) => void} */
export function onSight(node, callback) {
  new IntersectionObserver((entries) => callback(entries[entries.length - 1].isIntersecting)).observe(node);
}

/** Once the browser has nothing else to do, or after a second. @type {() => Promise<void>} */
export const idle = () =>
  new Promise((done) => {
    if (typeof requestIdleCallback === "function") requestIdleCallback(() => done(), { timeout: 1000 });
    else setTimeout(done, 200); // Safari
  });

/** Resolves when what was drawn by now is on the screen; at once in a page that nobody sees, which
 * has no frames to wait for. @returns {Promise<void>} */
export const painted = () =>
  new Promise((done) => {
    if (document.hidden) done();
    else requestAnimationFrame(() => setTimeout(done));
  });

export const isDark = () =>
  [document.documentElement, document.body].some(({ classList }) => classList.contains("dark"));

export const css = (/** @type {string} */ name, node = document.body) =>
  getComputedStyle(node).getPropertyValue(name).trim();

/** A weight with four decimals; a small one with three digits, so that it never reads as zero.
 * @param {number | null | undefined} value */
export function number(value) {
  if (value == null) return "unknown";
  if (Number.isNaN(value)) return "masked";
  if (value === 0) return "0";
  return Math.abs(value) < 0.001 ? small(value) : value.toFixed(4);
}

const small = (/** @type {number} */ value) =>
  Math.abs(value) < 0.0001 ? value.toExponential(2) : value.toPrecision(3);

/** A statistic, with three digits where so few decimals would leave none; null where there is none,
 * for its numbers were not finite. @type {(value: number | null | undefined, digits: number) => string} */
export function amount(value, digits) {
  if (value == null) return "unknown";
  return value !== 0 && Math.abs(value) < Math.max(0.001, 10 ** -digits) ? small(value) : value.toFixed(digits);
}

/** The end of a scale of colors: two digits say it. */
export const rounded = (/** @type {number} */ value) =>
  value === 0 ? "0" : value >= 0.1 ? value.toFixed(2) : value.toPrecision(2);

export const count = (/** @type {number} */ value) => value.toLocaleString("en-US");

/** A number with its noun: "1 token", "1,024 tokens". @type {(n: number, noun: string) => string} */
export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Such as "a, b and c". @type {(names: string[]) => string} */
export const enumerated = (names) => [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
