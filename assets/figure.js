// A Plotly figure that the server made of a run, drawn by the Plotly that is installed with it.

import { css, el, isDark, onTheme } from "./dom.js";

const PLOTLY = new URL("viz/plotly.min.js", document.baseURI).href;
const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"], doubleClick: "reset" };

let loading = null;

// Plotly comes once, and only when the first figure is asked for.
function plotly() {
  loading ??= new Promise((done, failed) => {
    const script = el("script", { src: PLOTLY, onload: () => done(window.Plotly), onerror: () => failed(new Error("Plotly could not be loaded; is the server still running?")) });
    document.head.append(script);
  });
  loading.catch(() => { loading = null; });
  return loading;
}

export class Figure {
  constructor(label) {
    this.said = el("p", { class: "viz-caption", role: "status" });
    this.canvas = el("div", { class: "viz-figure-canvas", role: "img", "aria-label": label });
    this.node = el("div", { class: "viz-figure" }, this.said, this.canvas);
    onTheme(() => this.drawn && this.#draw());
  }

  // Fetch and draw; `path` is the part of the address after the run's key. The last call wins.
  async show(run, path) {
    const asked = `${run.key}:${path}`;
    if (this.asked === asked) return;
    this.asked = asked;
    this.said.textContent = "Computing …";
    try {
      const [figure, library] = await Promise.all([run.figure(path), plotly()]);
      if (this.asked !== asked) return;
      this.drawn = { figure, library };
      await this.#draw();
      this.said.textContent = "";
      this.node.dataset.painted = asked;
    } catch (fault) {
      if (this.asked !== asked) return;
      this.asked = null;
      this.said.textContent = fault.message;
    }
  }

  async #draw() {
    const { figure, library } = this.drawn;
    const ink = css("--body-text-color-subdued");
    const line = css("--border-color-primary");
    const axes = Object.fromEntries(Object.keys(figure.layout).filter((name) => /^[xy]axis/.test(name))
      .map((name) => [name, { ...figure.layout[name], gridcolor: line, zerolinecolor: line }]));
    const layout = { ...figure.layout, ...axes, font: { ...figure.layout.font, color: ink }, autosize: true };
    const data = isDark() ? figure.data.map(turned) : figure.data;
    await library.react(this.canvas, data, layout, CONFIG);
  }
}

// On a dark page a one-way color scale begins dark, as those of the canvases do.
function turned(trace) {
  const oneWay = trace.type === "heatmap" && trace.zmin === 0 && Array.isArray(trace.colorscale) && trace.showscale !== false;
  if (!oneWay) return trace;
  const stops = trace.colorscale.map(([at, color]) => [1 - at, color]).reverse();
  return { ...trace, colorscale: stops };
}
