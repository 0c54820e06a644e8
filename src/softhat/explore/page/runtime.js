"use strict";
/* The forward pass in the browser: softmax attention, ReLU feed-forward, nothing else.

   It reads like softhat/runtime/dense.py, with the same names. Weights come as data from Python.
   `factor` multiplies every inverse temperature; `hard` averages over the argmax sets instead;
   `dtype` rounds what the dense runtime stores (sums are taken in double precision, so this shows
   what storing in a narrow format does, not every order of summation). */

const softhat = {};

softhat.formats = (() => {
  const bits = new DataView(new ArrayBuffer(8));

  /** x rounded to `digits` significant bits, to nearest, ties to even. */
  function narrow(x, digits, least, largest) {
    if (x === 0 || !Number.isFinite(x)) return x;
    bits.setFloat64(0, x);
    const exponent = ((bits.getUint32(0) >>> 20) & 0x7ff) - 1023;
    const grid = 2 ** (Math.max(exponent, least) - digits + 1);
    const scaled = x / grid;
    const floor = Math.floor(scaled);
    const rest = scaled - floor;
    const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
    const rounded = (floor + (up ? 1 : 0)) * grid;
    return Math.abs(rounded) > largest ? Math.sign(x) * Infinity : rounded;
  }

  return {
    float64: (x) => x,
    float32: Math.fround,
    float16: (x) => narrow(Math.fround(x), 11, -14, 65504),
    bfloat16: (x) => narrow(Math.fround(x), 8, -126, (2 - 2 ** -7) * 2 ** 127),
  };
})();

softhat.laws = (() => {
  const fraction = (text) => {
    const [above, below] = String(text).split("/");
    return Number(above) / Number(below ?? 1);
  };

  function logLcm(n) {
    let log = 0;
    const composite = new Uint8Array(n + 1);
    for (let p = 2; p <= n; p++) {
      if (composite[p]) continue;
      for (let q = p * p; q <= n; q += p) composite[q] = 1;
      log += Math.log(p) * Math.floor(Math.log(n) / Math.log(p) + 1e-12);
    }
    return log;
  }

  /** ln of a law (data as in softhat/laws) at n. */
  function logAt(law, n) {
    if (typeof law === "string") return Math.log(fraction(law));
    if ("table" in law) {
      return n <= law.table.length ? Math.log(fraction(law.table[n - 1])) : logAt(law.beyond, n);
    }
    const [kind, of] = Object.entries(law)[0];
    switch (kind) {
      case "n":
        return Math.log(Math.max(1, n + of));
      case "lcm":
        return logLcm(Math.max(1, n + of));
      case "power_of_two":
        return Math.ceil(Math.log2(Math.max(1, n + of)) - 1e-12) * Math.LN2;
      case "sum": {
        const logs = of.map((part) => logAt(part, n));
        const top = Math.max(...logs);
        return top + Math.log(logs.reduce((sum, x) => sum + Math.exp(x - top), 0));
      }
      case "product":
        return of.reduce((sum, part) => sum + logAt(part, n), 0);
      case "max":
        return Math.max(...of.map((part) => logAt(part, n)));
      case "min":
        return Math.min(...of.map((part) => logAt(part, n)));
      case "log":
        return Math.log(logAt(of, n));
      case "power":
        return of[1] * logAt(of[0], n);
      case "rounded_up": {
        const log2 = logAt(of[0], n) / Math.LN2;
        const exponent = Math.floor(log2 + 1e-12) + 1 - of[1];
        return Math.log(Math.ceil(2 ** (log2 - exponent) - 1e-9)) + exponent * Math.LN2;
      }
      default:
        throw new Error(`not a law: ${kind}`);
    }
  }

  /** The value of a law at n, as Python computes it; Infinity where that is too large. */
  function at(law, n) {
    if (typeof law === "string") return fraction(law);
    if ("table" in law) return n <= law.table.length ? fraction(law.table[n - 1]) : at(law.beyond, n);
    const [kind, of] = Object.entries(law)[0];
    switch (kind) {
      case "n":
        return Math.max(1, n + of);
      case "lcm":
        return Math.round(Math.exp(logLcm(Math.max(1, n + of))));
      case "power_of_two":
        return 2 ** Math.ceil(Math.log2(Math.max(1, n + of)));
      case "sum":
        return of.reduce((sum, part) => sum + at(part, n), 0);
      case "product":
        return of.reduce((product, part) => product * at(part, n), 1);
      case "max":
        return Math.max(...of.map((part) => at(part, n)));
      case "min":
        return Math.min(...of.map((part) => at(part, n)));
      case "log":
        return logAt(of, n);
      case "power":
        return at(of[0], n) ** of[1];
      case "rounded_up": {
        const value = at(of[0], n);
        const exponent = Math.floor(Math.log2(value)) + 1 - of[1];
        return Math.ceil(value / 2 ** exponent - 1e-9) * 2 ** exponent;
      }
      default:
        throw new Error(`not a law: ${kind}`);
    }
  }

  return { logAt, at };
})();

