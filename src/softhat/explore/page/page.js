"use strict";
/* The page: what is typed becomes a question, a question an answer, an answer what is shown.

   With a server, models are compiled there; the word, the temperature, the number format and the
   length are answered here, by the runtime in the browser. */

softhat.page = (() => {
  const { words, answers, source, pictures, meaning, attention, proof } = softhat;
  const { state, asked, begin, remember, recall } = softhat.state;
  const { byId, make } = softhat.parts;
  const KINDS = { formula: "formula", regex: "regular expression", program: "B-RASP or C-RASP program", rasp: "RASP library",
    ahat: "hard-attention transformer", zoo: "zoo of languages" };
  const LOW = -2, HIGH = 1; // the scale of inverse temperatures: powers of ten
  const SLOW = 160; // positions beyond which nothing is tried at many temperatures
  const LONG = 1024; // positions beyond which the page says first that it works
  const LONGEST = 4096; // positions that the page runs: twice as many take four times as long
  const PAUSE = 120; // milliseconds without a key before the server is asked

  let model = null; // the model on the screen: softhat.answers.of(view)
  let modelOf = null; // the question that it answers
  let ownWord = null; // the word that was typed, as symbols
  let run = null; // what the model gave on the word on the screen
  let failure = null; // the first failure that was found: {word, run}

  // From a question to an answer

  /** The input has changed: the model on the screen may answer it, or another must be fetched. */
  function ask() {
    state.generation++;
    remember();
    stopSearching();
    failure = null;
    cancelRequest();
    if (answersPresent()) answer();
    else fetchModel(state.generation);
  }

  function answersPresent() {
    if (!model) return false;
    const now = asked();
    const same = ["kind", "text", "alphabet", "attention"].every((name) => now[name] === modelOf[name]);
    if (!same || !source.compiles) return same;
    return fits(model.view, now.word) && words.agrees(now.word, model.view);
  }

  /** A RASP program is compiled to a length: a longer word needs another model. */
  const fits = (view, text) => view.longest === null || text.length <= view.longest || modelOf.word === text;

  let request = new AbortController();
  let pause = 0;
  function cancelRequest() {
    clearTimeout(pause);
    request.abort();
  }

  function fetchModel(generation) {
    setStatus("working");
    request = new AbortController();
    const { signal } = request;
    const question = asked();
    pause = setTimeout(async () => {
      try {
        const view = await source.view(question, signal);
        if (generation === state.generation) show(view, question);
      } catch (complaint) {
        if (generation !== state.generation) return;
        refuse(complaint.error ? complaint : { error: `the page failed: ${complaint.message}`, field: "text" });
      }
    }, model && source.compiles ? PAUSE : 0);
  }

  function show(view, question) {
    model = answers.of(view);
    modelOf = question;
    run = null;
    state.chosen = null;
    if (!view.outputs.some((one) => one.name === state.output)) state.output = view.outputs[0].name;
    document.querySelector(".field.output").hidden = view.outputs.length < 2;
    byId("output").replaceChildren(...view.outputs.map((one) => new Option(one.name, one.name)));
    byId("output").value = state.output;
    attention.cardsFor(view, { choose, enlarge });
    answer();
  }

  /** The model on the screen is that of the input: run it, and draw. */
  function answer() {
    const generation = state.generation;
    let word;
    try {
      ownWord = words.parse(state.word, model.view);
      word = wordOnScreen();
    } catch (error) {
      return refuse({ error: error.message, field: "word" });
    }
    if (word.length <= LONG) return answerOn(word);
    setStatus("working");
    setTimeout(() => generation === state.generation && answerOn(word), 30);
  }

  function wordOnScreen() {
    if (state.long === "own") {
      if (ownWord.length <= LONGEST) return ownWord;
      throw new Error(`the page runs words of at most ${LONGEST.toLocaleString("en")} symbols, and this one has ${ownWord.length.toLocaleString("en")}: softhat run takes longer ones`);
    }
    return words.made(state.long, Math.max(1, Math.round(2 ** state.length)), ownWord, model.view);
  }

  function answerOn(word) {
    try {
      run = model.run(word, { factor: 10 ** state.beta, dtype: state.dtype, output: state.output });
    } catch (error) {
      return refuse({ error: error.message, field: state.long === "own" ? "word" : "long" });
    }
    setStatus("ready");
    draw();
  }

  /** How it is looked at has changed, and the question has not. */
  function look() {
    remember();
    stopSearching();
    if (!answersPresent()) return;
    state.generation++;
    answer();
  }

  // What stands on the screen, and whether it is the answer to the input

  function refuse(complaint) {
    setStatus("refused", complaint);
  }

  let clock = 0;
  /** `ready`: the screen answers the input. Else it is dimmed, and says what it is. */
  function setStatus(status, complaint = null) {
    state.status = status;
    state.complaint = complaint;
    document.body.dataset.status = status;
    document.body.dataset.generation = state.generation;
    clearInterval(clock);
    showComplaint(complaint);
    if (status === "ready") return;
    for (const id of ["verdict", "answer"]) byId(id).className = "";
    byId("answer").textContent = "";
    byId("answer-how").textContent = "";
    const before = run ? " What is dimmed below is of the input before." : "";
    const verdict = byId("verdict");
    if (status === "refused") verdict.textContent = `No answer: see the message beside the input.${before}`;
    else {
      const since = Date.now();
      const say = () => (verdict.textContent = `Working … ${Math.round((Date.now() - since) / 1000)} s.${before}`);
      clock = setInterval(say, 500);
      say();
    }
  }

  /** A complaint stands in the field that it is about. */
  function showComplaint(complaint) {
    const place = byId("complaint");
    place.hidden = complaint === null;
    for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    if (complaint === null) return;
    const caret = complaint.position === undefined || complaint.position === null ? "" : `\n  ${complaint.line}\n  ${" ".repeat(complaint.column)}^`;
    place.textContent = `${complaint.error}${caret}`;
    const named = byId(complaint.field ?? "text");
    const field = named.offsetParent === null && complaint.field === "text" ? byId("names") : named;
    field.setAttribute("aria-invalid", "true");
    field.closest(".field").append(place);
  }

  // Drawing

  function draw() {
    const shown = { view: model.view, model, run, state, failure };
    meaning.draw(shown);
    attention.draw(shown);
    proof.draw(shown);
    drawTemperatures();
    document.body.dataset.drawn = String(state.generation);
  }

  let temperatures = 0;
  /** What needs many runs comes after the page has followed; until then the curve before is dimmed. */
  function drawTemperatures() {
    clearTimeout(temperatures);
    if (run.word.length > SLOW) return proof.noTemperatures(SLOW, LOW, HIGH);
    const { generation } = state;
    const drawCurve = () => proof.temperatures(model.view, run.factor, model.curve(run.word, state.output, LOW, HIGH), LOW, HIGH);
    if (model.hasCurve(run.word, state.output)) return drawCurve();
    proof.temperaturesToCome(LOW, HIGH);
    temperatures = setTimeout(() => generation === state.generation && state.status === "ready" && drawCurve(), 60);
  }

  function choose(chosen, open) {
    const before = state.chosen;
    if (before?.open && !open) return;
    state.chosen = chosen && { ...chosen, open };
    attention.point(before);
  }

  function enlarge(key) {
    state.enlarged = state.enlarged === key && !state.projector ? "" : key;
    look();
  }

  // The least length at which an answer is wrong

  let searching = 0;
  function stopSearching() {
    searching++;
    byId("first-failure").textContent = "find the first failure";
  }

  /** By doubling and bisection, in the chosen format, at the certified temperature. */
  async function findFirstFailure() {
    if (state.status !== "ready") return;
    stopSearching();
    const search = searching;
    const button = byId("first-failure");
    const kind = state.long === "own" ? "far" : state.long;
    const longest = Math.min(LONGEST, model.view.longest ?? LONGEST);
    const tryLength = async (n) => {
      button.textContent = `trying ${n} …`;
      await new Promise((resume) => setTimeout(resume));
      if (search !== searching) throw new Error("another question has come");
      const word = words.made(kind, n, ownWord, model.view);
      const tried = model.run(word, { dtype: state.dtype, output: state.output });
      return tried.wrong.some(Boolean) ? { word, run: tried } : null;
    };
    try {
      const found = await leastLength(tryLength, longest);
      button.textContent = found ? `fails at ${found.word.length}: find again` : `no failure found to ${longest.toLocaleString("en")}`;
      if (!found) return;
      Object.assign(state, { long: kind, length: Math.log2(found.word.length), beta: 0 });
      fillIn();
      remember();
      failure = found;
      answerOn(found.word);
    } catch (error) {
      if (search === searching) refuse({ error: error.message, field: "long" });
    }
  }

  async function leastLength(tryLength, longest) {
    let passed = 0, found = null;
    for (let n = 1; n <= longest && !found; n = n === longest ? n + 1 : Math.min(2 * n, longest)) {
      found = await tryLength(n);
      if (!found) passed = n;
    }
    while (found && found.word.length - passed > 1) {
      const middle = (passed + found.word.length) >> 1;
      const tried = await tryLength(middle);
      if (tried) found = tried;
      else passed = middle;
    }
    return found;
  }

  // The form

  const NAMED = ["zoo", "rasp", "ahat"]; // kinds of input that are given by a name
  const isOwn = () => state.kind === "ahat" && state.text.trimStart().startsWith("{");

  function fillIn() {
    for (const id of ["kind", "text", "word", "alphabet", "attention", "dtype", "long", "beta", "length", "at"]) byId(id).value = state[id];
    const radio = document.querySelector(`input[name=view][value="${CSS.escape(state.view)}"]`);
    if (radio) radio.checked = true;
    const typed = state.kind === "ahat" ? "its JSON" : KINDS[state.kind] ?? state.kind;
    byId("text-name").textContent = source.mode !== "catalogue" ? typed : `${typed} (chosen: nothing is compiled here)`;
    const named = NAMED.includes(state.kind);
    document.querySelector(".field.text").hidden = named && !isOwn();
    document.querySelector(".field.file").hidden = !isOwn();
    document.querySelector(".field.alphabet").hidden = named;
    document.querySelector(".field.attention").hidden = state.kind === "ahat";
    document.querySelector(".field.names").hidden = !source.names[state.kind]?.length;
    byId("names-name").textContent = named ? "name" : "examples";
    fillNames();
    setProjector();
  }

  let namesOf = null; // the kind whose names stand in the list
  function fillNames() {
    const names = source.names[state.kind] ?? [];
    if (namesOf !== state.kind) {
      namesOf = state.kind;
      const families = Map.groupBy(names.map((entry, k) => ({ ...entry, k })), (entry) => entry.family);
      const groups = [...families].map(([family, entries]) => {
        const options = entries.map((entry) => new Option(entry.title ? `${entry.name}: ${entry.title}` : entry.name, entry.k));
        return family ? make("optgroup", { label: family }, ...options) : options;
      });
      const own = state.kind === "ahat" && source.compiles ? [new Option("your own, as JSON …", "own")] : [];
      byId("names").replaceChildren(new Option("choose …", ""), ...own, ...groups.flat());
    }
    const at = names.findIndex((entry) => entry.text === state.text);
    byId("names").value = isOwn() ? "own" : at < 0 ? "" : String(at);
  }

  let offeredAlphabet = ""; // an example's alphabet: it goes when another input is typed
  /** The question that a name stands for. */
  function questionOf(kind, { text, word, alphabet = "", at = "" }) {
    offeredAlphabet = alphabet;
    return { kind, text, word, alphabet, at };
  }

  function chooseName(value) {
    if (value === "") return;
    const { kind, attention: target } = state;
    begin(value === "own" ? { kind, text: source.template, word: state.word } : questionOf(kind, source.names[kind][Number(value)]));
    state.attention = target;
    fillIn();
    ask();
  }

  function inputTyped() {
    if (offeredAlphabet && state.alphabet === offeredAlphabet) state.alphabet = byId("alphabet").value = "";
    fillNames();
  }

  const questions = {}; // the last question of each kind, to come back to
  function chooseKind(kind) {
    questions[state.kind] = asked();
    const first = source.names[kind]?.[0];
    begin(questions[kind] ?? (first ? questionOf(kind, first) : { kind }));
    fillIn();
    ask();
  }

  function setProjector() {
    const root = document.documentElement;
    if (state.projector) root.dataset.projector = "on";
    else delete root.dataset.projector;
    byId("projector").setAttribute("aria-pressed", String(Boolean(state.projector)));
  }

  function setTheme(name) {
    document.documentElement.dataset.theme = name;
    if (state.status === "ready") draw();
  }

  function showTab(id) {
    if (!id) return;
    const name = id === "attention-part" ? "attention" : id;
    for (const section of document.querySelectorAll("main > section")) section.classList.toggle("shown", section.id === id);
    for (const tab of document.querySelectorAll("#tabs button")) tab.setAttribute("aria-selected", String(tab.dataset.tab === name));
    attention.redraw();
  }

  // Listening

  function listenToQuestions() {
    byId("kind").addEventListener("input", () => chooseKind(byId("kind").value));
    byId("names").addEventListener("input", () => chooseName(byId("names").value));
    for (const id of ["text", "alphabet", "attention", "word"]) {
      byId(id).addEventListener("input", () => {
        state[id] = byId(id).value;
        if (id === "alphabet") offeredAlphabet = "";
        if (id === "text") inputTyped();
        ask();
      });
    }
    byId("file").addEventListener("change", async () => {
      const [file] = byId("file").files;
      if (!file) return;
      state.text = await file.text();
      fillIn();
      ask();
    });
    byId("ask").addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", () => {
      restore();
      fillIn();
      ask();
    });
  }

  function listenToLooks() {
    for (const id of ["dtype", "output", "at", "long"]) {
      byId(id).addEventListener("input", () => {
        state[id] = byId(id).value;
        failure = null;
        if (id === "long" && state.long !== "own" && state.length === 0) state.length = 5;
        byId("length").value = state.length;
        look();
      });
    }
    byId("beta").addEventListener("input", () => {
      state.beta = Number(byId("beta").value);
      look();
    });
    byId("length").addEventListener("input", () => {
      state.length = Number(byId("length").value);
      if (state.long === "own") state.long = "far";
      byId("long").value = state.long;
      look();
    });
    for (const radio of document.querySelectorAll("input[name=view]")) {
      radio.addEventListener("input", () => {
        state.view = radio.value;
        look();
      });
    }
    byId("stream").addEventListener("toggle", look);
    byId("first-failure").addEventListener("click", findFirstFailure);
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (run) meaning.fit();
      attention.redraw();
    })).observe(byId("layers"));
  }

  function listenToButtons() {
    byId("share").addEventListener("click", async () => {
      remember();
      try {
        await navigator.clipboard.writeText(location.href);
        byId("share").textContent = "copied";
      } catch {
        byId("share").textContent = "it is in the address bar";
      }
      setTimeout(() => (byId("share").textContent = "share"), 1500);
    });
    byId("data").addEventListener("click", () => state.status === "ready" && pictures.download("softhat.json", JSON.stringify(everything()), "application/json"));
    byId("projector").addEventListener("click", () => {
      state.projector = state.projector ? "" : "on";
      setProjector();
      look();
    });
    byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    for (const tab of document.querySelectorAll("#tabs button")) {
      tab.addEventListener("click", () => showTab(tab.dataset.tab === "attention" ? "attention-part" : tab.dataset.tab));
    }
    document.addEventListener("mouseover", (event) => {
      const node = event.target.closest?.("[data-node]")?.dataset.node;
      const column = event.target.closest?.("[data-column]")?.dataset.column;
      light(node === undefined ? null : `tr[data-node="${node}"], .card[data-node="${node}"], .formula span[data-node="${node}"]`, "lit");
      light(column === undefined ? null : `[data-column="${column}"]`, "at-column");
    });
  }

  function light(selector, name) {
    document.querySelectorAll(`.${name}`).forEach((part) => part.classList.remove(name));
    if (selector) document.querySelectorAll(selector).forEach((part) => part.classList.add(name));
  }

  /** Paper is white: what is drawn with the colours of the screen is drawn again for it. What is folded
      is printed, and folded again. */
  function listenToPrinting() {
    const paper = matchMedia("print");
    let onScreen = null, folded = [];
    const change = (printing) => {
      if (printing === (onScreen !== null)) return;
      const theme = printing ? "light" : onScreen;
      onScreen = printing ? document.documentElement.dataset.theme : null;
      if (printing) folded = [...document.querySelectorAll("details:not([open])")];
      for (const part of folded) part.open = printing;
      setTheme(theme);
    };
    paper.addEventListener("change", () => change(paper.matches));
    window.addEventListener("beforeprint", () => change(true));
    window.addEventListener("afterprint", () => change(false));
  }

  /** Everything on the page, as data. */
  function everything() {
    const plain = (value) => (value instanceof Set ? [...value] : ArrayBuffer.isView(value) ? Array.from(value) : value);
    const finite = (value) => (value === -Infinity ? null : value);
    return { state, view: model.view, word: run.word.map(plain), truth: run.truth?.map(plain), margins: plain(run.margins),
      layers: run.soft.layers.map((layer) => layer.heads.map((head) => ({ from: head.from, scores: plain(head.scores).map(finite), weights: plain(head.weights) }))) };
  }

  /** A number format, a length or a temperature of the address that no control can show becomes one
      that it can: what is computed is what the controls say. */
  function keepToControls() {
    for (const id of ["at", "dtype", "long", "beta", "length"]) {
      const control = byId(id);
      control.value = state[id]; // a slider stops at its ends
      if (control.tagName === "SELECT" && control.selectedIndex < 0) control.selectedIndex = 0;
      state[id] = typeof state[id] === "number" ? Number(control.value) : control.value;
    }
    const views = [...document.querySelectorAll("input[name=view]")].map((radio) => radio.value);
    if (!views.includes(state.view)) state.view = views[0];
  }

  /** The question of the address; without one, that of the report or the first example. */
  function restore() {
    recall();
    keepToControls();
    const { word } = state;
    if (source.state) Object.assign(state, source.state, word && { word });
    else complete();
  }

  /** An address that asks nothing asks the first example of its kind; one that names something known
      and no word asks it on its own word. */
  function complete() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has("k")) state.kind = source.kinds[0];
    const names = source.names[state.kind] ?? [];
    const named = given.has("f") ? names.find((entry) => entry.text === state.text) : names[0];
    if (!named || (given.has("f") && given.has("w"))) return;
    const { at } = state;
    Object.assign(state, questionOf(state.kind, named), at && { at });
    if (given.has("a")) state.alphabet = given.get("a");
  }

  function start() {
    setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    byId("kind").replaceChildren(...source.kinds.map((kind) => new Option(KINDS[kind] ?? kind, kind)));
    for (const id of ["text", "alphabet"]) byId(id).readOnly = !source.compiles;
    document.documentElement.dataset.mode = source.mode;
    byId("machines").hidden = source.mode === "report";
    restore();
    fillIn();
    listenToQuestions();
    listenToLooks();
    listenToButtons();
    listenToPrinting();
    softhat.tour.begin();
    showTab("meaning");
    byId("about").textContent = source.about;
    ask();
  }

  document.addEventListener("DOMContentLoaded", start);
  return { state, showTab };
})();
