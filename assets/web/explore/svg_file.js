// A drawing of the page as an SVG file that needs no style sheet, and as a PNG.

import { context2d, svg } from "../core/dom.js";
import { canvasPng } from "../views/canvas_png.js";

/** @import { Saved } from "../views/save_row.js" */

const SHARP = 2; // pixels of a PNG for each of the drawing
const STYLED = [
  "fill",
  "stroke",
  "font-size",
  "font-family",
  "font-weight",
  "text-anchor",
  "opacity",
  "paint-order",
  "stroke-width",
];

/** @typedef {{ blob: Blob, name: string }} File */

/** `title` is what viewers and screen readers say of it. @type {(drawing: SVGElement, stem: string, title: string) => File} */
export function svgFile(drawing, stem, title) {
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const [from, to] = [drawing, copy].map((node) => [...node.querySelectorAll("*")]);
  for (const [at, node] of from.entries()) {
    const style = getComputedStyle(node);
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      if (value) to[at].setAttribute(name, value); // a drawing for a file alone has no style
    }
  }
  copy.prepend(svg("title", {}, title));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  return { blob: new Blob([copy.outerHTML], { type: "image/svg+xml" }), name: `${stem}.svg` };
}

/** The same as a PNG. @type {(file: File, stem: string) => Promise<Saved>} */
export async function pngOf({ blob }, stem) {
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode().finally(() => URL.revokeObjectURL(image.src));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * SHARP, image.height * SHARP];
  context2d(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvasPng(canvas, stem);
}
