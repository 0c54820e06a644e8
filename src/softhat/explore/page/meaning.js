"use strict";
/* What the input says: the verdict in a sentence, and the truth of every part at every position. */

softhat.meaning = (() => {
  const { pictures, words, reasons, source } = softhat;
  const { byId, make, link, valueText } = softhat.parts;
  const WIDE = 48; // positions that the table shows
  const NARROW = 12; // positions that all have their number
  const TALL = 24; // rows beyond which the table scrolls by itself
  const EVERY = 5; // of many positions, those that have their number

  /** Positions (from 0) that tables show: all, or the last ones of a long word. */
  const shown = (n) => Array.from({ length: Math.min(n, WIDE) }, (_, k) => k + Math.max(0, n - WIDE));

  function draw({ view, run, state }) {
    verdict(view, run, state);
    const entry = (source.names[state.kind] ?? []).find((one) => one.text === state.text);
    byId("titled").textContent = entry?.title ?? "";
    formulaText(view, run.output);
    table(view, run, readAt(run, state));
    byId("facts").textContent = run.output.facts;
    byId("alphabet-said").textContent = alphabetSaid(view);
    byId("warnings").replaceChildren(...view.warnings.map((warning) => make("li", { textContent: warning })));
  }

  const SOURCES = {
    given: "as given",
    inferred: "inferred from the input and the word: give an alphabet to fix it",
    own: "its own",
  };
  const alphabetSaid = (view) => `${view.propositional ? "propositions" : "alphabet"}: ${view.alphabet.join(" ") || "none"} (${SOURCES[view.alphabet_from]})`;

  // The verdict

  /** Accepted or not, where that is read, and why. */
  function verdict(view, run, state) {
    const place = byId("verdict");
    const at = readAt(run, state);
    place.className = at === null || view.decoder ? "" : accepts(view, run, at) ? "accepted" : "rejected";
    place.replaceChildren(...sentence(view, run, state, at), softmaxSaid(run, at));
    byId("read-at").hidden = !view.formula;
    byId("read-at-automatic").textContent = { first: "at the first position", last: "at the last position" }[run.output.at] ?? "choose …";
  }

  /** The position (from 0) at which a word is accepted or not; null if that is to be chosen. */
  function readAt(run, state) {
    const place = state.at || run.output.at;
    return place ? (place === "first" ? 0 : run.word.length - 1) : null;
  }

  const accepts = (view, run, at) => !view.decoder && Boolean(run.expected[at]);

  function sentence(view, run, state, at) {
    if (view.decoder) {
      const values = run.meant.slice(-12).map(valueText).join(" ");
      return [make("strong", { textContent: "Values: " }), `${run.meant.length > 12 ? "… " : ""}${values}. A RASP program gives a value at every position; nothing is accepted or not.`];
    }
    if (at === null) {
      return [make("strong", { textContent: "Not said: " }), "the formula looks back and ahead, so say where it is read, at the first position or at the last."];
    }
    const where = `at position ${at + 1}, the ${at === 0 && at !== run.word.length - 1 ? "first" : "last"}`;
    const word = make("strong", { textContent: accepts(view, run, at) ? "Accepted: " : "Not accepted: " });
    if (!view.formula) {
      const value = Number(run.values[at].toPrecision(4));
      return [word, `hard attention gives ${value} ${where}, which is ${value > 0 ? "more" : "not more"} than 0.`];
    }
    const truth = accepts(view, run, at) ? "true" : "false";
    const why = reasons.because(view.formula.nodes, run.truth, run.word, run.output.root, at);
    return [word, `${named(view, run.output, state)} is ${truth} ${where}, because ${why}.`];
  }

  /** What softmax says where it is wrong: then the verdict is not its answer. */
  function softmaxSaid(run, at) {
    if (!run.wrong[at ?? run.word.length - 1]) return "";
    const differs = run.decoded ? "another value" : run.expected[at ?? run.word.length - 1] ? "false" : "true";
    return make("em", { textContent: ` Softmax, as it is set on the right, answers ${differs}: wrong.` });
  }

  function named(view, output, state) {
    if (state.kind === "formula") return reasons.shortened(view.formula.nodes[output.root].text);
    return { regex: `the formula of ${reasons.shortened(state.text)}`, program: "the program's formula", zoo: `the formula of ${state.text}` }[state.kind] ?? "the formula";
  }

  // The formula and its table

  const LEADS = {
    formula: "What the input says at every position of the word. A filled square is true; the one with a ring is the answer.",
    ahat: "Whether hard attention gives more than 0 at every position of the word. The square with a ring is the answer.",
    rasp: "What the program gives at every position of the word.",
  };

  function formulaText(view, output) {
    const place = byId("formula-text");
    byId("meaning-said").textContent = LEADS[view.formula ? "formula" : view.kind];
    if (!view.formula) {
      place.textContent = view.title;
      return;
    }
    const root = view.formula.nodes[output.root];
    const spans = view.formula.nodes.flatMap((_, at) => (output.spans[at] ?? []).map(([start, end]) => ({ start, end, at })));
    spans.sort((a, b) => a.start - b.start || b.end - a.end);
    const characters = [...root.text];
    const open = (start, end, from) => {
      const pieces = [];
      let cursor = start;
      for (let k = from; k < spans.length && spans[k].start < end; k++) {
        const span = spans[k];
        if (span.start < cursor || span.end > end) continue;
        pieces.push(characters.slice(cursor, span.start).join(""));
        const inner = make("span", {}, ...open(span.start, span.end, k + 1));
        inner.style.borderBottomColor = pictures.colourOf(span.at);
        inner.dataset.node = span.at;
        pieces.push(inner);
        cursor = span.end;
      }
      pieces.push(characters.slice(cursor, end).join(""));
      return pieces;
    };
    place.replaceChildren(...open(0, characters.length, 0));
  }

  function table(view, run, answered) {
    const columns = shown(run.word.length);
    const clipped = run.word.length > WIDE ? `the last ${WIDE} of ${run.word.length}` : "";
    const rows = [line(clipped, columns, (at) => symbol(run.word[at], at, columns))];
    const parts = view.formula ? run.output.tree : [];
    for (const { at, depth } of parts) {
      const { text } = view.formula.nodes[at];
      const row = line(text, columns, (column) => bit(run.truth[at][column], `${text} is ${run.truth[at][column] ? "true" : "false"} at ${column + 1}`));
      const name = row.querySelector("th");
      name.className = "part";
      name.style.setProperty("--depth", depth);
      link(row, at);
      rows.push(row);
    }
    if (view.decoder) {
      rows.push(line("value", columns, (at) => {
        const [value, meant] = [run.decoded[at], run.meant[at]].map(valueText);
        return { className: run.wrong[at] ? "value wrong" : "value", textContent: value, title: `${value} at ${at + 1}; hard attention: ${meant}` };
      }));
    } else if (!view.formula) {
      rows.push(line("value > 0", columns, (at) => bit(run.expected[at], `value ${run.values[at].toPrecision(5)} at ${at + 1}`)));
    }
    if (answered !== null && !view.decoder) rows[1].querySelector(`[data-column="${answered}"]`)?.classList.add("read");
    const longest = Math.max(clipped.length, 9, ...parts.map(({ at, depth }) => view.formula.nodes[at].text.length + depth));
    const place = byId("truth");
    place.replaceChildren(...rows);
    place.style.setProperty("--columns", columns.length);
    place.style.setProperty("--characters", longest);
    place.classList.toggle("tall", rows.length > TALL);
    needed = longest * LETTER + columns.length * SQUARE;
    fit();
  }

  const LETTER = 7.5, SQUARE = 22, COLUMN = 3.5; // pixels; the page has the width of so many columns of it
  let needed = 0; // pixels of the table at its smallest
  /** A table that is too wide to stand beside the maps stands above them. */
  function fit() {
    const main = document.querySelector("main");
    main.classList.toggle("wide-table", needed > main.clientWidth / COLUMN - 32);
  }

  /** A symbol of the word above its column, with the number of its position. */
  function symbol(token, at, columns) {
    const numbered = columns.length <= NARROW || at === 0 || (at + 1) % EVERY === 0;
    return { className: "symbol", textContent: pictures.short(words.tokenText(token), 5), title: `${words.tokenText(token)} at position ${at + 1}`,
      ...(numbered && { place: at + 1 }) };
  }

  function line(name, columns, cell) {
    const row = make("tr", {}, make("th", { title: name }, make("span", { textContent: name })));
    for (const at of columns) {
      const { said, place, ...properties } = cell(at);
      const data = make("td", properties);
      if (said) data.append(make("span", { className: "hidden-name", textContent: said }));
      if (place) data.dataset.place = place;
      data.dataset.column = at;
      row.append(data);
    }
    return row;
  }

  const bit = (on, title) => ({ className: on ? "bit on" : "bit", title, said: on ? "true" : "false" });

  return { draw, fit, shown, readAt };
})();
