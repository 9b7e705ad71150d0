// Mouse, touch and keys on the big map: hover, choose, zoom, drag, pinch and arrows.

const DRAG = 4; // pixels that tell a drag from a click
const TWICE = 500; // milliseconds between the halves of a double click

export class Gestures {
  #points = new Map();

  constructor(map) {
    this.map = map;
    const { canvas } = map;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#points.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => map.hover(null));
    canvas.addEventListener("dblclick", (event) => {
      if (!event.shiftKey) this.#fit();
    });
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #at(event) {
    const box = this.map.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #down(event) {
    if (!this.map.run) return;
    this.map.canvas.setPointerCapture(event.pointerId);
    this.#points.set(event.pointerId, this.#at(event));
    this.start = this.#at(event);
    this.dragged = false;
    this.corner = event.shiftKey ? this.map.place(...this.start) : null;
  }

  #move(event) {
    const { map } = this;
    if (!map.run) return;
    const to = this.#at(event);
    const from = this.#points.get(event.pointerId);
    if (!from) return map.hover(map.place(...to));
    if (this.#points.size === 2) this.#pinch(event.pointerId, to);
    else if (this.dragged || Math.hypot(to[0] - this.start[0], to[1] - this.start[1]) > DRAG) {
      this.dragged = true;
      if (this.corner) return this.#mark(to);
      const cell = map.side / map.view.span;
      map.view.pan((from[1] - to[1]) / cell, (from[0] - to[0]) / cell);
      map.moved();
    }
    this.#points.set(event.pointerId, to);
  }

  #mark(to) {
    const { map } = this;
    const inside = [
      [to[0], map.left],
      [to[1], map.top],
    ].map(([at, start]) => Math.min(start + map.side - 1, Math.max(start, at)));
    const end = map.place(...inside);
    if (end) map.mark(this.corner, end);
  }

  #pinch(id, to) {
    const { map } = this;
    const other = [...this.#points].find(([key]) => key !== id)[1];
    const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    const middle = map.place((to[0] + other[0]) / 2, (to[1] + other[1]) / 2);
    if (middle) map.view.zoom(apart(this.#points.get(id), other) / apart(to, other), ...middle);
    this.dragged = true;
    map.moved();
  }

  #up(event) {
    const { map } = this;
    const place = map.run && map.place(...this.#at(event));
    if (place && !this.dragged && this.#points.has(event.pointerId)) {
      if (!(event.timeStamp - this.chose < TWICE)) this.before = { query: map.selection.query, key: map.selection.key };
      this.chose = event.timeStamp;
      map.choose(place);
    }
    this.#points.delete(event.pointerId);
  }

  // A double click is not meant to choose: what was chosen before its first half comes back.
  #fit() {
    const { map } = this;
    if (this.before) map.selection.set(this.before);
    map.view.fit();
    map.moved();
  }

  // The wheel zooms where the map has the focus, or with Ctrl (a touchpad's pinch); else it scrolls.
  #wheel(event) {
    const { map } = this;
    if (!map.run || !(event.ctrlKey || event.metaKey || document.activeElement === map.canvas)) return;
    const place = map.place(...this.#at(event));
    if (!place) return;
    event.preventDefault();
    map.view.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), ...place);
    map.moved();
  }

  #key(event) {
    const { map } = this;
    if (!map.run || event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = map;
    const marking = event.shiftKey && event.key.startsWith("Arrow");
    const [row, col] = (marking && map.sight.end) || map.chosen.map((place) => Math.max(0, place));
    const last = view.n - 1;
    const page = Math.max(1, Math.floor(view.span / 2));
    const moves = {
      ArrowUp: [row - 1, col],
      ArrowDown: [row + 1, col],
      ArrowLeft: [row, col - 1],
      ArrowRight: [row, col + 1],
      Home: [row, 0],
      End: [row, last],
      PageUp: [row - page, col],
      PageDown: [row + page, col],
    };
    const zooms = { "+": 0.5, "=": 0.5, "-": 2 };
    if (moves[event.key]) {
      const next = moves[event.key].map((at) => Math.min(last, Math.max(0, at)));
      if (marking) map.mark(map.sight.anchor ?? [row, col], next);
      else map.choose(next);
    } else if (event.key === "Escape" && map.sight.marked) {
      map.unmark();
    } else if (zooms[event.key]) {
      view.zoom(zooms[event.key], row + 0.5, col + 0.5);
      map.moved();
    } else if (event.key === "0" || event.key === "Escape") {
      view.fit();
      map.moved();
    } else return;
    event.preventDefault();
  }
}
