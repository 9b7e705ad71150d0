// How it got there, as files: the drawing as SVG without a style sheet and as PNG, and its numbers as a table.

import { svg } from "../core/dom.js";
import { canvasPng, svgCanvas } from "../views/canvas_png.js";
import { fileAt, saveRow } from "../views/save_row.js";
import { lines } from "./paper_figure.js";

const [LINE, LETTER, EDGE] = [18, 6.8, 8]; // pixels of the title's lines, of its letters as they are wrapped, and around all
const SHARP = 2; // pixels of a PNG for each of the drawing
const STYLED = ["fill", "stroke", "font-size", "font-family", "font-weight", "text-anchor", "opacity", "stroke-width"];

/** @typedef {{ blob: Blob, name: string }} File */
/** @typedef {{ drawing: SVGElement, title: string, run: Run | null, against: string, measure: string, path: string }} Shown
 *   what is drawn of a question, the answer that stands over it, against what, and where its numbers are */

/** @type {(shown: () => Shown) => HTMLElement} */
export function routesSaves(shown) {
  const drawn = () => svgFile(shown());
  const table = (/** @type {string} */ kind) => {
    const { run, path } = shown();
    return run && fileAt(run.url(path.replace("KIND", kind)));
  };
  return saveRow("Save how it got there", [
    [
      "PNG",
      "The drawing, in twice its pixels",
      async () => canvasPng(await svgCanvas(drawn().blob, { times: SHARP }), stemOf(shown())),
    ],
    ["SVG", "The drawing", drawn],
    ["CSV", "Its numbers, as a table", () => table("csv")],
    ["npz", "Its numbers, for NumPy", () => table("npz")],
  ]);
}

const stemOf = (/** @type {Shown} */ { run, measure }) =>
  `${run?.model ?? "run"}-routes${measure === "contribution" ? "" : `-${measure}`}`;

/** The title stands above the drawing, and is what viewers and screen readers say of it. @type {(shown: Shown) => File} */
function svgFile(shown) {
  const { drawing, title: answer, run, against } = shown;
  const read = [run?.link.a, run?.link.b].filter(Boolean).map((text) => `“${text}”`);
  const title = [answer, `${run?.model ?? "A run"}${read.length ? `: ${read.join(" and ")}` : ""}${against}.`].join(
    " ",
  );
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const [from, to] = [drawing, copy].map((node) => [...node.querySelectorAll("*")]);
  for (const [at, node] of from.entries()) {
    const style = getComputedStyle(node);
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      if (value) to[at].setAttribute(name, value); // a drawing for a file alone has no style
    }
  }
  copy.prepend(svg("title", {}, title), ...above(copy, title));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  return { blob: new Blob([copy.outerHTML], { type: "image/svg+xml" }), name: `${stemOf(shown)}.svg` };
}

/** The title's lines, for which the drawing gets room. @type {(copy: SVGElement, title: string) => SVGElement[]} */
function above(copy, title) {
  const [width, height] = ["width", "height"].map((name) => Number(copy.getAttribute(name)));
  const words = lines(title, width, (text) => text.length * LETTER);
  const room = LINE * words.length + EDGE;
  const [wide, high] = [width + 2 * EDGE, height + room + EDGE];
  copy.setAttribute("viewBox", `${-EDGE} ${-room} ${wide} ${high}`);
  copy.setAttribute("width", String(wide));
  copy.setAttribute("height", String(high));
  const { color, fontFamily } = getComputedStyle(document.body);
  const style = { "font-size": 14, "font-family": fontFamily, fill: color };
  return words.map((line, at) => svg("text", { x: 0, y: LINE * (at + 0.8) - room, ...style }, line));
}