softhat.runtime = (() => {
  const { formats } = softhat;
  const nextPowerOfTwo = (n) => 2 ** Math.ceil(Math.log2(n));

  /** P: what positions are divided by. */
  const scale = (model, n) => (model.attention === "temperature" ? nextPowerOfTwo(n + 2) : 1);

  /** A position feature (data as in softhat/positions.py) at position i of a word of length n. */
  function feature(data, i, n, P, bos) {
    const ordinary = i >= 1 && i <= n;
    if (data.mod) {
      const [modulus, remainder] = data.mod;
      return (data.sinks || ordinary) && i % modulus === remainder ? 1 : 0;
    }
    if (data.digit) {
      const [bit, position, length, constant] = data.digit;
      const number = Math.max(0, position * i + length * n + constant);
      return ordinary ? Math.floor(number / 2 ** bit) % 2 : 0;
    }
    if (data.rows) {
      if (n > data.rows.length) throw new Error(`a predicate is known to length ${data.rows.length}`);
      return ordinary && data.rows[n - 1][i - 1] === "1" ? 1 : 0;
    }
    if (data.table) {
      const at = bos ? i : i - 1;
      if (i > n) return 0;
      if (at >= data.table.length) throw new Error(`the position table ends at ${data.table.length}`);
      return data.table[at];
    }
    const own = ordinary ? i : 0;
    const share = /^i\/n\^(\d)$/.exec(data.name);
    if (share) return own / n ** Number(share[1]);
    const value = {
      "1": 1,
      i: own,
      n,
      "i/n": own / n,
      "1/i": own ? 1 / own : 0,
      "(-1)^i": i % 2 ? -1 : 1,
      "i^2": own * own,
      r: ordinary ? n + 1 - i : 0,
      ordinary: ordinary ? 1 : 0,
      first: i === 1 ? 1 : 0,
      last: ordinary && i === n ? 1 : 0,
    }[data.name];
    if (value === undefined) throw new Error(`unknown position feature ${data.name}`);
    return data.scaled ? value / P : value;
  }

  /** The rows of a matrix without their zeros, as stored in a format. */
  function rowsOf(matrix, load) {
    return matrix.map((row) => {
      const at = [];
      const weights = [];
      row.forEach((x, c) => {
        const stored = load(x);
        if (stored !== 0) {
          at.push(c);
          weights.push(stored);
        }
      });
      return { at, weights };
    });
  }

  const dot = (row, x, start) => {
    let sum = 0;
    for (let k = 0; k < row.at.length; k++) sum += row.weights[k] * x[start + row.at[k]];
    return sum;
  };

  /** A model's weights in a number format, made once. */
  function ready(model, dtype = "float64") {
    const load = formats[dtype];
    return {
      model,
      dtype,
      load,
      d: model.d_model,
      embedding: model.embedding.map((row) => row.map(load)),
      positions: rowsOf(model.position_embedding, load),
      layers: model.layers.map((layer) => ({
        heads: layer.heads.map((head) => ({
          mask: head.mask,
          beta: head.beta,
          sharpness: head.sharpness,
          query: rowsOf(head.query, load),
          key: rowsOf(head.key, load),
          value: rowsOf(head.value, load),
          output: rowsOf(head.output, load),
        })),
        into: rowsOf(layer.into, load),
        intoBias: layer.into_bias.map(load),
        out: rowsOf(layer.out, load),
        outBias: layer.out_bias.map(load),
      })),
      readout: rowsOf(model.readout, load),
      readoutBias: model.readout_bias.map(load),
    };
  }

  /** Rows of the residual stream: the sinks and the word. */
  const places = (model, n) => {
    const bos = model.sinks.includes("<bos>");
    const eos = model.sinks.includes("<eos>");
    return { bos, eos, first: bos ? 0 : 1, rows: n + bos + eos };
  };

  function embed(r, word) {
    const { model, load, d } = r;
    const n = word.length;
    const { bos, eos, first, rows } = places(model, n);
    const P = scale(model, n);
    const k = model.symbols.length;
    const number = new Map(model.symbols.map((symbol, at) => [symbol, at]));
    const x = new Float64Array(rows * d);
    for (let row = 0; row < rows; row++) {
      const i = row + first;
      const tokens =
        bos && row === 0 ? [k]
        : eos && row === rows - 1 ? [k + (bos ? 1 : 0)]
        : model.propositional ? [...word[i - 1]].map((p) => number.get(p))
        : [number.get(word[i - 1])];
      const features = model.positions.map((data) => load(feature(data, i, n, P, bos)));
      for (let c = 0; c < d; c++) {
        let sum = 0;
        for (const token of tokens) sum += r.embedding[token][c];
        x[row * d + c] = load(sum + dot(r.positions[c], features, 0));
      }
    }
    return x;
  }

  const visible = {
    none: () => true,
    "<=": (i, j) => j <= i,
    "<": (i, j) => j < i,
    ">=": (i, j) => j >= i,
    ">": (i, j) => j > i,
  };

  function inverseTemperature(r, head, n) {
    if (head.beta) return softhat.laws.at(head.beta, n);
    return r.model.attention === "temperature" ? head.sharpness * scale(r.model, n) : 1;
  }

  function projected(rows, x, d, count, load) {
    const result = new Float64Array(count * rows.length);
    for (let i = 0; i < count; i++) {
      for (let c = 0; c < rows.length; c++) result[i * rows.length + c] = load(dot(rows[c], x, i * d));
    }
    return result;
  }

  /** One head: scores (-inf where masked), weights and outputs, a row for each query. */
  function attend(r, head, x, n, rows, { factor, hard, keep }) {
    const from = Math.max(0, rows - keep); // maps are kept from this row on
    const { load, d } = r;
    const width = head.query.length;
    const values = head.value.length;
    const q = projected(head.query, x, d, rows, load);
    const k = projected(head.key, x, d, rows, load);
    const v = projected(head.value, x, d, rows, load);
    const beta = inverseTemperature(r, head, n) * factor;
    const sees = visible[head.mask];
    const out = new Float64Array(rows * values);
    const scores = new Float64Array((rows - from) * rows).fill(-Infinity);
    const weights = new Float64Array((rows - from) * rows);
    const line = new Float64Array(rows);
    for (let i = 0; i < rows; i++) {
      let top = -Infinity;
      for (let j = 0; j < rows; j++) {
        if (!sees(i, j)) {
          line[j] = -Infinity;
          continue;
        }
        let s = 0;
        for (let c = 0; c < width; c++) s += q[i * width + c] * k[j * width + c];
        line[j] = load(s * beta);
        if (line[j] > top) top = line[j];
      }
      if (i >= from) scores.set(line, (i - from) * rows);
      if (top === -Infinity) continue; // a row without keys gives 0
      let total = 0;
      const slack = hard ? 1e-9 * Math.max(1, Math.abs(top)) : 0;
      for (let j = 0; j < rows; j++) {
        line[j] = hard ? (line[j] >= top - slack ? 1 : 0) : load(Math.exp(line[j] - top));
        total += line[j];
      }
      for (let c = 0; c < values; c++) {
        let sum = 0;
        for (let j = 0; j < rows; j++) if (line[j] !== 0) sum += line[j] * v[j * values + c];
        out[i * values + c] = load(sum / total);
      }
      if (i >= from) for (let j = 0; j < rows; j++) weights[(i - from) * rows + j] = line[j] / total;
    }
    return { from, scores, weights, out, beta };
  }

  /** Everything that happens on one word (symbols, or sets of propositions); of long words only
      the last `keep` rows of the maps. */
  function run(r, word, options = {}) {
    const { factor = 1, hard = false, keep = Infinity } = options;
    const { model, load, d } = r;
    const n = word.length;
    const { bos, first, rows } = places(model, n);
    let x = embed(r, word);
    const residual = [x];
    const layers = [];
    for (const layer of r.layers) {
      const heads = layer.heads.map((head) => attend(r, head, x, n, rows, { factor, hard, keep }));
      const next = Float64Array.from(x);
      layer.heads.forEach((head, h) => {
        const width = head.value.length;
        for (let i = 0; i < rows; i++) {
          for (let c = 0; c < d; c++) next[i * d + c] += dot(head.output[c], heads[h].out, i * width);
        }
      });
      if (layer.heads.length) for (let c = 0; c < next.length; c++) next[c] = load(next[c]);
      if (layer.into.length) {
        const hidden = new Float64Array(layer.into.length);
        for (let i = 0; i < rows; i++) {
          for (let u = 0; u < hidden.length; u++) {
            hidden[u] = load(Math.max(0, dot(layer.into[u], next, i * d) + layer.intoBias[u]));
          }
          const added = layer.out.map((row, c) => dot(row, hidden, 0) + layer.outBias[c]);
          for (let c = 0; c < d; c++) next[i * d + c] = load(next[i * d + c] + added[c]);
        }
      }
      x = next;
      residual.push(x);
      layers.push({ heads });
    }
    const margins = {};
    model.outputs.forEach((name, o) => {
      margins[name] = Float64Array.from({ length: n }, (_, i) =>
        load(dot(r.readout[o], x, (i + (bos ? 1 : 0)) * d) + r.readoutBias[o]));
    });
    return { n, rows, first, residual, layers, margins };
  }

  return { ready, run, embed, feature, places, scale, inverseTemperature };
})();

if (typeof module !== "undefined") module.exports = softhat;
