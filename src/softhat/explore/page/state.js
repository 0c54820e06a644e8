"use strict";
/* The one state of the page: what is asked, how it is looked at, and what stands on the screen.

   Every change of the input gets a new generation number. Whatever is computed remembers the
   generation it was begun in, and is thrown away if another has come: so nothing on the screen is
   the answer to a question that is no longer asked. */

softhat.state = (() => {
  const ASKED = { kind: "formula", text: "", word: "", alphabet: "", attention: "unbounded" };
  const LOOK = { at: "", output: "", beta: 0, view: "soft", dtype: "float64", long: "own", length: 0, enlarged: "", projector: "" };
  const IN_ADDRESS = { kind: "k", text: "f", word: "w", alphabet: "a", attention: "t", at: "r", output: "o", beta: "b", view: "v",
    dtype: "d", long: "l", length: "n", enlarged: "e", projector: "p" };

  const state = { ...ASKED, ...LOOK, chosen: null, generation: 0, status: "empty", complaint: null };

  const asked = () => Object.fromEntries(Object.keys(ASKED).map((name) => [name, state[name]]));

  /** A new question: what was asked before, and how it was looked at, is forgotten. */
  function begin(question) {
    const { projector } = state;
    Object.assign(state, ASKED, LOOK, { projector, chosen: null }, question);
  }

  function remember() {
    const fields = new URLSearchParams();
    for (const [name, key] of Object.entries(IN_ADDRESS)) if (state[name] !== "" && state[name] !== 0) fields.set(key, state[name]);
    try {
      history.replaceState(null, "", `#${fields}`);
    } catch {
      // in the frame of a notebook the page has no address of its own
    }
  }

  /** The state that the address holds; what it does not name is as at the beginning. */
  function recall() {
    const fields = new URLSearchParams(location.hash.slice(1));
    for (const [name, key] of Object.entries(IN_ADDRESS)) {
      const value = fields.get(key) ?? { ...ASKED, ...LOOK }[name];
      state[name] = typeof state[name] === "number" ? Number(value) || 0 : value;
    }
    state.chosen = null;
  }

  return { state, asked, begin, remember, recall };
})();
