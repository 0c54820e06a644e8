"use strict";
/* Where models come from: a server that compiles what is typed, a catalogue that was compiled
   beforehand, or the one model of a report.

   `view(asked, signal)` gives a model as data, or throws {error, field} in words for people. */

softhat.source = (() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const NO_COMPILER = "this page has no compiler: choose one of its names, or run softhat explore";

  async function fromServer(asked, signal) {
    let reply;
    try {
      reply = await fetch("api/view", { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) });
    } catch {
      throw { error: "the server does not answer: is softhat explore still running?", field: "text" };
    }
    const said = await reply.json();
    if (!reply.ok) throw said;
    return said;
  }

  async function fromCatalogue({ kind, text, attention }) {
    const entry = data.catalogue.find((one) => one.kind === kind && one.text === text);
    if (!entry) throw { error: NO_COMPILER, field: "text" };
    return entry.views[attention] ?? entry.views[Object.keys(entry.views)[0]];
  }

  const kept = {
    served: { compiles: true, view: fromServer },
    catalogue: { compiles: false, view: fromCatalogue },
    report: { compiles: false, view: async () => data.view },
  }[data.mode];

  return { ...kept, mode: data.mode, kinds: data.kinds, names: data.names ?? {}, template: data.template ?? "", about: data.about, state: data.state ?? null };
})();
