// The words or the picture themselves, shaded by where the chosen query looks.

import { el, fit, css, number, count } from "./dom.js";
import { inkOn, largest, makeScale, rgbText, shade } from "./colors.js";

const MOST_WORDS = 600;
const MAX_PICTURE = 420;

export class Source {
  constructor(selection, say) {
    this.selection = selection;
    this.say = say;
    this.title = el("h3", {});
    this.body = el("div", { class: "viz-source-body" });
    this.node = el("section", { class: "viz-source", "aria-label": "Where one query looks" }, this.title, this.body);
    selection.on(() => this.run && this.load().catch((fault) => this.say(fault.message)));
    new ResizeObserver(() => this.run?.grid && this.row && this.draw()).observe(this.node);
  }

  async show(run) {
    this.run = run;
    this.image = null;
    const image = run.grid ? await picture(run.url("picture.png")) : null;
    if (this.run !== run) return;
    this.image = image;
    await this.load();
  }

  async load() {
    const { run, selection } = this;
    const asked = `${run.key}:${selection.name}:${selection.query}`;
    this.asked = asked;
    const { values } = await run.row(selection);
    if (this.asked !== asked) return;
    this.row = this.selection.hide ? values.map((value, at) => (run.special[at] ? NaN : value)) : values;
    this.draw();
    this.node.dataset.painted = asked;
  }

  draw() {
    const { run, selection } = this;
    this.scale = makeScale(selection.scale, largest(this.row));
    this.title.textContent = `Where query ${selection.query} “${run.tokens[selection.query]}” looks (${selection.name})`;
    if (run.grid) this.#drawPicture();
    else this.#drawWords();
  }

  #drawWords() {
    const { run, selection } = this;
    const start = Math.max(0, Math.min(selection.query - MOST_WORDS / 2, run.n - MOST_WORDS));
    const stop = Math.min(run.n, start + MOST_WORDS);
    const words = [];
    for (let at = start; at < stop; at++) {
      if (at && run.segments[at] !== run.segments[at - 1]) words.push(el("hr", {}));
      words.push(this.#chip(at));
    }
    const note = stop - start < run.n ? [el("p", { class: "viz-caption" }, `Tokens ${count(start)} to ${count(stop - 1)} of ${count(run.n)}.`)] : [];
    const shaded = el("p", { class: "viz-caption" }, `Shaded from 0 to ${number(this.scale.high)}${this.scale.name === "log" ? ", logarithmic" : this.scale.name === "head" ? ", the largest weight of this row" : ""}.`);
    this.body.replaceChildren(el("p", { class: "viz-words", dir: "auto" }, ...words), shaded, ...note);
  }

  #chip(at) {
    const { run, selection, row } = this;
    const value = row[at];
    const chip = el("button", {
      type: "button", tabindex: "-1", "data-token": at, class: "viz-word",
      "aria-pressed": String(at === selection.query),
      title: `key ${at} “${run.tokens[at]}”: ${this.#worth(at)}`,
      onclick: () => selection.set({ query: at }),
      onpointerenter: () => this.say(this.#sentence(at)),
    }, el("bdi", {}, run.tokens[at]));
    if (!(this.selection.hide && run.special[at])) {
      const color = shade(value, this.scale);
      chip.style.background = rgbText(color);
      chip.style.color = inkOn(color);
    }
    return chip;
  }

  #worth(at) {
    return this.selection.hide && this.run.special[at] ? "hidden" : number(this.row[at]);
  }

  #sentence(at) {
    const { run, selection } = this;
    return `${selection.name}  query ${selection.query} “${run.tokens[selection.query]}” → key ${at} “${run.tokens[at]}”: ${this.#worth(at)}`;
  }

  #drawPicture() {
    const { grid } = this.run;
    const prefix = el("p", { class: "viz-words" });
    for (let at = 0; at < grid.prefix; at++) prefix.append(this.#chip(at));
    this.canvas ??= el("canvas", {
      class: "viz-picture", tabindex: "0", role: "img",
      onclick: (event) => { const at = this.#patchAt(event); if (at !== null) this.selection.set({ query: at }); },
      onpointermove: (event) => { const at = this.#patchAt(event); if (at !== null) this.say(this.#sentence(at)); },
      onkeydown: (event) => this.#key(event),
    });
    if (this.canvas.parentNode !== this.body) this.body.replaceChildren(prefix, this.canvas);
    else this.body.firstChild.replaceWith(prefix);
    const room = Math.min(MAX_PICTURE, this.node.clientWidth - 4);
    this.patch = Math.max(4, Math.min(room / grid.cols, MAX_PICTURE / grid.rows));
    const [width, height] = [this.patch * grid.cols, this.patch * grid.rows];
    const context = fit(this.canvas, width, height);
    context.imageSmoothingEnabled = false;
    if (this.image) context.drawImage(this.image, 0, 0, width, height);
    this.#overlay(context);
    this.canvas.setAttribute("aria-label",
      `Picture of ${grid.rows} × ${grid.cols} patches. Arrow keys choose the query patch.`);
  }

  // The weights over the picture, the query's patch in one outline and the key's in another.
  #overlay(context) {
    const { grid } = this.run;
    const { query, key } = this.selection;
    const box = (at) => {
      const place = at - grid.prefix;
      return [(place % grid.cols) * this.patch, Math.floor(place / grid.cols) * this.patch, this.patch, this.patch];
    };
    for (let at = grid.prefix; at < this.run.n; at++) {
      const share = Math.min(1, Math.max(0, this.scale.share(this.row[at]))); // NaN: masked or hidden
      context.globalAlpha = Number.isNaN(share) ? 0.66 : 0.85 * Math.sqrt(share);
      context.fillStyle = rgbText(shade(this.row[at], this.scale));
      context.fillRect(...box(at));
    }
    context.globalAlpha = 1;
    const outline = (at, color, width) => {
      if (at < grid.prefix) return;
      context.strokeStyle = color;
      context.lineWidth = width;
      const [x, y, w, h] = box(at);
      context.strokeRect(x + width / 2, y + width / 2, w - width, h - width);
    };
    outline(key, css("--viz-mark-key", this.node), 2);
    outline(query, css("--viz-mark", this.node), 3);
  }

  #patchAt(event) {
    const { grid } = this.run;
    const box = this.canvas.getBoundingClientRect();
    const col = Math.floor((event.clientX - box.left) / this.patch);
    const row = Math.floor((event.clientY - box.top) / this.patch);
    const inside = col >= 0 && row >= 0 && col < grid.cols && row < grid.rows;
    return inside ? grid.prefix + row * grid.cols + col : null;
  }

  #key(event) {
    const { grid } = this.run;
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.cols, ArrowDown: grid.cols };
    if (!moves[event.key]) return;
    event.preventDefault();
    const next = this.selection.query + moves[event.key];
    this.selection.set({ query: Math.min(this.run.n - 1, Math.max(0, next)) });
  }
}

// The picture, or null where the run kept none: its patches are shown all the same.
async function picture(url) {
  const image = new Image();
  image.src = url;
  return image.decode().then(() => image, () => null);
}
