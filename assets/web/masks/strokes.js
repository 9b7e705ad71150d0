// Strokes on the mask: what a pointer or a key paints, by the tool that is chosen.

export class Strokes {
  constructor(painter) {
    this.painter = painter;
    const { canvas } = painter.grid;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", () => this.#up());
    canvas.addEventListener("pointercancel", () => this.#drop());
    canvas.addEventListener("pointerleave", () => this.#hover(null));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #down(event) {
    const { painter } = this;
    const at = painter.run && event.button === 0 && painter.grid.place(event);
    if (!at) return;
    painter.grid.chosen = at;
    painter.grid.draw();
    painter.tell();
    if (!painter.editable) return;
    painter.grid.canvas.setPointerCapture(event.pointerId);
    this.stroke = { from: at, last: at, value: 1 - painter.mask.at(...at), places: [] };
    this.#extend(at);
  }

  #move(event) {
    const { painter, stroke } = this;
    if (!painter.run) return;
    if (!stroke) return this.#hover(painter.grid.place(event));
    const at = painter.grid.nearest(event);
    if (at.join() === stroke.last.join()) return;
    this.#extend(at);
  }

  // Paint up to here; fast strokes skip cells, so all between are painted.
  #extend(to) {
    const { painter, stroke } = this;
    painter.grid.chosen = to;
    if (painter.tool === "rectangle") {
      stroke.places = within(stroke.from, to);
      painter.grid.rectangle = [stroke.from, to];
    } else for (const at of between(stroke.last, to)) stroke.places.push(...this.#reached(at));
    stroke.last = to;
    painter.preview(painter.mask.with(stroke.places, stroke.value, painter.symmetric.checked));
    painter.tell();
  }

  #reached([row, col]) {
    const { tool, run } = this.painter;
    const all = Array.from({ length: run.n }, (_, at) => at);
    if (tool === "row") return all.map((at) => [row, at]);
    if (tool === "column") return all.map((at) => [at, col]);
    return [[row, col]];
  }

  #up() {
    const { painter, stroke } = this;
    if (!stroke) return;
    this.stroke = painter.grid.rectangle = null;
    painter.paint(stroke.places, stroke.value);
  }

  #drop() {
    this.stroke = this.painter.grid.rectangle = null;
    this.painter.preview(null);
  }

  #hover(at) {
    const { painter } = this;
    if (this.stroke) return;
    painter.grid.hovered = at;
    painter.grid.drawOver();
    if (at) painter.tell(at);
    else painter.tell();
  }

  // As on the big map: the wheel zooms where the grid has the focus, or with Ctrl.
  #wheel(event) {
    const { grid } = this.painter;
    if (!grid.view || !(event.ctrlKey || event.metaKey || document.activeElement === grid.canvas)) return;
    const at = grid.place(event);
    if (!at) return;
    event.preventDefault();
    grid.view.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), ...at);
    grid.draw();
  }

  #key(event) {
    const { painter } = this;
    if (!painter.run) return;
    const { grid } = painter;
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) {
      if ((key === "z" && event.shiftKey) || key === "y") painter.redo();
      else if (key === "z") painter.undo();
      else return;
      return event.preventDefault();
    }
    const [row, col] = grid.chosen;
    const last = grid.view.n - 1;
    const moves = {
      arrowup: [row - 1, col],
      arrowdown: [row + 1, col],
      arrowleft: [row, col - 1],
      arrowright: [row, col + 1],
      home: [row, 0],
      end: [row, last],
    };
    const zooms = { "+": 0.5, "=": 0.5, "-": 2 };
    if (moves[key]) {
      grid.chosen = moves[key].map((at) => Math.min(last, Math.max(0, at)));
      grid.view.reveal(...grid.chosen);
    } else if (zooms[key]) grid.view.zoom(zooms[key], row + 0.5, col + 0.5);
    else if (key === "0" || key === "escape") grid.view.fit();
    else if (painter.editable && [" ", "r", "c"].includes(key)) this.#toggle(key, row, col);
    else return;
    event.preventDefault();
    grid.draw();
    painter.tell();
  }

  #toggle(key, row, col) {
    const { painter } = this;
    const all = Array.from({ length: painter.run.n }, (_, at) => at);
    const places = {
      " ": () => [[row, col]],
      r: () => all.map((at) => [row, at]),
      c: () => all.map((at) => [at, col]),
    }[key]();
    painter.paint(places, 1 - painter.mask.at(row, col));
  }
}

// The cells on the way from one to another, the last one included.
function between([r0, c0], [r1, c1]) {
  const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0), 1);
  return Array.from({ length: steps }, (_, at) => [
    r0 + Math.round(((r1 - r0) * (at + 1)) / steps),
    c0 + Math.round(((c1 - c0) * (at + 1)) / steps),
  ]);
}

// The cells of the rectangle between two corners.
function within([r0, c0], [r1, c1]) {
  const [top, bottom, left, right] = [Math.min(r0, r1), Math.max(r0, r1), Math.min(c0, c1), Math.max(c0, c1)];
  const places = [];
  for (let row = top; row <= bottom; row++) for (let col = left; col <= right; col++) places.push([row, col]);
  return places;
}
