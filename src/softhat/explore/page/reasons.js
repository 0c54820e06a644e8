"use strict";
/* Why a formula is true or false at a position: one sentence, from the definitions.

   `because` follows the part that decides; below two operators it only names parts. */

softhat.reasons = (() => {
  const MOST = 60; // characters of a part's text
  const HOLDS = { ">": ">", ">=": "≥", "<": "<", "<=": "≤", "=": "=", "!=": "≠" };
  const FAILS = { ">": "≤", ">=": "<", "<": "≥", "<=": ">", "=": "≠", "!=": "=" };

  const shortened = (text) => (text.length <= MOST ? `“${text}”` : `“${text.slice(0, MOST - 1)}…”`);

  function because(nodes, rows, word, root, position) {
    const last = word.length - 1;
    const quoted = (at) => shortened(nodes[at].text);
    const holds = (at, i) => Boolean(rows[at][i]);
    const said = (at, i) => `${quoted(at)} is ${holds(at, i) ? "true" : "false"} at position ${i + 1}`;

    /** The nearest position from i on (a step back or ahead) where a part has a value, or null. */
    function nearest(at, value, i, step) {
      for (let k = i; k >= 0 && k <= last; k += step) if (holds(at, k) === value) return k;
      return null;
    }

    function inner(at, i, depth) {
      const { op, args = [] } = nodes[at];
      const value = holds(at, i);
      const deeper = (part, k) => (depth >= 2 ? said(part, k) : inner(part, k, depth + 1));
      const step = "YZOHST".includes(op) ? -1 : 1;
      const [range, from] = step < 0 ? ["so far", "since"] : ["from here on", "before it"];
      const [f, g] = args;
      switch (op) {
        case "symbol":
          return `position ${i + 1} ${word[i] instanceof Set ? (value ? "has" : "lacks") : value ? "is" : "is not"} ${nodes[at].name}`;
        case "constant":
          return `${quoted(at)} is ${value ? "always" : "never"} true`;
        case "first": case "last": case "mod": case "at":
          return said(at, i);
        case "!":
          return inner(f, i, depth);
        case "&": case "|": {
          const deciding = (op === "&") !== value ? args.filter((part) => holds(part, i) === value).slice(0, 1) : args;
          return deciding.map((part) => deeper(part, i)).join(", and ");
        }
        case "->":
          return (value ? (holds(f, i) ? [g] : [f]) : [f, g]).map((part) => deeper(part, i)).join(", and ");
        case "xor": case "<->":
          return args.map((part) => said(part, i)).join(", and ");
        case "Y": case "Z": case "X": case "N": {
          const neighbour = i + step;
          return neighbour < 0 || neighbour > last ? `there is no position ${step < 0 ? "before" : "after"} ${i + 1}` : deeper(f, neighbour);
        }
        case "O": case "F":
          return value ? deeper(f, nearest(f, true, i, step)) : `${quoted(f)} is true nowhere ${range}`;
        case "H": case "G":
          return value ? `${quoted(f)} is true at every position ${range}` : deeper(f, nearest(f, false, i, step));
        case "S": case "U": case "W": {
          const found = nearest(g, true, i, step);
          const broken = nearest(f, false, i, step);
          if (!value) return found === null ? `${quoted(g)} is true nowhere ${range}${op === "W" ? `, and ${said(f, broken)}` : ""}` : `${quoted(g)} is true at position ${found + 1}, but ${said(f, broken)}`;
          if (found === null || (op === "W" && broken === null)) return `${quoted(f)} is true at every position ${range}`;
          return found === i ? said(g, i) : `${quoted(g)} is true at position ${found + 1}, and ${quoted(f)} at every position ${from}`;
        }
        case "T": case "R": case "M": {
          const broken = nearest(g, false, i, step);
          const released = nearest(f, true, i, step);
          if (broken === null && (value ? op !== "M" || released === null : true)) return value ? `${quoted(g)} is true at every position ${range}` : `${quoted(f)} is true nowhere ${range}`;
          if (!value) return `${said(g, broken)}, and ${quoted(f)} has not come first`;
          return `${quoted(f)} is true at position ${released + 1}, and ${quoted(g)} at every position up to it`;
        }
        case "compare":
          return counts(at, i);
        default:
          return said(at, i);
      }
    }

    /** The counts that a comparison compares, and what comes out where that is not seen at once. */
    function counts(at, i) {
      const { terms, constant, relation } = nodes[at];
      const sign = { past: "#", future: "#>", total: "#*" };
      const countOf = (of, kind) => rows[of].slice(kind === "future" ? i : 0, kind === "past" ? i + 1 : word.length).reduce((sum, bit) => sum + bit, 0);
      const counted = terms.map(([, kind, of]) => {
        const name = nodes[of].text === "true" ? { past: "i", future: "the positions left", total: "n" }[kind] : `${sign[kind]}(${nodes[of].text})`;
        return `${name} is ${countOf(of, kind)}`;
      });
      if (!counted.length) return `its sides are ${constant} apart`;
      /** What is added (sign 1) or taken away (-1), as numbers. */
      const side = (sign) => {
        const parts = terms.filter(([coefficient]) => coefficient.startsWith("-") === sign < 0).map(([coefficient, kind, of]) => {
          const times = coefficient.replace("-", "");
          return times === "1" ? String(countOf(of, kind)) : `${times}·${countOf(of, kind)}`;
        });
        if (constant !== "0" && constant.startsWith("-") === sign < 0) parts.push(constant.replace("-", ""));
        return parts.join(" + ") || "0";
      };
      const plain = constant === "0" && terms.length < 3 && terms.every(([coefficient]) => ["1", "-1"].includes(coefficient));
      const result = plain ? "" : `: ${side(1)} ${(holds(at, i) ? HOLDS : FAILS)[relation]} ${side(-1)}`;
      return `at position ${i + 1} ${counted.join(" and ")}${result}`;
    }

    return inner(root, position, 0);
  }

  return { because, shortened };
})();
