"use strict";
/* The page: what was asked, what is shown, and how one follows from the other.

   With a server, what is typed is compiled there; the word, the temperature, the number format and
   the length are answered here, by the runtime in the browser. A report is the same page with one
   model inside it. */

softhat.page = (() => {
  const { runtime, logic, views, pictures } = softhat;
  const $ = (id) => document.getElementById(id);
  const inside = JSON.parse($("page-data").textContent);
  const served = inside === null || inside.view === undefined;
  const KINDS = (inside && inside.kinds) || ["formula"];
  const LOW = -2, HIGH = 1;
  const KEPT = 64; // rows of the maps that are on screen for long words
  const SLOW = 160; // positions beyond which nothing is tried at many temperatures

  const state = { kind: "formula", text: "", word: "", alphabet: "", attention: "unbounded", output: "",
    beta: 0, view: "soft", dtype: "float64", long: "own", length: 0, chosen: null };
  let view = null; // what the server (or the report) said about the input
  let cards = [];
  let readies = {};
  let latest = null; // the run on screen
  let failure = null;
  let asked = 0;

  // Words

  function parseWord(text, of) {
    const known = new Set(of.alphabet);
    if (of.propositional) {
      const sets = text.match(/\{[^{}]*\}/g) ?? [];
      if (text.replace(/\{[^{}]*\}/g, "").trim()) throw new Error("a word over propositions is written {p} {} {p,q}");
      return sets.map((set) => new Set(set.slice(1, -1).split(",").map((p) => p.trim()).filter(Boolean)));
    }
    const single = of.alphabet.every((symbol) => [...symbol].length === 1);
    const parts = /\s/.test(text.trim()) || !single ? text.trim().split(/\s+/).filter(Boolean) : [...text.trim()];
    for (const [k, part] of parts.entries()) {
      if (!known.has(part)) throw new Error(`symbol ${JSON.stringify(part)} at position ${k + 1} is not in the alphabet (${of.alphabet.join(" ")})`);
    }
    if (!parts.length) throw new Error("the empty word has no position: give at least one symbol");
    return parts;
  }

  const letters = () => (view.propositional ? [new Set(), ...view.alphabet.map((p) => new Set([p]))] : view.alphabet);

  /** A word of length n: the own one, or one made to be hard. */
  function wordOf(kind, n, own) {
    const all = letters();
    if (kind === "edge") return Array.from({ length: n }, (_, k) => all[k % Math.min(2, all.length)]);
    if (kind === "random") {
      let seed = 12345;
      return Array.from({ length: n }, () => all[(seed = (seed * 1103515245 + 12345) % 2147483648) % all.length]);
    }
    const mentioned = new Set((view.formula?.nodes ?? []).filter((node) => node.op === "symbol").map((node) => node.name));
    const quiet = view.propositional ? new Set() : all.find((symbol) => !mentioned.has(symbol)) ?? all[all.length - 1];
    return [own[0], ...Array(Math.max(0, n - 1)).fill(quiet)].slice(0, n);
  }

  // Answers

  const ready = (dtype) => (readies[dtype] ??= runtime.ready(view.transformer, dtype));
  const output = () => view.outputs.find((one) => one.name === state.output) ?? view.outputs[0];

  let hardOf = { key: "", run: null };
  function hardRun(word) {
    const key = `${view.id} ${word.map((x) => (x instanceof Set ? [...x].join(",") : x)).join("\u0001")}`;
    if (hardOf.key !== key) hardOf = { key, run: runtime.run(ready("float64"), word, { hard: true, keep: KEPT * 5 }) };
    return hardOf.run;
  }

  /** Soft and hard attention on a word, the truth, and where they part. */
  function answers(word, factor, dtype, keep = KEPT * 5) {
    const soft = runtime.run(ready(dtype), word, { factor, keep });
    const hard = hardRun(word);
    const one = output();
    const truth = view.formula ? logic.truth(view.formula.nodes, word) : null;
    const margins = soft.margins[one.name];
    const values = hard.margins[one.name];
    const expected = truth ? truth[one.root] : values.map((value) => (value > 0 ? 1 : 0));
    const wrong = Array.from(margins, (margin, i) => margin > 0 !== Boolean(expected[i]));
    const signed = Array.from(margins, (margin, i) => (expected[i] ? margin : -margin));
    const run = { soft, hard, truth, margins, values, expected, wrong, signed };
    return view.decoder ? { ...run, ...valuesOf(run, word.length, dtype) } : run;
  }

  /** A RASP program: its values, where they differ from hard attention's, and the least distance
      of any output from being read otherwise. */
  function valuesOf(run, n, dtype) {
    const error = view.decoder.errors?.[dtype] ?? 0;
    const [soft, hard] = [run.soft, run.hard].map((one) => logic.values(view.decoder, one.margins, n));
    const wrong = soft.map((value, i) => !logic.same(value, hard[i], error));
    const named = view.decoder.cases ? view.decoder.cases.map((one) => one.when).filter(Boolean) : view.transformer.outputs;
    const signed = soft.map((_, i) => {
      const bits = named.map((name) => (run.hard.margins[name][i] > 0 ? 1 : -1) * run.soft.margins[name][i]);
      return Math.min(wrong[i] ? -0.5 : 0.5, ...bits);
    });
    return { decoded: soft, meant: hard, wrong, signed };
  }

  const least = (word, factor) => Math.min(...answers(word, factor, "float64", 0).signed);

  /** The warmest factor at which every answer on this word is right, by bisection. */
  function critical(word) {
    if (!(least(word, 1) > 0)) return 1;
    if (least(word, 10 ** LOW) > 0) return null;
    let low = LOW, high = 0;
    for (let k = 0; k < 30; k++) {
      const middle = (low + high) / 2;
      if (least(word, 10 ** middle) > 0) high = middle;
      else low = middle;
    }
    return 10 ** high;
  }

  // Drawing

  function activeWord() {
    const own = parseWord(state.word, view);
    if (state.long === "own") return own;
    return wordOf(state.long, Math.max(1, Math.round(2 ** state.length)), own);
  }

  const unit = () => {
    const { name, base } = view.unit;
    const value = (factor) => String(Number((base * factor).toPrecision(4)));
    return { name, value, show: (factor) => `${name} = ${value(factor)}` };
  };

  let pending = 0;
  function redraw() {
    if (!view) return;
    let word;
    try {
      word = activeWord();
      complain(null);
    } catch (error) {
      complain({ error: error.message });
      return;
    }
    const factor = 10 ** state.beta;
    const run = answers(word, factor, state.dtype);
    latest = { word, run };
    const one = output();
    const at = one.at === "first" ? 0 : word.length - 1;
    Object.assign(view, { root: one.root, tree: one.tree ?? [], spans: one.spans ?? {}, facts: one.facts });
    views.answer(view, run, at);
    views.meaning(view, word, run);
    views.attention(view, cards, word, run, state);
    views.openRow(view, word, run, state);
    if ($("stream").open) views.residual(view, word, run);
    views.margins(view, word, run);
    $("beta-shown").textContent = unit().show(factor);
    $("length-shown").textContent = `${word.length}`;
    views.meter(view, word.length, failure);
    if (view.attention === "temperature") views.laws(view, word.length, gapsOf(run));
    clearTimeout(pending);
    const asking = view;
    pending = setTimeout(() => view === asking && temperatures(word, factor), 60);
    document.body.dataset.drawn = String(++asked);
  }

  /** The least gap of each head on this word, without its temperature: what γ(n) bounds. */
  function gapsOf(run) {
    const size = run.hard.rows;
    return run.hard.layers.map((layer) => layer.heads.map((head) => {
      let least = Infinity;
      for (let row = 0; row < size - head.from; row++) {
        least = Math.min(least, views.rowKind(head.scores, row, size).gap / head.beta);
      }
      return Number.isFinite(least) ? least : null;
    }));
  }

  let curveOf = { key: "", points: [], critical: null };
  /** What needs many runs comes after the view has followed. */
  function temperatures(word, factor) {
    if (word.length > SLOW) {
      $("beta-said").textContent = `the critical value is looked for to ${SLOW} positions`;
      $("curve").replaceChildren();
      views.ticks(LOW, HIGH, [{ at: 0, name: "certified" }]);
      return;
    }
    const key = JSON.stringify([view.id, state.output, word.map((x) => (x instanceof Set ? [...x] : x))]);
    if (curveOf.key !== key) {
      const points = Array.from({ length: 31 }, (_, k) => 10 ** (LOW + (k * (HIGH - LOW)) / 30)).map((f) => [f, least(word, f)]);
      curveOf = { key, points, critical: critical(word) };
    }
    const found = curveOf.critical;
    views.curve(curveOf.points, found, factor, unit());
    views.ticks(LOW, HIGH, [...(found ? [{ at: Math.log10(found), name: "critical" }] : []), { at: 0, name: "certified" }]);
    $("beta-said").textContent = found
      ? `on this word answers break below ${unit().show(found)}; certified for every word at ${unit().show(1)}`
      : `on this word no temperature of the scale breaks an answer; certified for every word at ${unit().show(1)}`;
    document.body.dataset.critical = found ? String(found) : "";
  }

  function complain(said) {
    const place = $("complaint");
    place.hidden = said === null;
    if (said === null) return;
    const caret = said.position === undefined || said.position === null ? "" : `\n  ${said.line}\n  ${" ".repeat(said.column)}^`;
    place.textContent = `${said.error}${caret}`;
  }

  // Asking

  let request = null;
  async function ask() {
    remember();
    if (!served) return redraw();
    request?.abort();
    request = new AbortController();
    const { kind, text, alphabet, attention, word } = state;
    try {
      const reply = await fetch("api/view", { method: "POST", signal: request.signal,
        headers: { "Content-Type": "application/json" }, body: JSON.stringify({ kind, text, alphabet, attention, word }) });
      const said = await reply.json();
      if (!reply.ok) return complain(said);
      show(said);
    } catch (error) {
      if (error.name !== "AbortError") complain({ error: "the server does not answer: is softhat explore still running?" });
    }
  }

  function show(next) {
    clearTimeout(pending);
    view = next;
    latest = null;
    view.id = `${Date.now()}.${Math.random()}`;
    readies = {};
    failure = null;
    state.chosen = null;
    cards = views.attentionCards(view, choose);
    const several = view.outputs.length > 1;
    document.querySelector(".field.output").hidden = !several;
    $("output").replaceChildren(...view.outputs.map((one) => new Option(one.name, one.name)));
    if (!view.outputs.some((one) => one.name === state.output)) state.output = view.outputs[0].name;
    $("output").value = state.output;
    $("laws").replaceChildren();
    views.why(view);
    redraw();
  }

  function choose(chosen, open) {
    const pinned = state.chosen?.open && !open;
    if (pinned) return;
    state.chosen = chosen.cell ? { ...chosen, open } : null;
    if (!latest) return;
    views.attention(view, cards, latest.word, latest.run, state);
    views.openRow(view, latest.word, latest.run, state);
  }

  // The URL holds everything

  const KEPT_IN_URL = { kind: "k", text: "f", word: "w", alphabet: "a", attention: "t", output: "o", beta: "b", view: "v", dtype: "d", long: "l", length: "n" };

  function remember() {
    const fields = new URLSearchParams();
    for (const [name, short] of Object.entries(KEPT_IN_URL)) if (state[name] !== "" && state[name] !== 0) fields.set(short, state[name]);
    history.replaceState(null, "", `#${fields}`);
  }

  function recall() {
    const fields = new URLSearchParams(location.hash.slice(1));
    for (const [name, short] of Object.entries(KEPT_IN_URL)) {
      if (!fields.has(short)) continue;
      const value = fields.get(short);
      state[name] = typeof state[name] === "number" ? Number(value) || 0 : value;
    }
  }

  function fillIn() {
    for (const id of ["kind", "text", "word", "alphabet", "attention", "dtype", "long"]) $(id).value = state[id];
    $("beta").value = state.beta;
    $("length").value = state.length;
    const radio = document.querySelector(`input[name=view][value="${CSS.escape(state.view)}"]`);
    if (radio) radio.checked = true;
    $("text-name").textContent = state.kind;
  }

  function showTab(id) {
    if (!id) return;
    const name = id === "attention-part" ? "attention" : id;
    for (const section of document.querySelectorAll("main > section")) section.classList.toggle("shown", section.id === id);
    for (const tab of document.querySelectorAll("#tabs button")) tab.setAttribute("aria-selected", String(tab.dataset.tab === name));
  }

  /** The least length at which an answer is wrong in the chosen format, by doubling and bisection. */
  async function firstFailure() {
    const button = $("first-failure");
    const own = parseWord(state.word, view);
    const kind = state.long === "own" ? "far" : state.long;
    const wrongAt = async (n) => {
      button.textContent = `trying ${n} …`;
      await new Promise((resume) => setTimeout(resume));
      return answers(wordOf(kind, n, own), 1, state.dtype, 0).wrong.some(Boolean);
    };
    let low = 1, high = 2;
    while (high <= 4096 && !(await wrongAt(high))) [low, high] = [high, high * 2];
    if (high > 4096) button.textContent = "no failure found to 4,096";
    else {
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (await wrongAt(middle)) high = middle;
        else low = middle;
      }
      failure = high;
      button.textContent = `fails at ${high}: find again`;
      views.meter(view, latest.word.length, failure);
    }
  }

  function listen() {
    const changed = (id, handle) => $(id).addEventListener("input", handle);
    for (const id of ["text", "alphabet", "attention", "kind"]) {
      changed(id, () => {
        state[id] = $(id).value;
        $("text-name").textContent = state.kind;
        ask();
      });
    }
    changed("word", () => {
      state.word = $("word").value;
      remember();
      try {
        if (view) parseWord(state.word, view);
        redraw();
      } catch {
        if (served && !state.alphabet) ask();
        else redraw();
      }
    });
    changed("beta", () => {
      state.beta = Number($("beta").value);
      redraw();
    });
    $("beta").addEventListener("change", remember);
    for (const id of ["dtype", "long", "output"]) {
      changed(id, () => {
        state[id] = $(id).value;
        failure = null;
        if (id === "long" && state.long !== "own" && state.length === 0) {
          state.length = 5;
          $("length").value = 5;
        }
        remember();
        redraw();
      });
    }
    changed("length", () => {
      state.length = Number($("length").value);
      if (state.long === "own") {
        state.long = "far";
        $("long").value = "far";
      }
      remember();
      redraw();
    });
    for (const radio of document.querySelectorAll("input[name=view]")) {
      radio.addEventListener("input", () => {
        state.view = radio.value;
        remember();
        redraw();
      });
    }
    $("stream").addEventListener("toggle", redraw);
    $("first-failure").addEventListener("click", firstFailure);
    $("examples").addEventListener("input", () => {
      const example = examples[Number($("examples").value)];
      if (!example) return;
      Object.assign(state, { alphabet: "", output: "", beta: 0, long: "own", length: 0, attention: "unbounded" }, example);
      fillIn();
      ask();
    });
    $("share").addEventListener("click", async () => {
      remember();
      try {
        await navigator.clipboard.writeText(location.href);
        $("share").textContent = "copied";
      } catch {
        $("share").textContent = "it is in the address bar";
      }
      setTimeout(() => ($("share").textContent = "share"), 1500);
    });
    $("data").addEventListener("click", () => {
      const { word, run } = latest;
      const plain = (value) => (value instanceof Set ? [...value] : ArrayBuffer.isView(value) ? Array.from(value) : value);
      const shown = { state, view, word: word.map(plain), truth: run.truth?.map(plain), margins: plain(run.margins),
        layers: run.soft.layers.map((layer) => layer.heads.map((head) => ({ from: head.from, scores: plain(head.scores).map((s) => (s === -Infinity ? null : s)), weights: plain(head.weights) }))) };
      pictures.download("softhat.json", JSON.stringify(shown), "application/json");
    });
    $("theme").addEventListener("click", () => {
      theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
      redraw();
    });
    for (const tab of document.querySelectorAll("#tabs button")) {
      tab.addEventListener("click", () => showTab(tab.dataset.tab === "attention" ? "attention-part" : tab.dataset.tab));
    }
    const lit = (selector, name) => {
      document.querySelectorAll(`.${name}`).forEach((part) => part.classList.remove(name));
      if (selector) document.querySelectorAll(selector).forEach((part) => part.classList.add(name));
    };
    document.addEventListener("mouseover", (event) => {
      const node = event.target.closest?.("[data-node]")?.dataset.node;
      const column = event.target.closest?.("[data-column]")?.dataset.column;
      lit(node === undefined ? null : `tr[data-node="${node}"], .card[data-node="${node}"], .formula span[data-node="${node}"]`, "lit");
      lit(column === undefined ? null : `[data-column="${column}"]`, "at-column");
    });
    window.addEventListener("hashchange", () => {
      recall();
      fillIn();
      ask();
    });
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
  }

  const examples = (inside && inside.examples) || [];

  function begin() {
    theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    $("kind").replaceChildren(...KINDS.map((kind) => new Option(kind, kind)));
    examples.forEach((example, k) => $("examples").append(new Option(example.name, k)));
    if (!served) {
      Object.assign(state, inside.state);
      for (const id of ["text", "alphabet", "kind", "attention"]) $(id).disabled = true;
      $("examples").closest("label").hidden = true;
    } else if (!location.hash && examples.length) {
      Object.assign(state, examples[0]);
    }
    recall();
    fillIn();
    listen();
    softhat.tour.begin();
    showTab("meaning");
    $("about").textContent = inside?.about ?? "";
    if (served) ask();
    else show(inside.view);
  }

  document.addEventListener("DOMContentLoaded", begin);
  return { state, showTab, answers: () => latest };
})();
