"use strict";
/* What a model answers: soft and hard attention on a word, the truth, and where they part. */

softhat.answers = (() => {
  const { runtime, logic, words } = softhat;
  const KEPT = 64; // rows of the maps that are kept: as many as a map shows

  /** A model that answers. What it has computed is kept with it, and goes when it goes. */
  function of(view) {
    const weights = {};
    const ready = (dtype) => (weights[dtype] ??= runtime.ready(view.transformer, dtype));
    const outputOf = (name) => view.outputs.find((one) => one.name === name) ?? view.outputs[0];
    const keyOf = (word) => word.map(words.tokenText).join("\u0001");
    let lastHard = { key: null, run: null };

    function hard(word) {
      const key = keyOf(word);
      if (lastHard.key !== key) lastHard = { key, run: runtime.run(ready("float64"), word, { hard: true, keep: KEPT }) };
      return lastHard.run;
    }

    function run(word, { factor = 1, dtype = "float64", output = "", keep = KEPT } = {}) {
      const one = outputOf(output);
      const soft = runtime.run(ready(dtype), word, { factor, keep });
      const exact = hard(word);
      const truth = view.formula ? logic.truth(view.formula.nodes, word) : null;
      const margins = soft.margins[one.name];
      const values = exact.margins[one.name];
      const expected = truth ? truth[one.root] : values.map((value) => (value > 0 ? 1 : 0));
      const wrong = Array.from(margins, (margin, i) => margin > 0 !== Boolean(expected[i]));
      const signed = Array.from(margins, (margin, i) => (expected[i] ? margin : -margin));
      const answered = { word, factor, dtype, output: one, soft, hard: exact, truth, margins, values, expected, wrong, signed };
      return view.decoder ? { ...answered, ...decoded(answered) } : answered;
    }

    /** A RASP program: its values, where they differ from hard attention's, and the least distance
        of any output from being read otherwise. */
    function decoded({ word, dtype, soft, hard: exact }) {
      const error = view.decoder.errors?.[dtype] ?? 0;
      const [values, meant] = [soft, exact].map((one) => logic.values(view.decoder, one.margins, word.length));
      const wrong = values.map((value, i) => !logic.same(value, meant[i], error));
      const named = view.decoder.cases ? view.decoder.cases.map((one) => one.when).filter(Boolean) : view.transformer.outputs;
      const signed = values.map((_, i) => {
        const bits = named.map((name) => (exact.margins[name][i] > 0 ? 1 : -1) * soft.margins[name][i]);
        return Math.min(wrong[i] ? -0.5 : 0.5, ...bits);
      });
      return { decoded: values, meant, wrong, signed };
    }

    const TRIED = 31; // temperatures of the scale at which a word is run

    /** The factor at which an answer on this word first breaks, on the way down from the certified one:
        between two that were tried, by bisection. Null if none breaks, 1 if not even there all are right.
        Answers that broke may be right again where it is warmer still. */
    function critical(word, output, tried) {
      const right = (factor) => !run(word, { factor, output, keep: 0 }).wrong.includes(true); // a margin of 0 can be right
      if (!right(1)) return 1;
      const broken = tried.findLastIndex(({ factor, wrong }) => wrong && factor < 1);
      if (broken < 0) return null;
      let [warm, cold] = [Math.log10(tried[broken].factor), Math.min(0, Math.log10(tried[broken + 1].factor))];
      for (let k = 0; k < 30; k++) {
        const middle = (warm + cold) / 2;
        if (right(10 ** middle)) cold = middle;
        else warm = middle;
      }
      return 10 ** cold;
    }

    let lastCurve = { key: null, points: [], critical: null };
    const curveKey = (word, output) => `${output} ${keyOf(word)}`;
    const hasCurve = (word, output) => lastCurve.key === curveKey(word, output);
    /** The least margin at some temperatures, and the critical one. */
    function curve(word, output, low, high) {
      if (!hasCurve(word, output)) {
        const factors = Array.from({ length: TRIED }, (_, k) => 10 ** (low + (k * (high - low)) / (TRIED - 1)));
        const tried = factors.map((factor) => {
          const { signed, wrong } = run(word, { factor, output, keep: 0 });
          return { factor, least: Math.min(...signed), wrong: wrong.includes(true) };
        });
        lastCurve = { key: curveKey(word, output), points: tried.map(({ factor, least }) => [factor, least]), critical: critical(word, output, tried) };
      }
      return lastCurve;
    }

    /** The least gap of each head on this word, without its temperature: what γ(n) bounds. */
    const gaps = (answered) => answered.hard.layers.map((layer) => layer.heads.map((head) => {
      let least = Infinity;
      for (let row = head.from; row < answered.hard.rows; row++) least = Math.min(least, rowKind(head, row, answered.hard.rows).gap / head.beta);
      return Number.isFinite(least) ? least : null;
    }));

    return { view, run, hasCurve, curve, gaps };
  }

  /** Scores of the keys that a row sees, -Infinity elsewhere. */
  const scoresOf = (head, row, size) => head.scores.subarray((row - head.from) * size, (row - head.from + 1) * size);
  const weightsOf = (head, row, size) => head.weights.subarray((row - head.from) * size, (row - head.from + 1) * size);

  /** The kind of a row, from its scores: uniform, tieless or tied; and its gap. */
  function rowKind(head, row, size) {
    const seen = Array.from(scoresOf(head, row, size)).filter((s) => s > -Infinity);
    if (!seen.length) return { kind: "empty", gap: Infinity };
    const top = Math.max(...seen);
    const slack = 1e-9 * Math.max(1, Math.abs(top));
    const losers = seen.filter((s) => s < top - slack);
    const winners = seen.length - losers.length;
    const gap = losers.length ? top - Math.max(...losers) : Infinity;
    return { kind: !losers.length ? "uniform" : winners === 1 ? "tieless" : "tied", gap };
  }

  /** The attention that a row of softmax puts where hard attention puts none. */
  function leakOf(soft, hard, row, size) {
    const [spread, chosen] = [weightsOf(soft, row, size), weightsOf(hard, row, size)];
    let leak = 0;
    for (let c = 0; c < size; c++) if (!chosen[c]) leak += spread[c];
    return leak;
  }

  return { of, rowKind, leakOf, scoresOf, weightsOf, KEPT };
})();
