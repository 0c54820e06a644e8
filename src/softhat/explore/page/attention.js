"use strict";
/* How softmax finds it: a square map for each head, one row opened, the residual stream. */

softhat.attention = (() => {
  const { pictures, words, answers, meaning } = softhat;
  const { byId, make, link, percent, inverseTemperature, certifiedTo } = softhat.parts;

  let cards = []; // cards[layer][head], made once for a model; only their maps are drawn again
  let shown = null; // what they show: {view, run, state}

  // Cards

  /** New cards for a model. `on` hears of cells that are pointed at and of maps to enlarge. */
  function cardsFor(view, on) {
    const layers = view.transformer.layers.map((layer, l) => ({ number: l, cards: layer.heads.map((head, h) => card(l, h, head, on)) }));
    cards = layers.map((layer) => layer.cards);
    byId("layers").replaceChildren(...layers.map((layer) => make("div", { className: "layer" },
      make("h3", { textContent: `layer ${layer.number}` }),
      layer.cards.length ? make("div", { className: "heads" }, ...layer.cards) : make("p", { className: "said", textContent: "no heads: only gates" }))).reverse());
    byId("head-choice").replaceChildren("layer.head", ...cards.flat().map((one) => {
      const button = make("button", { type: "button", textContent: `${one.layer}.${one.head}`, title: `${one.name}: ${one.label}`, ariaLabel: one.name });
      button.addEventListener("click", () => on.enlarge(one.key));
      button.dataset.key = one.key;
      return button;
    }));
    shown = null;
  }

  function card(l, h, head, on) {
    const name = `layer ${l}, head ${h}`;
    const canvas = make("canvas", { tabIndex: 0 });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `attention of ${name}: ${head.label}; arrow keys move`);
    const reading = make("p", { className: "reading" });
    reading.setAttribute("aria-live", "polite");
    const enlarge = make("button", { type: "button", className: "enlarge", textContent: "⤢ large", title: "this map as large as the column, or small again" });
    const article = make("article", { className: "card" },
      make("header", {}, make("span", { textContent: `${name} · ` }), make("span", { className: "name", textContent: head.label })), canvas, reading);
    Object.assign(article, { canvas, reading, enlarge, name, label: head.label, key: `${l}.${h}`, layer: l, head: h, grid: null });
    enlarge.addEventListener("click", () => on.enlarge(article.key));
    const tools = pictures.keep(name, () => pictures.mapSvg(`${name} · ${head.label}`, mapOf(article)));
    tools.prepend(enlarge);
    article.append(tools);
    link(article, head.nodes[0]);
    const point = (cell, open) => on.choose(cell && { layer: l, head: h, cell }, open);
    const under = (event) => {
      const found = article.grid && shown && pictures.cellUnder(canvas, article.grid, event);
      return found && positionsOf(found);
    };
    canvas.addEventListener("mousemove", (event) => point(under(event), false));
    canvas.addEventListener("mouseleave", () => point(null, false));
    canvas.addEventListener("click", (event) => point(under(event), true));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step || !shown) return;
      event.preventDefault();
      const here = chosenIn(article);
      const [r, c] = here ? placeOf(here) : [0, 0];
      const most = layoutOf(shown).rows.length - 1;
      const clamp = (k) => Math.max(0, Math.min(most, k));
      point(positionsOf([clamp(r + step[0]), clamp(c + step[1])]), true);
    });
    return article;
  }

  // What a map shows: all positions, or of a long word the last rows and groups of columns

  function layoutOf({ view, run }) {
    const { sinks } = view.transformer;
    const tokens = [...(sinks.includes("<bos>") ? ["<bos>"] : []), ...run.word.map(words.tokenText), ...(sinks.includes("<eos>") ? ["<eos>"] : [])];
    const size = tokens.length;
    const count = Math.min(size, answers.KEPT);
    const rows = Array.from({ length: count }, (_, k) => size - count + k);
    const edges = Array.from({ length: count + 1 }, (_, k) => Math.round((k * size) / count));
    const groups = rows.map((_, k) => ({ from: edges[k], to: edges[k + 1] }));
    return { tokens, size, rows, groups, first: sinks.includes("<bos>") ? 0 : 1 };
  }

  /** From a cell of the map to positions, and back. A group stands for its best-attended position. */
  function positionsOf([r, c]) {
    const { rows, groups } = layoutOf(shown);
    return { row: rows[r], from: groups[c].from, to: groups[c].to };
  }

  function placeOf({ row, from }) {
    const { rows, groups } = layoutOf(shown);
    return [rows.indexOf(row), groups.findIndex((group) => group.from <= from && from < group.to)];
  }

  function headsOf({ layer, head }) {
    const [soft, hard] = [shown.run.soft, shown.run.hard].map((run) => run.layers[layer].heads[head]);
    return { soft, hard };
  }

  /** The map of a head as data: names of rows and columns, and a value for each cell. */
  function mapOf(article) {
    const { tokens, size, rows, groups, first } = layoutOf(shown);
    const { soft, hard } = headsOf(article);
    const grouped = size > rows.length;
    const value = (row, column) => {
      const [a, b] = [answers.weightsOf(soft, row, size)[column], answers.weightsOf(hard, row, size)[column]];
      return { soft: a, hard: b, difference: a - b }[shown.state.view];
    };
    const strongest = (row, { from, to }, of) => {
      let best = null;
      for (let c = from; c < to; c++) {
        if (answers.scoresOf(soft, row, size)[c] === -Infinity) continue;
        const here = of(row, c);
        if (best === null || Math.abs(here) > Math.abs(best)) best = here;
      }
      return best;
    };
    const hardWeight = (row, column) => answers.weightsOf(hard, row, size)[column];
    const name = (at) => (grouped && !isMarker(tokens[at]) ? String(at + first) : tokens[at]);
    const place = (at) => (grouped || isMarker(tokens[at]) ? "" : String(at + first));
    return {
      rowNames: rows.map(name),
      columnNames: groups.map(({ from }) => name(from)),
      places: rows.map(place),
      cells: (r, c) => strongest(rows[r], groups[c], value),
      marked: shown.view.formula ? null : (r, c) => strongest(rows[r], groups[c], hardWeight) > 0,
    };
  }

  const chosenIn = (article) => {
    const { chosen } = shown.state;
    return chosen && chosen.layer === article.layer && chosen.head === article.head ? chosen.cell : null;
  };

  function drawCard(article) {
    const chosen = chosenIn(article);
    article.grid = pictures.map(article.canvas, { ...mapOf(article), chosen: chosen && placeOf(chosen) });
    article.canvas.dataset.cells = article.grid.count;
    article.canvas.dataset.edge = article.grid.edge;
    article.reading.textContent = chosen ? cellSaid(article, chosen) : headSaid(article);
  }

  // Drawing

  function draw(next) {
    shown = next;
    const enlarged = cards.flat().find((one) => one.key === next.state.enlarged) ?? (next.state.projector ? cards.flat().at(-1) : null);
    for (const one of cards.flat()) {
      one.classList.toggle("enlarged", one === enlarged);
      one.enlarge.textContent = one === enlarged ? "⤡ small" : "⤢ large";
    }
    for (const button of byId("head-choice").children) button.setAttribute("aria-pressed", String(button.dataset.key === enlarged?.key));
    makeRoom();
    redraw();
    openRow();
    markers();
    legend();
    if (byId("stream").open) residual();
  }

  const AROUND = 56; // pixels by which a card is higher than wide, on a projector
  const LEAST = 440; // pixels of a card, however low the screen is
  /** On a projector a map is as large as the screen lets it be below what stands above it. */
  function makeRoom() {
    if (!shown?.state.projector) return;
    const above = byId("layers").getBoundingClientRect().top + window.scrollY;
    byId("layers").style.setProperty("--room", `${Math.max(LEAST, window.innerHeight - above - AROUND)}px`);
  }

  /** The maps again, at the size that they now have. */
  function redraw() {
    if (shown) for (const one of cards.flat()) if (one.canvas.clientWidth) drawCard(one);
  }

  /** Another cell is pointed at: only the maps that show it change. */
  function point(before) {
    if (!shown) return;
    const keys = [before, shown.state.chosen].filter(Boolean).map(({ layer, head }) => `${layer}.${head}`);
    for (const one of cards.flat()) if (keys.includes(one.key)) drawCard(one);
    openRow();
  }

  // Sentences

  const isMarker = (token) => token === "<bos>" || token === "<eos>";

  const placeSaid = ({ tokens, first }, at) => (isMarker(tokens[at]) ? tokens[at] : `${tokens[at]} at ${at + first}`);

  /** In a group of positions, the one that gets most of a row's attention. */
  function bestIn(soft, { row, from, to }, size) {
    const weights = answers.weightsOf(soft, row, size);
    let best = from;
    for (let c = from; c < to; c++) if (weights[c] > weights[best]) best = c;
    return best;
  }

  function cellSaid(article, cell) {
    const layout = layoutOf(shown);
    const { soft, hard } = headsOf(article);
    const column = bestIn(soft, cell, layout.size);
    const [from, to] = [cell.row, column].map((at) => placeSaid(layout, at));
    const score = answers.scoresOf(soft, cell.row, layout.size)[column];
    if (score === -Infinity) return `${from} cannot see ${to}`;
    const [weight, exact] = [soft, hard].map((one) => answers.weightsOf(one, cell.row, layout.size)[column]);
    const group = cell.to - cell.from > 1 ? ` (the most of positions ${cell.from + layout.first} to ${cell.to - 1 + layout.first})` : "";
    return `${from} gives ${to} ${percent(weight)} (hard: ${percent(exact)}), score ${score.toPrecision(5)}${group}`;
  }

  /** The largest leak on the screen, and what is proved of it: only where the proof speaks of it. */
  function headSaid(article) {
    const { view, run } = shown;
    const { soft, hard } = headsOf(article);
    const { tokens, size, rows } = layoutOf(shown);
    const kinds = { uniform: 0, tieless: 0, tied: 0, empty: 0 };
    let worst = 0;
    for (const row of rows.filter((at) => !isMarker(tokens[at]))) { // proofs speak of the word's rows
      worst = Math.max(worst, answers.leakOf(soft, hard, row, size));
      kinds[answers.rowKind(soft, row, size).kind]++;
    }
    const counted = ["uniform", "tieless", "tied"].filter((kind) => kinds[kind]).map((kind) => `${kinds[kind]} ${kind}`);
    const typed = view.formula ? "" : ` Rows: ${counted.join(", ")}.`;
    const leak = `largest leak here ${percent(worst)}`;
    const bound = view.transformer.layers[article.layer].heads[article.head].leak;
    if (bound === null) return `${leak}.${typed}`;
    const proved = bound === 0 ? "proved 0" : `proved ≤ ${percent(bound)}`;
    if (run.factor < 1) return `${leak} at ${inverseTemperature(view, run.factor)}; ${proved} at ${inverseTemperature(view, 1)}.${typed}`;
    const certified = certifiedTo(view, run.dtype) ?? 0;
    if (run.word.length > certified) return `${leak}; ${proved} in exact arithmetic, in ${run.dtype} only ${pictures.lengthText(certified)}.${typed}`;
    return `${leak}, ${proved}.${typed}`;
  }

  /** One row opened: scores, gaps, weights as bars, the leak, and who wins. */
  function openRow() {
    const { view, state } = shown;
    const part = byId("row");
    part.replaceChildren();
    if (!state.chosen?.open) return;
    const { layer, head, cell: { row } } = state.chosen;
    const layout = layoutOf(shown);
    const { size } = layout;
    const { soft, hard } = headsOf(state.chosen);
    const [scores, weights, exact] = [answers.scoresOf(soft, row, size), answers.weightsOf(soft, row, size), answers.weightsOf(hard, row, size)];
    const visible = Array.from({ length: size }, (_, c) => c).filter((c) => scores[c] > -Infinity);
    const winners = visible.filter((c) => exact[c] > 0);
    const top = Math.max(...visible.map((c) => scores[c]));
    const { kind, gap } = answers.rowKind(soft, row, size);
    const named = winners.slice(0, 4).map((c) => placeSaid(layout, c)).join(", ") + (winners.length > 4 ? " …" : "");
    const why = kind === "uniform" ? "all scores are equal, so this is an average"
      : `${winners.length > 1 ? "they have" : "it has"} the largest score, ${gap.toPrecision(4)} above the next`;
    part.append(make("h3", { textContent: `row of ${placeSaid(layout, row)} in layer ${layer}, head ${head}` }),
      make("p", { className: "said", textContent: `${named || "nothing"} ${winners.length > 1 ? "win" : "wins"}: ${why}. Leak ${percent(answers.leakOf(soft, hard, row, size))}.` }));
    const most = visible.length > 40 ? visible.toSorted((a, b) => weights[b] - weights[a]).slice(0, 40).toSorted((a, b) => a - b) : visible;
    part.append(make("div", { className: "bars" }, ...most.map((c) => {
      const bar = make("i");
      bar.style.width = `${100 * Math.sqrt(weights[c])}%`;
      link(bar, view.transformer.layers[layer].heads[head].nodes[0]);
      return make("div", { className: "bar" }, make("span", { textContent: placeSaid(layout, c) }), make("span", {}, bar),
        make("span", { textContent: `${percent(weights[c])} · gap ${(top - scores[c]).toPrecision(3)}` }));
    })));
  }

  function markers() {
    const { sinks } = shown.view.transformer;
    const said = { "<bos>": "⊢ is <bos>, a marker before the word", "<eos>": "⊣ is <eos>, a marker after it" };
    const { size, rows, groups, first } = layoutOf(shown);
    const grouped = size > rows.length ? [`of ${size - sinks.length} positions the last ${rows.length} rows; a column shows the largest share among ${groups[0].to - groups[0].from} positions; numbers are positions${first ? "" : ", and ⊢ is 0"}`] : [];
    byId("markers").textContent = [...sinks.map((sink) => said[sink]), ...grouped].join("; ");
  }

  let legendInk = "";
  function legend() {
    const ink = pictures.css("--ink-rgb");
    if (legendInk === ink) return;
    legendInk = ink;
    const canvas = make("canvas", { width: 120, height: 12 });
    const pen = canvas.getContext("2d");
    for (let x = 0; x < 120; x++) {
      pen.fillStyle = pictures.fill((x / 119) ** 2);
      pen.fillRect(x, 0, 1, 12);
    }
    byId("legend").replaceChildren("0 %", canvas, "100 %, by square roots: small leaks are seen");
  }

  function residual() {
    const { view, run } = shown;
    const { d_model: d, coordinates } = view.transformer;
    const stream = run.soft.residual.at(-1);
    const offset = view.transformer.sinks.includes("<bos>") ? 1 : 0;
    byId("residual").replaceChildren(...coordinates.map((coordinate, c) => {
      const row = make("tr", {}, make("th", { textContent: coordinate.label, title: coordinate.label }));
      link(row, coordinate.node);
      for (const at of meaning.shown(run.word.length)) {
        const cell = make("td", { textContent: Number(stream[(at + offset) * d + c].toPrecision(3)).toString() });
        cell.dataset.column = at;
        row.append(cell);
      }
      return row;
    }));
  }

  return { cardsFor, draw, redraw, point };
})();
