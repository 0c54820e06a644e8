"use strict";
/* What is on the screen: meaning, attention, proof. Each view draws from the state and the run. */

softhat.views = (() => {
  const { pictures } = softhat;
  const $ = (id) => document.getElementById(id);
  const make = (tag, properties = {}, ...children) => {
    const made = document.createElement(tag);
    Object.assign(made, properties);
    made.append(...children);
    return made;
  };
  const WIDE = 48;
  const MAP_ROWS = 64;

  /** Positions (0-based) that tables show: all, or the last ones of a long word. */
  const shown = (n) => Array.from({ length: Math.min(n, WIDE) }, (_, k) => k + Math.max(0, n - WIDE));

  const tokenText = (token) => (token instanceof Set ? `{${[...token].join(",")}}` : token);

  function link(target, node) {
    if (node === null || node === undefined) return;
    target.dataset.node = node;
    target.style.setProperty("--own", pictures.colourOf(node));
  }

  // Meaning

  function formulaText(view) {
    const place = $("formula-text");
    place.replaceChildren();
    if (!view.formula) {
      place.textContent = view.title;
      return;
    }
    const root = view.formula.nodes[view.root];
    const spans = view.formula.nodes.flatMap((node, at) => (view.spans[at] ?? []).map(([start, end]) => ({ start, end, at })));
    spans.sort((a, b) => a.start - b.start || b.end - a.end);
    const characters = [...root.text];
    const open = (start, end, from) => {
      const parts = [];
      let cursor = start;
      let k = from;
      while (k < spans.length && spans[k].start < end) {
        const span = spans[k];
        if (span.start < cursor || span.end > end) {
          k++;
          continue;
        }
        parts.push(characters.slice(cursor, span.start).join(""));
        const inner = make("span", {}, ...open(span.start, span.end, k + 1));
        inner.style.borderBottomColor = pictures.colourOf(span.at);
        inner.dataset.node = span.at;
        parts.push(inner);
        cursor = span.end;
        k++;
      }
      parts.push(characters.slice(cursor, end).join(""));
      return parts;
    };
    place.append(...open(0, characters.length, 0));
  }

  function meaning(view, word, run) {
    formulaText(view);
    const columns = shown(word.length);
    const head = make("tr", {}, make("th", { textContent: word.length > WIDE ? `the last ${WIDE} of ${word.length}` : "" }));
    for (const at of columns) {
      const cell = make("td", { className: "symbol", textContent: pictures.short(tokenText(word[at])), title: `position ${at + 1}` });
      cell.dataset.column = at;
      head.append(cell);
    }
    const rows = [head];
    for (const { at, depth } of view.tree) {
      const node = view.formula.nodes[at];
      const name = make("th", { textContent: `${"  ".repeat(depth)}${node.text}`, title: node.text });
      name.className = "part";
      const line = make("tr", {}, name);
      link(line, at);
      for (const column of columns) {
        const on = run.truth[at][column];
        const cell = make("td", { className: on ? "bit on" : "bit", title: `${node.text} is ${on ? "true" : "false"} at ${column + 1}` });
        cell.append(make("span", { className: "hidden-name", textContent: on ? "true" : "false" }));
        cell.dataset.column = column;
        line.append(cell);
      }
      rows.push(line);
    }
    if (view.decoder) {
      const line = make("tr", {}, make("th", { textContent: "value" }));
      for (const column of columns) {
        const [value, meant] = [run.decoded[column], run.meant[column]].map(valueText);
        const cell = make("td", { className: run.wrong[column] ? "value wrong" : "value", textContent: value, title: `${value} at ${column + 1}; hard attention: ${meant}` });
        cell.dataset.column = column;
        line.append(cell);
      }
      rows.push(line);
    } else if (!view.formula) {
      const line = make("tr", {}, make("th", { textContent: "value > 0" }));
      for (const column of columns) {
        const on = run.expected[column];
        const cell = make("td", { className: on ? "bit on" : "bit", title: `value ${run.values[column].toPrecision(5)} at ${column + 1}` });
        cell.dataset.column = column;
        line.append(cell);
      }
      rows.push(line);
    }
    $("truth").replaceChildren(...rows);
    $("facts").textContent = view.facts;
  }

  const valueText = (value) => (value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(5))) : value);

  // Attention

  /** Cards are made once for a model; afterwards only their canvases are drawn again. */
  function attentionCards(view, choose) {
    const layers = view.transformer.layers.map((layer, l) => {
      const cards = layer.heads.map((head, h) => {
        const title = `layer ${l}, head ${h}`;
        const canvas = make("canvas", { tabIndex: 0 });
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `attention of ${title}: ${head.label}; arrow keys move`);
        const reading = make("p", { className: "reading" });
        reading.setAttribute("aria-live", "polite");
        const card = make("article", { className: "card" },
          make("header", {}, make("span", { textContent: `${title} · ` }), make("span", { className: "name", textContent: head.label })), canvas, reading,
          pictures.keep(title, () => card.picture()));
        link(card, head.nodes[0]);
        const cellAt = (event) => {
          const box = canvas.getBoundingClientRect();
          const g = card.grid;
          const scale = g.width / box.width;
          const c = Math.floor(((event.clientX - box.left) * scale - g.edge) / g.cell);
          const r = Math.floor(((event.clientY - box.top) * scale) / g.cell);
          const row = card.rows[r];
          return row === undefined || c < 0 || c >= card.tokens ? null : [row, c];
        };
        canvas.addEventListener("mousemove", (event) => choose({ layer: l, head: h, cell: cellAt(event) }, false));
        canvas.addEventListener("click", (event) => choose({ layer: l, head: h, cell: cellAt(event) }, true));
        canvas.addEventListener("keydown", (event) => {
          const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
          if (!move) return;
          event.preventDefault();
          const [row, column] = card.chosen ?? [card.rows[0], 0];
          const r = Math.max(0, Math.min(card.rows.length - 1, card.rows.indexOf(row) + move[0]));
          choose({ layer: l, head: h, cell: [card.rows[r], Math.max(0, Math.min(card.tokens - 1, column + move[1]))] }, true);
        });
        return card;
      });
      const heads = cards.length ? make("div", { className: "heads" }, ...cards) : make("p", { className: "said", textContent: "no heads: only gates" });
      return { cards, part: make("div", {}, make("h3", { textContent: `layer ${l}` }), heads) };
    });
    $("layers").replaceChildren(...layers.map((layer) => layer.part).reverse());
    return layers.map((layer) => layer.cards);
  }

  const tokensOf = (view, word) => [
    ...(view.transformer.sinks.includes("<bos>") ? ["<bos>"] : []),
    ...word.map(tokenText),
    ...(view.transformer.sinks.includes("<eos>") ? ["<eos>"] : []),
  ];

  function attention(view, cards, word, run, state) {
    const tokens = tokensOf(view, word);
    const rows = Array.from({ length: Math.min(tokens.length, MAP_ROWS) }, (_, k) => k + Math.max(0, tokens.length - MAP_ROWS));
    cards.forEach((layer, l) => layer.forEach((card, h) => {
      const soft = run.soft.layers[l].heads[h];
      const hard = run.hard.layers[l].heads[h];
      const size = tokens.length;
      const value = (row, c) => {
        if (soft.scores[(row - soft.from) * size + c] === -Infinity) return null;
        const [a, b] = [soft.weights[(row - soft.from) * size + c], hard.weights[(row - hard.from) * size + c]];
        return state.view === "soft" ? a : state.view === "hard" ? b : a - b;
      };
      const argmax = view.formula ? null : (row, c) => hard.weights[(row - hard.from) * size + c] > 0;
      const chosen = state.chosen && state.chosen.layer === l && state.chosen.head === h ? state.chosen.cell : null;
      card.rows = rows;
      card.tokens = size;
      card.chosen = chosen;
      card.grid = pictures.map(card.querySelector("canvas"), tokens, rows, value, chosen, argmax);
      card.picture = () => pictures.mapSvg(`layer ${l}, head ${h} · ${view.transformer.layers[l].heads[h].label}`, tokens, rows, value);
      card.querySelector(".reading").textContent = reading(view, tokens, soft, hard, l, h, chosen);
    }));
    legend();
  }

  const percent = (weight) => (weight >= 0.01 || weight === 0 ? `${(100 * weight).toFixed(2)} %` : `${(100 * weight).toExponential(2)} %`);

  /** The kind of a row, from its scores: uniform, tieless or tied; and its gap. */
  function rowKind(scores, row, size) {
    const line = Array.from(scores.subarray(row * size, (row + 1) * size)).filter((s) => s > -Infinity);
    if (!line.length) return { kind: "empty", gap: Infinity };
    const top = Math.max(...line);
    const slack = 1e-9 * Math.max(1, Math.abs(top));
    const losers = line.filter((s) => s < top - slack);
    const winners = line.length - losers.length;
    const gap = losers.length ? top - Math.max(...losers) : Infinity;
    return { kind: !losers.length ? "uniform" : winners === 1 ? "tieless" : "tied", gap };
  }

  function leakOf(soft, hard, row, size) {
    let leak = 0;
    for (let c = 0; c < size; c++) if (!hard.weights[(row - hard.from) * size + c]) leak += soft.weights[(row - soft.from) * size + c];
    return leak;
  }

  function reading(view, tokens, soft, hard, l, h, chosen) {
    const size = tokens.length;
    if (chosen) {
      const [row, c] = chosen;
      if (soft.scores[(row - soft.from) * size + c] === -Infinity) return `${place(view, tokens, row)} cannot see ${place(view, tokens, c)}`;
      return `${place(view, tokens, row)} gives ${place(view, tokens, c)} ${percent(soft.weights[(row - soft.from) * size + c])} (hard: ${percent(hard.weights[(row - hard.from) * size + c])}), score ${soft.scores[(row - soft.from) * size + c].toPrecision(5)}`;
    }
    let worst = 0;
    const kinds = { uniform: 0, tieless: 0, tied: 0, empty: 0 };
    for (let row = soft.from; row < size; row++) {
      worst = Math.max(worst, leakOf(soft, hard, row, size));
      kinds[rowKind(soft.scores, row - soft.from, size).kind]++;
    }
    const typed = view.formula ? "" : ` · rows: ${kinds.uniform} uniform, ${kinds.tieless} tieless, ${kinds.tied} tied`;
    const bound = view.transformer.layers[l].heads[h].leak;
    const proved = bound === null || bound === undefined ? "" : `, proved ${bound === 0 ? "0" : `≤ ${percent(bound)}`}`;
    return `largest leak here ${percent(worst)}${proved}${typed}`;
  }

  const place = (view, tokens, at) => {
    const first = view.transformer.sinks.includes("<bos>") ? 0 : 1;
    return tokens[at] === "<bos>" || tokens[at] === "<eos>" ? tokens[at] : `${tokens[at]} at ${at + first}`;
  };

  /** One row opened: scores, gaps, weights as bars, the leak, and who wins. */
  function openRow(view, word, run, state) {
    const part = $("row");
    part.replaceChildren();
    if (!state.chosen || !state.chosen.open || !state.chosen.cell) return;
    const { layer, head, cell: [row] } = state.chosen;
    const tokens = tokensOf(view, word);
    const size = tokens.length;
    const soft = run.soft.layers[layer].heads[head];
    const hard = run.hard.layers[layer].heads[head];
    const visible = Array.from({ length: size }, (_, c) => c).filter((c) => soft.scores[(row - soft.from) * size + c] > -Infinity);
    const winners = visible.filter((c) => hard.weights[(row - hard.from) * size + c] > 0);
    const top = Math.max(...visible.map((c) => soft.scores[(row - soft.from) * size + c]));
    const { kind, gap } = rowKind(soft.scores, row - soft.from, size);
    const named = winners.slice(0, 4).map((c) => place(view, tokens, c)).join(", ") + (winners.length > 4 ? " …" : "");
    const why = kind === "uniform" ? "all scores are equal, so this is an average"
      : `${winners.length > 1 ? "they have" : "it has"} the largest score, ${gap.toPrecision(4)} above the next`;
    part.append(make("h3", { textContent: `row of ${place(view, tokens, row)} in layer ${layer}, head ${head}` }),
      make("p", { className: "said", textContent: `${named || "nothing"} ${winners.length > 1 ? "win" : "wins"}: ${why}. Leak ${percent(leakOf(soft, hard, row, size))}.` }));
    const bars = make("div", { className: "bars" });
    const order = visible.length > 40 ? visible.toSorted((a, b) => soft.weights[(row - soft.from) * size + b] - soft.weights[(row - soft.from) * size + a]).slice(0, 40).toSorted((a, b) => a - b) : visible;
    for (const c of order) {
      const weight = soft.weights[(row - soft.from) * size + c];
      const bar = make("i");
      bar.style.width = `${100 * Math.sqrt(weight)}%`;
      link(bar, view.transformer.layers[layer].heads[head].nodes[0]);
      bars.append(make("div", { className: "bar" }, make("span", { textContent: place(view, tokens, c) }), bar,
        make("span", { textContent: `${percent(weight)} · gap ${(top - soft.scores[(row - soft.from) * size + c]).toPrecision(3)}` })));
    }
    part.append(bars);
  }

  let legendDrawn = "";
  function legend() {
    const key = pictures.css("--ink-rgb");
    if (legendDrawn === key) return;
    legendDrawn = key;
    const canvas = make("canvas", { width: 120, height: 12 });
    const pen = canvas.getContext("2d");
    for (let x = 0; x < 120; x++) {
      pen.fillStyle = pictures.fill((x / 119) ** 2);
      pen.fillRect(x, 0, 1, 12);
    }
    $("legend").replaceChildren("0 %", canvas, "100 % (2 % is at a seventh: square-root scale)");
  }

  function residual(view, word, run) {
    const columns = shown(word.length);
    const { d_model: d, coordinates } = view.transformer;
    const last = run.soft.residual.length - 1;
    const offset = view.transformer.sinks.includes("<bos>") ? 1 : 0;
    const rows = coordinates.map((coordinate, c) => {
      const line = make("tr", {}, make("th", { textContent: coordinate.label, title: coordinate.label }));
      link(line, coordinate.node);
      for (const at of columns) {
        const value = run.soft.residual[last][(at + offset) * d + c];
        const cell = make("td", { textContent: Number(value.toPrecision(3)).toString() });
        cell.dataset.column = at;
        line.append(cell);
      }
      return line;
    });
    $("residual").replaceChildren(...rows);
  }

  // Proof

  function answer(view, run, at) {
    const place = $("answer");
    const wrong = run.wrong.some(Boolean);
    const value = run.margins[at] > 0;
    place.className = wrong ? "wrong" : "right";
    const said = `${view.decoder ? valueText(run.decoded[at]) : value ? "true" : "false"} at position ${at + 1}`;
    place.textContent = wrong
      ? `✘ ${said}; wrong at ${run.wrong.filter(Boolean).length} of ${run.wrong.length} positions`
      : `✔ ${said}, and right at every position`;
  }

  function margins(view, word, run) {
    const columns = shown(word.length);
    const labels = columns.map((at) => ({ place: at + 1, token: tokenText(word[at]) }));
    const least = Math.min(...run.signed);
    const title = `margins (red: wrong); least ${least.toPrecision(4)}`;
    const draw = () => pictures.bars(title, columns.map((at) => run.margins[at]), labels, columns.map((at) => run.wrong[at]));
    $("margins").replaceChildren(draw(), pictures.keep("margins", draw));
  }

  function curve(points, critical, factor, unit) {
    const draw = () => pictures.plot({
      title: "least margin on this word against the inverse temperature",
      lines: [{ points: points.map(([f, m]) => [Math.log10(f), m]), colour: pictures.css("--accent") }],
      marks: [
        ...(critical ? [{ at: Math.log10(critical), name: "critical here", colour: pictures.css("--wrong") }] : []),
        { at: 0, name: "certified", colour: pictures.css("--right") },
        { at: Math.log10(factor), name: "", colour: pictures.css("--ink"), here: true },
      ],
      x: { name: `${unit.name} (logarithmic)`, show: (v) => unit.value(10 ** v) },
      y: { show: (v) => v.toPrecision(2), zero: true },
    });
    $("curve").replaceChildren(draw(), pictures.keep("least-margin", draw));
  }

  function ticks(low, high, marks) {
    $("beta-ticks").replaceChildren(...marks.map((mark) => {
      const tick = make("span", { textContent: mark.name });
      tick.style.left = `${(100 * (mark.at - low)) / (high - low)}%`;
      return tick;
    }));
  }

  function meter(view, here, failure) {
    const draw = () => pictures.meter("certified lengths", here, view.certificate.lengths, failure);
    $("meter").replaceChildren(draw(), pictures.keep("certified-lengths", draw));
  }

  /** γ(n) and β(n) on logarithmic scales, with measured gaps as dots. */
  function laws(view, n, gaps) {
    const lengths = Array.from({ length: 40 }, (_, k) => Math.round(10 ** (k / 10))).filter((x, k, all) => k === 0 || x !== all[k - 1]);
    const parts = [];
    view.transformer.layers.forEach((layer, l) => layer.heads.forEach((head, h) => {
      const line = (law, name, colour, dashed) => ({ name, colour, dashed,
        points: lengths.map((x) => [Math.log10(x), softhat.laws.logAt(law, x) / Math.LN10]) });
      const lines = [
        ...(head.gap ? [line(head.gap, "γ(n) proved", pictures.colourOf(1), false)] : []),
        ...(head.beta !== "1" ? [line(head.beta, "β(n)", pictures.colourOf(0), true)] : []),
      ];
      if (!lines.length) return;
      const measured = gaps[l][h];
      const dots = head.gap && measured ? [[Math.log10(n), Math.log10(measured)]] : [];
      const draw = () => pictures.plot({
        title: `layer ${l}, head ${h}: β(n) = ${head.law_text}${head.gap_text ? `, γ(n) ≥ ${head.gap_text}` : ""}`,
        lines, dots, marks: [{ at: Math.log10(n), name: `n = ${n}`, colour: pictures.css("--ink"), here: true }],
        x: { name: "n (logarithmic); dot: the least gap on this word", show: (v) => Math.round(10 ** v).toLocaleString("en") },
        y: { show: (v) => `10^${v.toFixed(1)}` },
      });
      parts.push(draw(), pictures.keep(`laws-${l}-${h}`, draw));
    }));
    $("laws").replaceChildren(...parts);
  }

  function why(view) {
    const [first, rest] = [view.certificate.why.slice(0, 3), view.certificate.why.slice(3)];
    const paragraphs = (lines) => lines.map((sentence) => make("p", { textContent: sentence }));
    const more = make("details", {}, make("summary", { textContent: "lengths, and what the proof assumes" }), ...paragraphs(rest));
    $("why").replaceChildren(...paragraphs(first), ...(rest.length ? [more] : []));
  }

  return { meaning, attentionCards, attention, openRow, residual, answer, margins, curve, ticks, meter, laws, why, rowKind };
})();
