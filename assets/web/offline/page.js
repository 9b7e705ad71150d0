// An exported page: its atlas, its map, and what moves them. Comes after export_maps.js.

const [MIN_CELL, MAX_CELL, ROOM_LEFT, ROOM_TOP] = [2, 40, 130, 120];
const FONT = "12px system-ui, sans-serif";
let shown;

function drawAtlas() {
  const most = Math.max(...views.map((layer) => layer.length));
  at("atlas").style.gridTemplateColumns = `auto repeat(${most}, 46px)`;
  const cells = [el("span", {}, "")];
  for (let head = 0; head < most; head++) cells.push(el("span", {}, String(head)));
  views.forEach((layer, number) => {
    cells.push(el("span", {}, String(number)));
    for (let head = 0; head < most; head++) {
      if (head >= layer.length) {
        cells.push(el("span"));
        continue;
      }
      const button = el("button", {
        "aria-label": `Layer ${number}, head ${head}`,
        "data-name": `${number}.${head}`,
        tabindex: -1,
      });
      button.append(picture(layer[head], 64));
      button.addEventListener("click", () => show(layer[head]));
      cells.push(button);
    }
  });
  at("atlas").replaceChildren(...cells);
}

let place; // of the map on its canvas: pixels
function drawMap() {
  const canvas = at("map");
  const room = Math.max(200, at("frame").clientWidth - ROOM_LEFT - 10);
  const cell = Math.max(MIN_CELL, Math.min(MAX_CELL, Math.floor(room / Math.max(shown.rows, shown.cols))));
  place = { left: ROOM_LEFT, top: ROOM_TOP, cell };
  const [width, height] = [
    ROOM_LEFT + Math.max(240, shown.cols * cell + 60),
    ROOM_TOP + Math.max(150, shown.rows * cell + 4),
  ];
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.imageSmoothingEnabled = false;
  context.drawImage(shown.picture, ROOM_LEFT, ROOM_TOP, shown.cols * cell, shown.rows * cell);
  context.font = FONT;
  context.textBaseline = "middle";
  drawNames(context, cell);
  const row = shown === chosen && facts.chosen.query !== null ? Math.floor(facts.chosen.query / step(shown, 0)) : null;
  if (row !== null) frame(context, row, 0, shown.cols);
  if (pointed) frame(context, pointed[0], pointed[1], 1);
}

function drawNames(context, cell) {
  const every = Math.max(1, Math.ceil(13 / cell));
  const ink = (axis, i) =>
    !shown.names && step(shown, axis) === 1 && !(axis && shown.cross) && facts.special[i]
      ? css("--quiet")
      : css("--ink");
  context.textAlign = "right";
  for (let row = 0; row < shown.rows; row += every) {
    context.fillStyle = ink(0, row);
    context.fillText(label(shown, 0, row, true), ROOM_LEFT - 5, ROOM_TOP + (row + 0.5) * cell, ROOM_LEFT - 24);
  }
  context.textAlign = "left";
  for (let col = 0; col < shown.cols; col += every) {
    context.save();
    context.translate(ROOM_LEFT + (col + 0.5) * cell, ROOM_TOP - 5);
    context.rotate(-Math.PI / 3);
    context.fillStyle = ink(1, col);
    context.fillText(label(shown, 1, col, true), 0, 0, ROOM_TOP - 20);
    context.restore();
  }
  context.fillStyle = css("--quiet");
  context.fillText("Key (who is looked at) →", ROOM_LEFT, 8);
  context.save();
  context.translate(8, ROOM_TOP);
  context.rotate(-Math.PI / 2);
  context.textAlign = "right";
  context.fillText("← Query (who looks)", 0, 0);
  context.restore();
}

function frame(context, row, col, wide) {
  context.strokeStyle = css("--mark");
  context.lineWidth = 2;
  context.strokeRect(
    ROOM_LEFT + col * place.cell - 1,
    ROOM_TOP + row * place.cell - 1,
    wide * place.cell + 2,
    place.cell + 2,
  );
}

let pointed = null;
function point(event) {
  const box = at("map").getBoundingClientRect();
  const col = Math.floor((event.clientX - box.left - ROOM_LEFT) / place.cell);
  const row = Math.floor((event.clientY - box.top - ROOM_TOP) / place.cell);
  pointed = row >= 0 && col >= 0 && row < shown.rows && col < shown.cols ? [row, col] : null;
  if (pointed) at("readout").textContent = said(row, col);
  drawMap();
}

