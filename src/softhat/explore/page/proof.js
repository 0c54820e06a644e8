"use strict";
/* Why it is right, and until when: margins, temperatures, certified lengths, laws, the proof. */

softhat.proof = (() => {
  const { pictures, words, meaning } = softhat;
  const { byId, make, inverseTemperature, valueText, certifiedTo } = softhat.parts;

  function draw({ view, run, state, failure, model }) {
    answer(view, run, state);
    margins(run);
    byId("beta-shown").textContent = inverseTemperature(view, run.factor);
    byId("beta-means").textContent = view.unit.name === "C" ? "Scores are multiplied by C before softmax." : "Scores are multiplied by β before softmax; β(n) is the law that is certified.";
    byId("length-shown").textContent = `${run.word.length}`;
    meter(view, run, failure);
    failureSaid(failure);
    if (view.attention === "temperature") laws(view, run.word.length, model.gaps(run));
    else byId("laws").replaceChildren();
    why(view);
  }

  /** Does softmax give the right answers, in this format and at this temperature? */
  function answer(view, run, state) {
    const place = byId("answer");
    const wrong = run.wrong.filter(Boolean).length;
    place.className = wrong ? "wrong" : "right";
    const said = answerAt(view, run, meaning.readAt(run, state));
    const [wrongly, rightly] = said ? [`${said}; `, `${said}, and `] : ["", ""];
    place.textContent = wrong ? `✘ ${wrongly}wrong at ${wrong} of ${run.wrong.length} positions` : `✔ ${rightly}right at every position`;
    byId("answer-how").textContent = `softmax in ${run.dtype} at ${inverseTemperature(view, run.factor)}; ${promised(view, run)}`;
  }

  /** What softmax answers where the word is read; nothing while that is to be chosen. */
  function answerAt(view, run, at) {
    if (view.decoder) at ??= run.word.length - 1;
    if (at === null) return "";
    return `${view.decoder ? valueText(run.decoded[at]) : run.margins[at] > 0 ? "true" : "false"} at position ${at + 1}`;
  }

  /** Whether the certificate speaks of what is on the screen. */
  function promised(view, run) {
    const certified = certifiedTo(view, run.dtype) ?? 0;
    if (run.factor !== 1) return "nothing is certified at this temperature";
    if (run.word.length > certified) return certified ? `certified to length ${certified.toLocaleString("en")}, not here` : "nothing is certified in this format";
    return "certified";
  }

  function margins(run) {
    const columns = meaning.shown(run.word.length);
    const labels = columns.map((at) => ({ place: at + 1, token: words.tokenText(run.word[at]) }));
    const title = `margins; least ${pictures.signed(Math.min(...run.signed), 4)}`;
    const picture = () => pictures.bars(title, columns.map((at) => run.margins[at]), labels, columns.map((at) => run.wrong[at]));
    const said = run.decoded ? "How far each value is from another one; a wrong value is red." : "How far each answer is from the other one: a bar up says true, down false; a wrong one is red.";
    byId("margins").replaceChildren(picture(), make("p", { className: "said", textContent: said }), pictures.keep("margins", picture));
  }

  /** The least margin against the inverse temperature, and where answers break. */
  function temperatures(view, factor, { points, critical }, low, high) {
    const unit = view.unit;
    const picture = () => pictures.plot({
      title: "least margin on this word, by inverse temperature",
      lines: [{ points: points.map(([f, m]) => [Math.log10(f), m]), colour: pictures.css("--accent") }],
      marks: [
        ...(critical ? [{ at: Math.log10(critical), name: "critical here", colour: pictures.css("--wrong") }] : []),
        { at: 0, name: "certified", colour: pictures.css("--right") },
        { at: Math.log10(factor), name: "", colour: pictures.css("--ink"), here: true },
      ],
      x: { name: `${unit.name} (logarithmic)`, show: (v) => String(Number((unit.base * 10 ** v).toPrecision(4))) },
      y: { show: (v) => (v ? pictures.signed(v, 2) : "0"), zero: true },
    });
    byId("curve").classList.remove("old");
    byId("curve").replaceChildren(picture(), pictures.keep("least-margin", picture));
    ticks(low, high, [...(critical ? [{ at: Math.log10(critical), name: "critical" }] : []), { at: 0, name: "certified" }]);
    const certified = `certified for every word at ${inverseTemperature(view, 1)}`;
    byId("beta-said").textContent = critical
      ? `on this word answers stay right down to ${inverseTemperature(view, critical)}; ${certified}`
      : `on this word no temperature that was tried breaks an answer; ${certified}`;
    document.body.dataset.critical = critical ? String(critical) : "";
  }

  /** The curve on the screen is of another word or model. */
  function temperaturesToCome(low, high) {
    byId("curve").classList.add("old");
    byId("beta-said").textContent = "looking for where answers break on this word …";
    ticks(low, high, [{ at: 0, name: "certified" }]);
    document.body.dataset.critical = "";
  }

  function noTemperatures(most, low, high) {
    byId("beta-said").textContent = `the critical value is looked for to ${most} positions`;
    byId("curve").replaceChildren();
    ticks(low, high, [{ at: 0, name: "certified" }]);
    document.body.dataset.critical = "";
  }

  /** Triangles under the slider. The name of the first of two ends at its triangle, unless that is
      too far left: names never meet. */
  function ticks(low, high, marks) {
    byId("beta-ticks").replaceChildren(...marks.map((mark, k) => {
      const share = (mark.at - low) / (high - low);
      const before = k < marks.length - 1 && share > 0.25;
      const tick = make("span", { className: before ? "before" : "", textContent: mark.name });
      tick.style[before ? "right" : "left"] = `${100 * (before ? 1 - share : share)}%`;
      return tick;
    }));
  }

  function meter(view, run, failure) {
    const picture = () => pictures.meter("certified lengths", run.word.length, view.certificate.lengths, failure?.word.length);
    byId("meter").replaceChildren(picture(), pictures.keep("certified-lengths", picture));
  }

  /** The word on which the first failure was found, and what went wrong. */
  function failureSaid(failure) {
    const place = byId("failure");
    place.hidden = !failure;
    if (!failure) return;
    const { word, run } = failure;
    const at = run.wrong.indexOf(true);
    const [got, meant] = run.decoded ? [run.decoded[at], run.meant[at]].map(valueText) : [run.margins[at] > 0, Boolean(run.expected[at])];
    place.textContent = `The word ${words.shortly(word)} of length ${word.length} fails in ${run.dtype}: position ${at + 1} gives ${got} and should give ${meant}.`;
  }

  /** γ(n) and β(n) on logarithmic scales, with measured gaps as dots. */
  function laws(view, n, gaps) {
    const lengths = Array.from({ length: 40 }, (_, k) => Math.round(10 ** (k / 10))).filter((x, k, all) => k === 0 || x !== all[k - 1]);
    const plots = [];
    view.transformer.layers.forEach((layer, l) => layer.heads.forEach((head, h) => {
      const curve = (law, name, colour, dashed) => ({ name, colour, dashed,
        points: lengths.map((x) => [Math.log10(x), softhat.laws.logAt(law, x) / Math.LN10]) });
      const lines = [
        ...(head.gap ? [curve(head.gap, "γ(n) proved", pictures.colourOf(1), false)] : []),
        ...(head.beta !== "1" ? [curve(head.beta, "β(n)", pictures.colourOf(0), true)] : []),
      ];
      if (!lines.length) return;
      const dots = head.gap && gaps[l][h] ? [[Math.log10(n), Math.log10(gaps[l][h])]] : [];
      const picture = () => pictures.plot({
        title: `layer ${l}, head ${h}: β(n) = ${head.law_text}${head.gap_text ? `, γ(n) ≥ ${head.gap_text}` : ""}`,
        lines, dots, marks: [{ at: Math.log10(n), name: `n = ${n}`, colour: pictures.css("--ink"), here: true }],
        x: { name: "n (logarithmic); dot: the least gap on this word", show: (v) => Math.round(10 ** v).toLocaleString("en") },
        y: { show: pictures.decimal },
      });
      plots.push(picture(), pictures.keep(`laws-${l}-${h}`, picture));
    }));
    byId("laws").replaceChildren(...plots);
  }

  let proofOf = null; // the model whose proof stands on the page
  /** The proof: what is right and why, head by head; lengths and assumptions can be opened. */
  function why(view) {
    if (proofOf === view) return;
    proofOf = view;
    const { why: reasons, assumes, badges } = view.certificate;
    const paragraphs = (lines) => lines.map((sentence) => make("p", { textContent: sentence }));
    const more = make("details", {}, make("summary", { textContent: "lengths, and what the proof assumes" }), ...paragraphs(assumes));
    const said = make("p", { className: "badges" }, ...badges.map((text) => make("span", { textContent: text })));
    byId("why").replaceChildren(...(badges.length ? [said] : []), ...paragraphs(reasons), ...(assumes.length ? [more] : []));
  }

  return { draw, temperatures, temperaturesToCome, noTemperatures };
})();
