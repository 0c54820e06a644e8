"use strict";
/* Small things that all parts of the page use: elements, and how numbers and places are said. */

softhat.parts = (() => {
  const byId = (id) => document.getElementById(id);

  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    Object.assign(element, properties);
    element.append(...children);
    return element;
  }

  /** Everything of one subformula has its colour, and lights up with it. */
  function link(element, node) {
    if (node === null || node === undefined) return;
    element.dataset.node = node;
    element.style.setProperty("--own", softhat.pictures.colourOf(node));
  }

  const percent = (weight) => {
    const hundredths = 100 * weight;
    if (hundredths >= 1 || weight === 0) return `${hundredths.toFixed(2)} %`;
    return `${hundredths >= 1e-4 ? Number(hundredths.toPrecision(3)) : hundredths.toExponential(2)} %`;
  };

  const valueText = (value) => (value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(5))) : value);

  /** The inverse temperature at a factor of the certified one, in the unit of the model's proof. */
  function inverseTemperature(view, factor) {
    return `${view.unit.name} = ${Number((view.unit.base * factor).toPrecision(4))}`;
  }

  /** The number of positions to which answers are certified in a format; null if nothing is said. */
  const certifiedTo = (view, dtype) => view.certificate.lengths.find((one) => one.dtype === dtype)?.length ?? null;

  return { byId, make, link, percent, valueText, inverseTemperature, certifiedTo };
})();
