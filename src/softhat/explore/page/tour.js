"use strict";
/* The tour: why does softmax find the last a? Six steps, on the page itself. */

softhat.tour = (() => {
  const $ = (id) => document.getElementById(id);
  const STEPS = [
    ["#text", "The question. “!c S a” asks at every position: was there an a, and no c since? Only one earlier position decides: the last a or c."],
    ["#truth", "The word. Each row is a part of the formula, each column a position; filled squares are true. Look at the column under a c: the answer turns off there."],
    ["#layers", "Who is looked at. One attention head scores every earlier position and puts nearly all its weight on the last one that decides. Click a cell: the row opens."],
    ["#beta", "Melting it. Drag the inverse temperature to the left: attention spreads over the wrong positions, the margins shrink, and at the critical value an answer breaks."],
    ["#why", "The bound. The gap between the best score and the others is known, so the leak is at most e^-C at every length; the rest is rounding, and the meter says how far each number format holds."],
    ["#word", "Your turn. Change the word or the formula; everything follows. Nothing here is trained: every weight is computed, and every claim proved."],
  ];
  let at = -1;

  function show(step) {
    document.querySelectorAll(".pointed").forEach((part) => part.classList.remove("pointed"));
    at = step;
    $("guide").hidden = at < 0;
    if (at < 0) return;
    const [where, said] = STEPS[at];
    const part = document.querySelector(where);
    softhat.page.showTab(part.closest("section")?.id);
    part.classList.add("pointed");
    part.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    $("guide-text").textContent = `${at + 1} of ${STEPS.length}. ${said}`;
    $("guide-back").disabled = at === 0;
    $("guide-next").textContent = at === STEPS.length - 1 ? "done" : "next";
  }

  function begin() {
    $("tour").addEventListener("click", () => show(0));
    $("guide-back").addEventListener("click", () => show(at - 1));
    $("guide-next").addEventListener("click", () => show(at + 1 < STEPS.length ? at + 1 : -1));
    $("guide-end").addEventListener("click", () => show(-1));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") show(-1);
    });
  }

  return { begin };
})();
