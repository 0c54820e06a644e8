"use strict";
/* The space-time picture of a machine's run: rows are steps, columns are cells, and the step that
   is chosen has an arrow to the one that wrote what it reads. */
(() => {
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B58900", "#56B4E9", "#7A5195", "#8A5A00"];
  const READABLE = 16; // pixels of a cell that has room for its symbol
  const FEW = 24; // rows of a run that is seen whole: its cells are larger
  const byId = (name) => document.getElementById(name);
  const all = JSON.parse(byId("tape-data").textContent);
  let run = null; // the run that is shown
  let chosen = 0; // the row that is chosen
  let drawn = []; // for each band its canvas and the size of its cells

  const isNumeric = (band) => band.name === "counters";

  /** The colour of a symbol: nothing for the blank, an amount for a counter. */
  function colourOf(band, symbol, largest) {
    if (isNumeric(band)) {
      const share = Math.log1p(Number(symbol)) / Math.log1p(largest || 1);
      return `rgba(0, 114, 178, ${0.85 * share})`;
    }
    const at = run.symbols.indexOf(symbol);
    return at < 0 ? null : COLOURS[at % COLOURS.length];
  }

  function show(which) {
    run = all.runs[which];
    for (const band of run.bands) band.rows = band.rows.map((row) => [...row]);
    const present = new Set(run.bands.flatMap((band) => (isNumeric(band) ? [] : band.rows.flat())));
    run.symbols = [...present].filter((symbol) => symbol !== run.blank).sort();
    chosen = Math.min(chosen, run.tokens.length);
    byId("title").textContent = `${run.name}: ${run.title}`;
    byId("bands").replaceChildren();
    drawn = run.bands.map((band) => {
      const figure = document.createElement("figure");
      const name = document.createElement("h2");
      const canvas = document.createElement("canvas");
      const size = sizeOf(band);
      if (isNumeric(band)) name.append(column("", stepsWidth(size.high)), ...band.cells.map((counter) => column(counter, size.wide)));
      else name.textContent = band.name;
      canvas.width = band.cells.length * size.wide;
      canvas.height = band.rows.length * size.high;
      canvas.addEventListener("click", (event) => {
        const box = canvas.getBoundingClientRect();
        const row = Math.floor(((event.clientY - box.top) * canvas.height) / box.height / size.high);
        const cell = Math.floor(((event.clientX - box.left) * canvas.width) / box.width / size.wide);
        choose(row, cell);
      });
      const rows = document.createElement("div");
      rows.className = "rows";
      rows.append(...(band === run.bands[0] ? [stepsBeside(size.high)] : []), canvas);
      figure.append(name, rows);
      byId("bands").append(figure);
      return { band, canvas, size };
    });
    byId("symbols").replaceChildren(...(isNumeric(run.bands[0])
      ? [`counters: the fuller, the larger, from 0 to ${most(run.bands[0]).toLocaleString("en")} (logarithmic)`]
      : ["symbols:", ...[...run.symbols, run.blank].map(keyOf)]));
    choose(chosen, null);
    reveal();
  }

  const STEP_ROW = 14; // pixels of a row that has room for its step
  const LETTER = 7.3; // pixels of a letter of a step
  const LONGEST_STEP = 24; // letters

  /** The steps beside their rows: a number each, and what is written. Where rows are low only numbers,
      and not all of them. */
  function stepTexts(high) {
    const rows = run.bands[0].rows.length;
    const every = Math.ceil(STEP_ROW / high);
    const cellular = run.kind === "cellular";
    return Array.from({ length: Math.ceil(rows / every) }, (_, k) => {
      const row = k * every;
      const number = cellular ? `${row}` : `${row + 1}`;
      if (every > 1 || cellular) return { row, every, text: number };
      return { row, every, text: row < run.tokens.length ? `${number} ${run.tokens[row]}`.slice(0, LONGEST_STEP) : "end" };
    });
  }

  function stepsBeside(high) {
    const list = document.createElement("div");
    list.className = "steps";
    list.style.width = `${stepsWidth(high)}px`;
    list.append(...stepTexts(high).map(({ row, every, text }) => {
      const step = document.createElement("button");
      Object.assign(step, { type: "button", tabIndex: -1, textContent: text }); // the arrow keys choose steps
      step.style.top = `${row * high}px`;
      step.style.height = step.style.lineHeight = `${every * high}px`;
      step.addEventListener("click", () => choose(row, null));
      return step;
    }));
    return list;
  }

  const stepsWidth = (high) => (1 + Math.max(...stepTexts(high).map(({ text }) => text.length))) * LETTER;

  /** Pixels of a cell: as large as the screen's width allows, and no larger than is pleasant. */
  function sizeOf(band) {
    const pleasant = band.rows.length <= FEW ? 28 : 18;
    const high = Math.max(3, Math.min(pleasant, Math.floor(2400 / band.rows.length)));
    const beside = band === run.bands[0] ? stepsWidth(high) : 0;
    const room = Math.min(900, byId("bands").clientWidth - 10 - beside) / band.cells.length;
    if (isNumeric(band)) return { wide: Math.max(24, Math.min(64, Math.floor(room))), high: Math.max(high, 4) };
    return { wide: Math.max(3, Math.min(pleasant, Math.floor(room))), high };
  }

  const most = (band) => band.rows.reduce((top, row) => Math.max(top, ...row.map(Number)), 0);

  /** A counter's name above its column. */
  function column(counter, wide) {
    const place = document.createElement("span");
    place.textContent = place.title = counter;
    place.style.width = `${wide}px`;
    return place;
  }

  function keyOf(symbol) {
    const key = document.createElement("span");
    key.className = "key";
    key.textContent = symbol;
    const colour = colourOf(run.bands[0], symbol);
    if (colour) [key.style.background, key.style.color] = [colour, "#fff"];
    return key;
  }

  /** Scroll each picture so that the chosen row and its head are seen. */
  function reveal() {
    for (const { band, canvas, size } of drawn) {
      const box = canvas.closest("figure");
      const [x, y] = [canvas.offsetLeft - box.offsetLeft, canvas.offsetTop - box.offsetTop];
      const top = y + chosen * size.high;
      if (top < box.scrollTop + y) box.scrollTop = top - y;
      else if (top + 2 * size.high > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * size.high - box.clientHeight;
      const head = band.heads[chosen];
      if (head === null) continue;
      const left = x + head * size.wide;
      if (left < box.scrollLeft || left + size.wide > box.scrollLeft + box.clientWidth) box.scrollLeft = left - box.clientWidth / 2;
    }
  }

  function choose(row, cell) {
    chosen = Math.max(0, Math.min(row, run.bands[0].rows.length - 1));
    for (const part of drawn) draw(part, cell);
    byId("said").textContent = sentence(cell);
    byId("bands").dataset.chosen = String(chosen);
  }

  function sentence(cell) {
    if (run.kind === "cellular") {
      if (chosen === 0) return "row 0: the prompt";
      const where = cell === null ? "" : `; cell ${cell} follows cells ${neighbours(cell).join(", ")} of row ${chosen - 1}`;
      return `row ${chosen}${where}`;
    }
    if (chosen >= run.tokens.length) return `after step ${chosen}: ${run.title}`;
    const reads = run.bands.filter((band) => band.heads[chosen] !== null).map((band) => {
      const at = band.heads[chosen];
      const by = band.wrote[chosen];
      const how = isNumeric(band) ? "changed" : "written";
      const who = by === null ? `never ${how}` : by === 0 ? `${how} by the prompt` : `${how} by step ${by}`;
      const place = isNumeric(band) ? "counter" : `${band.name}, cell`;
      return `${place} ${band.cells[at]} holds ${band.rows[chosen][at]}, ${who}`;
    });
    return `step ${chosen + 1} writes ${run.tokens[chosen]}: ${reads.join("; ")}`;
  }

  const neighbours = (cell) => {
    const w = run.bands[0].cells.length;
    return [(cell + w - 1) % w, cell, (cell + 1) % w];
  };

  function draw({ band, canvas, size }, cell) {
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const { wide, high } = size;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const largest = isNumeric(band) ? most(band) : 0;
    band.rows.forEach((row, t) => row.forEach((symbol, c) => {
      const colour = colourOf(band, symbol, largest);
      if (!colour) return;
      pen.fillStyle = colour;
      pen.fillRect(c * wide, t * high, wide, high);
    }));
    if (!isNumeric(band) && Math.min(wide, high) >= READABLE) letters(pen, band, size);
    pen.strokeStyle = pen.fillStyle = style.getPropertyValue("--head");
    pen.lineWidth = 1;
    band.heads.forEach((c, t) => {
      if (c === null) return;
      if (high >= 8) pen.strokeRect(c * wide + 0.5, t * high + 0.5, wide - 1, high - 1);
      else pen.fillRect((c + 0.5) * wide - 1, t * high, 2, high); // rows too low for a frame
    });
    pen.strokeStyle = "#E69F00";
    pen.lineWidth = 2;
    pen.strokeRect(1, Math.max(1, chosen * high), canvas.width - 2, high);
    const head = band.heads[chosen];
    if (run.kind === "cellular") {
      if (cell !== null && chosen > 0) for (const c of neighbours(cell)) arrow(pen, cell, chosen, c, chosen - 1, size);
    } else if (head !== null && band.wrote[chosen] !== null) {
      arrow(pen, head, chosen, head, Math.max(band.wrote[chosen] - 1, 0), size);
    }
  }

  /** Symbols as text, where they are new and where the machine reads. */
  function letters(pen, band, { wide, high }) {
    pen.font = `${Math.round(0.65 * Math.min(wide, high))}px ui-monospace, Menlo, Consolas, monospace`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = "#fff";
    band.rows.forEach((row, t) => row.forEach((symbol, c) => {
      const isNew = t === 0 || band.rows[t - 1][c] !== symbol;
      if (colourOf(band, symbol) && [...symbol].length <= 2 && (isNew || band.heads[t] === c)) pen.fillText(symbol, (c + 0.5) * wide, (t + 0.5) * high, wide - 2);
    }));
  }

  /** From a cell of one row to a cell of another, in front of everything. */
  function arrow(pen, fromCell, fromRow, toCell, toRow, { wide, high }) {
    const [x0, y0] = [(fromCell + 0.5) * wide, (fromRow + 0.5) * high];
    const [x1, y1] = [(toCell + 0.5) * wide, (toRow + 0.5) * high];
    const bend = fromCell === toCell ? Math.min(24, Math.abs(y1 - y0) / 3) : 0;
    const [turnX, turnY] = [(x0 + x1) / 2 + bend * (x0 + bend > pen.canvas.width ? -1 : 1), (y0 + y1) / 2];
    const along = Math.atan2(y1 - turnY, x1 - turnX);
    const barb = (side) => [x1 - 8 * Math.cos(along + side), y1 - 8 * Math.sin(along + side)];
    for (const [colour, thickness] of [["#000", 5], ["#FFC20A", 2]]) { // a dark rim: seen on every colour
      pen.strokeStyle = colour;
      pen.lineWidth = thickness;
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.quadraticCurveTo(turnX, turnY, x1, y1);
      pen.moveTo(...barb(0.5));
      pen.lineTo(x1, y1);
      pen.lineTo(...barb(-0.5));
      pen.stroke();
    }
  }

  byId("about").textContent = all.about;
  byId("home").hidden = !all.home;
  if (all.home) byId("home").href = all.home;
  byId("choice").hidden = all.runs.length < 2;
  all.runs.forEach((each, at) => byId("which").append(new Option(each.name, String(at))));
  byId("which").addEventListener("change", (event) => {
    chosen = 0;
    show(Number(event.target.value));
    history.replaceState(null, "", `#${encodeURIComponent(run.name)}`);
  });
  byId("bands").addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(chosen + by, null);
    reveal();
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    show(all.runs.indexOf(run));
  });
  /** The machine that the address names, or the first one. */
  function start() {
    const named = all.runs.findIndex((each) => `#${encodeURIComponent(each.name)}` === location.hash);
    byId("which").value = String(Math.max(0, named));
    show(Math.max(0, named));
  }
  window.addEventListener("hashchange", start);
  start();
})();
