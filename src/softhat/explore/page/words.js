"use strict";
/* Words: read from what is typed, written for people, and made long to be hard. */

softhat.words = (() => {
  const single = (symbols) => symbols.every((symbol) => [...symbol].length === 1);

  const tokenText = (token) => (token instanceof Set ? `{${[...token].join(",")}}` : token);

  function sets(text) {
    if (text.replace(/\{[^{}]*\}/g, "").trim()) throw new Error("a word over propositions is written {p} {} {p,q}");
    return (text.match(/\{[^{}]*\}/g) ?? []).map((set) => new Set(set.slice(1, -1).split(",").map((p) => p.trim()).filter(Boolean)));
  }

  /** What is typed, cut into symbols: characters, or tokens between spaces. */
  function pieces(text, symbols) {
    const plain = text.trim();
    return /\s/.test(plain) || !single(symbols) ? plain.split(/\s+/).filter(Boolean) : [...plain];
  }

  /** The word that was typed, over a model's alphabet; throws a sentence about what is wrong. */
  function parse(text, view) {
    const known = new Set(view.alphabet);
    const word = view.propositional ? sets(text) : pieces(text, view.alphabet);
    for (const [k, token] of word.entries()) {
      for (const symbol of token instanceof Set ? token : [token]) {
        if (!known.has(symbol)) throw new Error(`symbol ${JSON.stringify(symbol)} at position ${k + 1} is not in the alphabet (${view.alphabet.join(" ")})`);
      }
    }
    if (!word.length) throw new Error("the empty word has no position: give at least one symbol");
    if (view.longest !== null && word.length > view.longest) throw new Error(`the model is made for words of at most ${view.longest} symbols, and this one has ${word.length}`);
    return word;
  }

  /** Whether a model whose alphabet was inferred is the one that this word would give. */
  function agrees(text, view) {
    if (view.alphabet_from !== "inferred") return true;
    const seen = text.includes("{") ? sets(text).flatMap((set) => [...set]) : pieces(text, view.used);
    const inferred = new Set([...view.used, ...seen]);
    return text.includes("{") === view.propositional && inferred.size === view.alphabet.length && view.alphabet.every((symbol) => inferred.has(symbol));
  }

  /** A word of length n that is hard in one way: far back, on the threshold, or random. */
  function made(kind, n, own, view) {
    const letters = view.propositional ? [new Set(), ...view.alphabet.map((p) => new Set([p]))] : view.alphabet;
    if (kind === "edge") return Array.from({ length: n }, (_, k) => letters[k % Math.min(2, letters.length)]);
    if (kind === "random") {
      let seed = 12345;
      return Array.from({ length: n }, () => letters[(seed = (seed * 1103515245 + 12345) % 2147483648) % letters.length]);
    }
    const mentioned = new Set((view.formula?.nodes ?? []).filter((node) => node.op === "symbol").map((node) => node.name));
    const quiet = view.propositional ? new Set() : letters.find((symbol) => !mentioned.has(symbol)) ?? letters[letters.length - 1];
    return [own[0], ...Array(Math.max(0, n - 1)).fill(quiet)].slice(0, n);
  }

  /** A word in short: equal neighbours are counted, and a long rest is left out. */
  function shortly(word, most = 12) {
    const runs = [];
    for (const token of word.map(tokenText)) {
      if (runs.length && runs[runs.length - 1].token === token) runs[runs.length - 1].count++;
      else runs.push({ token, count: 1 });
    }
    const said = runs.map(({ token, count }) => (count < 3 ? Array(count).fill(token).join(" ") : `${token}×${count}`));
    return said.length > most ? `${said.slice(0, most).join(" ")} …` : said.join(" ");
  }

  return { parse, agrees, made, shortly, tokenText };
})();