function said(row, col) {
  const value = shown.weight(row * shown.cols + col);
  const where = `query ${label(shown, 0, row)} → key ${label(shown, 1, col)}: `;
  if (value !== value) return `${where}masked, may not attend`;
  const near = shown.off ? ` ± ${digits(shown.off, 2)}` : "";
  const block = step(shown, 0) * step(shown, 1) > 1 ? ", the largest of the block" : "";
  return `${where}weight ${digits(value, shown.off ? 4 : 8)}${near}${block}`;
}

function kept() {
  const block =
    step(shown, 0) * step(shown, 1) > 1
      ? ` Each cell is the largest weight of up to ${step(shown, 0)} × ${step(shown, 1)}.`
      : "";
  if (!shown.off) return `Exact, float32.${block}${shown.note ? ` ${shown.note}` : ""}`;
  return (
    `Kept in 8 bits: ${facts.levels} steps from 0 to this map's largest weight, ${digits(shown.top, 4)}, ` +
    `so a weight is off by at most ${digits(shown.off, 2)}.${block}`
  );
}

function drawLegend() {
  const context = at("scale").getContext("2d");
  const color = ramp();
  for (let x = 0; x < 230; x++) {
    context.fillStyle = `rgb(${color(x / 229).join(" ")})`;
    context.fillRect(x, 0, 1, 12);
  }
  const log = facts.scale.name === "log";
  const [from, to] = [log ? `${LOG_FLOOR} and below` : "0", digits(high(shown), 4)];
  at("what").textContent =
    facts.scale.name === "row"
      ? "Attention weight ÷ the largest weight of its row"
      : "Attention weight, share of the query's total";
  at("up-to").textContent = facts.scale.says;
  at("ticks").textContent = `${from} … ${log ? `${Math.sqrt(LOG_FLOOR)} … ` : ""}${to}`;
  at("scale").setAttribute("aria-label", `Color scale from ${from} to ${to}`);
  let masked = false;
  for (let i = 0; i < shown.rows * shown.cols && !masked; i++) masked = Number.isNaN(shown.weight(i));
  at("blank").hidden = !masked;
}

function show(view) {
  if (shown) shown.picture = null;
  shown = view;
  pointed = null;
  view.picture = picture(view);
  const name = view.head === null ? view.name : `layer ${view.layer}, head ${view.head}`;
  at("name").textContent = name[0].toUpperCase() + name.slice(1);
  at("kept").textContent = kept();
  at("back").hidden = view === chosen;
  at("readout").textContent = "Point at a cell to read its weight.";
  at("map").setAttribute("aria-label", `Attention ${view.name}: rows are queries, columns are keys`);
  for (const button of at("atlas").querySelectorAll("button")) {
    const same = button.dataset.name === `${view.layer}.${view.head}`;
    button.setAttribute("aria-pressed", same);
    button.tabIndex = same || (view.head === null && button.dataset.name === "0.0") ? 0 : -1;
  }
  drawMap();
  drawLegend();
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
function move(event) {
  const by = MOVES[event.key];
  if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const layer = Math.min(views.length - 1, Math.max(0, shown.layer + by[0]));
  const head = shown.head === null ? 0 : shown.head + by[1];
  show(views[layer][Math.min(views[layer].length - 1, Math.max(0, head))]);
  at("atlas").querySelector('[aria-pressed="true"]').focus();
}

function tell() {
  for (const [name, value] of Object.entries(facts.facts)) {
    at("facts").append(el("div", {}, el("dt", {}, name), el("dd", {}, plain(value))));
  }
  at("colors").textContent = `Colors are ${facts.scale.says}.`;
  at("proof").textContent = facts.proof;
  at("proof").classList.toggle("passed", facts.passed);
  at("notes").append(...facts.notes.map((note) => el("li", {}, plain(note))));
  at("back").textContent = `Back to ${facts.chosen.name}, exact`;
  at("code").hidden = !facts.snippet;
  at("code").querySelector("pre").textContent = facts.snippet;
}

function redraw() {
  drawAtlas();
  show(shown);
}

async function start() {
  tell();
  addViews(new Uint8Array(await unpack("data-maps")), new Float32Array(await unpack("data-exact")));
  shown = chosen;
  redraw();
  at("back").addEventListener("click", () => show(chosen));
  at("map").addEventListener("pointermove", point);
  at("map").addEventListener("pointerdown", point);
  addEventListener("keydown", move);
  addEventListener("resize", drawMap);
  dark.addEventListener("change", redraw);
  document.body.dataset.painted = "yes";
}
start();
