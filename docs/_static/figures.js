// Draws the Plotly figures of a page, with the library that lies beside this script.

const library = new URL("plotly.min.js", document.currentScript.src).href;

function draw(holder) {
  const { data, layout } = JSON.parse(holder.querySelector("script").textContent);
  const drawn = document.createElement("div");
  holder.append(drawn);
  const font = { ...layout.font, color: getComputedStyle(holder).color };
  Plotly.newPlot(drawn, data, { ...layout, font }, { displaylogo: false, responsive: true });
}

document.addEventListener("DOMContentLoaded", () => {
  const holders = [...document.querySelectorAll(".cell-figure")];
  if (!holders.length) return;
  const script = document.createElement("script");
  script.src = library;
  script.onload = () => holders.forEach(draw);
  document.head.append(script);
});
