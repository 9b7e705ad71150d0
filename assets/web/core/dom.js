// Building elements: text always enters as text, never as markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// A canvas of css pixels, sharp on any screen; returns its context, scaled to css pixels.
export function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// Call when light turns to dark or back.
export function onTheme(callback) {
  const observer = new MutationObserver(callback);
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true, attributeFilter: ["class"] });
  }
}

// Resolves when what was drawn by now is on the screen; at once in a page that nobody sees, which
// has no frames to wait for.
export const painted = () =>
  new Promise((done) => {
    if (document.hidden) done();
    else requestAnimationFrame(() => setTimeout(done));
  });

export const isDark = () =>
  [document.documentElement, document.body].some(({ classList }) => classList.contains("dark"));

export const css = (name, node = document.body) => getComputedStyle(node).getPropertyValue(name).trim();

// A weight with four decimals; a small one with three digits, so that it never reads as zero.
export function number(value) {
  if (value == null) return "unknown";
  if (Number.isNaN(value)) return "masked";
  if (value === 0) return "0";
  return Math.abs(value) < 0.001 ? small(value) : value.toFixed(4);
}

const small = (value) => (Math.abs(value) < 0.0001 ? value.toExponential(2) : value.toPrecision(3));

// A statistic, with three digits where so few decimals would leave none; null where there is none,
// for its numbers were not finite.
export function amount(value, digits) {
  if (value == null) return "unknown";
  return value !== 0 && Math.abs(value) < Math.max(0.001, 10 ** -digits) ? small(value) : value.toFixed(digits);
}

export const count = (value) => value.toLocaleString("en-US");
