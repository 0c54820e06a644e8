"use strict";
/* The truth of a formula at every position of a word, by definition (softhat/logic/semantics).

   Formulas come as a list of nodes, operands before operators: {op, args, …}. */

softhat.logic = (() => {
  const step = {
    // past operators walk to the right, future operators to the left
    Y: (a, n) => scan(n, 1, (i) => (i > 0 ? a[0][i - 1] : 0)),
    Z: (a, n) => scan(n, 1, (i) => (i > 0 ? a[0][i - 1] : 1)),
    O: (a, n) => scan(n, 1, (i, before) => a[0][i] | (i > 0 && before)),
    H: (a, n) => scan(n, 1, (i, before) => a[0][i] & (i > 0 ? before : 1)),
    S: (a, n) => scan(n, 1, (i, before) => a[1][i] | (a[0][i] & (i > 0 ? before : 0))),
    T: (a, n) => scan(n, 1, (i, before) => a[1][i] & (a[0][i] | (i > 0 ? before : 1))),
    X: (a, n) => scan(n, -1, (i) => (i < n - 1 ? a[0][i + 1] : 0)),
    N: (a, n) => scan(n, -1, (i) => (i < n - 1 ? a[0][i + 1] : 1)),
    F: (a, n) => scan(n, -1, (i, after) => a[0][i] | (i < n - 1 && after)),
    G: (a, n) => scan(n, -1, (i, after) => a[0][i] & (i < n - 1 ? after : 1)),
    U: (a, n) => scan(n, -1, (i, after) => a[1][i] | (a[0][i] & (i < n - 1 ? after : 0))),
    R: (a, n) => scan(n, -1, (i, after) => a[1][i] & (a[0][i] | (i < n - 1 ? after : 1))),
    W: (a, n) => scan(n, -1, (i, after) => a[1][i] | (a[0][i] & (i < n - 1 ? after : 1))),
    M: (a, n) => scan(n, -1, (i, after) => a[1][i] & (a[0][i] | (i < n - 1 ? after : 0))),
    "!": (a, n) => scan(n, 1, (i) => 1 - a[0][i]),
    "&": (a, n) => scan(n, 1, (i) => a[0][i] & a[1][i]),
    "|": (a, n) => scan(n, 1, (i) => a[0][i] | a[1][i]),
    xor: (a, n) => scan(n, 1, (i) => a[0][i] ^ a[1][i]),
    "->": (a, n) => scan(n, 1, (i) => (1 - a[0][i]) | a[1][i]),
    "<->": (a, n) => scan(n, 1, (i) => 1 - (a[0][i] ^ a[1][i])),
  };

  const relations = {
    "<": (x) => x < 0n,
    "<=": (x) => x <= 0n,
    "=": (x) => x === 0n,
    "!=": (x) => x !== 0n,
    ">=": (x) => x >= 0n,
    ">": (x) => x > 0n,
  };

  function scan(n, direction, value) {
    const row = new Uint8Array(n);
    let carried = 0;
    for (let k = 0; k < n; k++) {
      const i = direction > 0 ? k : n - 1 - k;
      carried = row[i] = Number(value(i, carried));
    }
    return row;
  }

  /** Σ a·count + constant, compared with 0, in integers of any size. */
  function compare(node, rows, n) {
    const sums = Array(n).fill(BigInt(node.constant));
    for (const [coefficient, kind, of] of node.terms) {
      const a = BigInt(coefficient);
      const counted = rows[of];
      const total = counted.reduce((sum, bit) => sum + bit, 0);
      let before = 0;
      for (let i = 0; i < n; i++) {
        const here = counted[i];
        const count = { past: before + here, future: total - before, total }[kind];
        sums[i] += a * BigInt(count);
        before += here;
      }
    }
    return scan(n, 1, (i) => relations[node.relation](sums[i]));
  }

  /** Operators with bounds: g at a distance from low to high, and f at every position on the way. */
  function within(node, operands, n) {
    const { sign, bounds: [low, high] } = node;
    const every = sign === "H" || sign === "G";
    const back = "OHS".includes(sign) ? 1 : -1;
    const f = operands.length === 2 ? operands[0] : new Uint8Array(n).fill(1);
    const g = operands[operands.length - 1];
    return scan(n, 1, (i) => {
      for (let d = 0, at = i; d <= high && at >= 0 && at < n; d++, at -= back) {
        if (d >= low && g[at] !== Number(every)) return 1 - Number(every);
        if (!f[at]) break;
      }
      return Number(every);
    });
  }

  function leaf(node, word) {
    const n = word.length;
    switch (node.op) {
      case "symbol":
        return scan(n, 1, (i) => (word[i] instanceof Set ? word[i].has(node.name) : word[i] === node.name));
      case "constant":
        return scan(n, 1, () => node.value);
      case "first":
        return scan(n, 1, (i) => i === 0);
      case "last":
        return scan(n, 1, (i) => i === n - 1);
      case "mod":
        return scan(n, 1, (i) => BigInt(i + 1) % BigInt(node.modulus) === BigInt(node.remainder));
      case "at": {
        const bits = node.rows ? node.rows[n - 1] : node.bits;
        if (!bits || bits.length < n) throw new Error(`the predicate ${node.name} is not known at this length`);
        return scan(n, 1, (i) => bits[i] === "1");
      }
      default:
        throw new Error(`unknown operator ${node.op}`);
    }
  }

  /** One row of truth values for each node. */
  function truth(nodes, word) {
    const rows = [];
    for (const node of nodes) {
      if (node.op === "compare") rows.push(compare(node, rows, word.length));
      else if (node.op === "window") rows.push(within(node, node.args.map((at) => rows[at]), word.length));
      else if (step[node.op]) rows.push(step[node.op](node.args.map((at) => rows[at]), word.length));
      else rows.push(leaf(node, word));
    }
    return rows;
  }

  /** The values that outputs stand for (softhat/frontends/rasp/outputs): text, a number or null. */
  function values(decoder, margins, n) {
    const on = (name, i) => margins[name][i] > 0;
    const scales = { 1: () => 1, "i+1": (i) => i + 2, "n+2": () => n + 2, "n+2-i": (i) => n + 1 - i };
    const at = {
      bits: (i) => decoder.values[decoder.names.findIndex((name) => on(name, i))] ?? null,
      digits: (i) => {
        if (decoder.defined !== null && !on(decoder.defined, i)) return null;
        return decoder.values[decoder.names.reduce((sum, name, k) => sum + on(name, i) * 2 ** k, 0)] ?? null;
      },
      numbers: (i) => {
        const found = decoder.cases.find(({ when }) => when === null || on(when, i));
        if (!found) return null;
        const sum = found.terms.reduce((total, [name, by]) => total + margins[name][i] * scales[by](i), found.constant);
        return found.whole ? Math.round(sum) : sum;
      },
    }[decoder.kind];
    return Array.from({ length: n }, (_, i) => at(i));
  }

  /** Equal, or numbers within an error. */
  const same = (a, b, error) => a === b || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) <= error + 1e-9);

  return { truth, values, same };
})();
