// A drawing of the page as an SVG file that needs no style sheet.

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

/** @type {(drawing: SVGElement, stem: string) => { blob: Blob, name: string }} */
export function svgFile(drawing, stem) {
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const [from, to] = [drawing, copy].map((node) => [...node.querySelectorAll("*")]);
  for (const [at, node] of from.entries()) {
    const style = getComputedStyle(node);
    for (const name of STYLED) to[at].setAttribute(name, style.getPropertyValue(name));
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  return { blob: new Blob([copy.outerHTML], { type: "image/svg+xml" }), name: `${stem}.svg` };
}
