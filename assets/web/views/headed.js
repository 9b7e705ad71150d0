// Sections with a heading, and tables with column titles.

import { el } from "../core/dom.js";

/** A part of the page; `title` is its heading, or a node that holds it.
 * @type {(name: string, label: string, title: string | Node, ...nodes: Node[]) => HTMLElement} */
export const section = (name, label, title, ...nodes) =>
  el(
    "section",
    { class: name, "aria-label": label },
    typeof title === "string" ? el("h3", {}, title) : title,
    ...nodes,
  );

/** A table's head. @type {(...titles: string[]) => HTMLElement} */
export const heads = (...titles) =>
  el("thead", {}, el("tr", {}, ...titles.map((title) => el("th", { scope: "col" }, title))));

/** `says` is its caption. @type {(name: string, titles: string[], rows: Node[], says?: string) => HTMLTableElement} */
export const table = (name, titles, rows, says) =>
  el("table", { class: name }, ...(says ? [el("caption", {}, says)] : []), heads(...titles), el("tbody", {}, ...rows));
