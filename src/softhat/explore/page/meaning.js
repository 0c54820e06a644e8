"use strict";
/* What the input says: the verdict in a sentence, and the truth of every part at every position. */

softhat.meaning = (() => {
  const { pictures, words, reasons } = softhat;
  const { byId, make, link, valueText } = softhat.parts;
  const WIDE = 48; // positions that the table shows
  const NARROW = 12; // positions that fit beside the attention maps

  /** Positions (from 0) that tables show: all, or the last ones of a long word. */
  const shown = (n) => Array.from({ length: Math.min(n, WIDE) }, (_, k) => k + Math.max(0, n - WIDE));

  function draw({ view, run, state }) {
    document.querySelector("main").classList.toggle("long-word", run.word.length > NARROW);
    verdict(view, run, state);
    formulaText(view, run.output);
    table(view, run);
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

  function formulaText(view, output) {
    const place = byId("formula-text");
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

  function table(view, run) {
    const columns = shown(run.word.length);
    const clipped = run.word.length > WIDE ? `the last ${WIDE} of ${run.word.length}` : "";
    const rows = [line(clipped, columns, (at) => ({ className: "symbol", textContent: pictures.short(words.tokenText(run.word[at]), 5), title: `${words.tokenText(run.word[at])} at position ${at + 1}` }))];
    for (const { at, depth } of view.formula ? run.output.tree : []) {
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
    byId("truth").replaceChildren(...rows);
  }

  function line(name, columns, cell) {
    const row = make("tr", {}, make("th", { textContent: name, title: name }));
    for (const at of columns) {
      const { said, ...properties } = cell(at);
      const data = make("td", properties);
      if (said) data.append(make("span", { className: "hidden-name", textContent: said }));
      data.dataset.column = at;
      row.append(data);
    }
    return row;
  }

  const bit = (on, title) => ({ className: on ? "bit on" : "bit", title, said: on ? "true" : "false" });

  return { draw, shown, readAt };
})();
