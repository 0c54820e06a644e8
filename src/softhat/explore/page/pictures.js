"use strict";
/* Drawing: attention maps on a canvas, curves and bars as SVG, both as files to keep. */

softhat.pictures = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7a5195", "#8a5a00"];

  const SMALLEST = 12; // pixels: smaller text is not drawn
  const PLAIN = 13; // the type of pictures that are not maps, in their own units

  const MONO = "ui-monospace, Menlo, Consolas, monospace";

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /** Square root: 2 % stands out beside 98 %. */
  const shade = (weight) => Math.sqrt(Math.min(1, Math.abs(weight)));

  const colourOf = (node) => (node === null || node === undefined ? css("--faint") : COLOURS[node % COLOURS.length]);

  function element(name, attributes = {}, ...children) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function svg(width, height, title, ...children) {
    const name = element("title");
    name.textContent = title;
    return element("svg", { viewBox: `0 0 ${width} ${height}`, xmlns: NS, role: "img", "aria-label": title,
      "font-family": "system-ui, sans-serif" }, name, ...children);
  }

  function text(x, y, said, attributes = {}) {
    const made = element("text", { x, y, fill: css("--faint"), "font-size": PLAIN, ...attributes });
    made.textContent = said;
    return made;
  }

  /** Text over lines: with a rim of paper. */
  const over = (x, y, said, attributes = {}) => text(x, y, said, { "paint-order": "stroke", stroke: css("--paper"), "stroke-width": 3, ...attributes });

  /** What a cell of a map shows: weight in [0, 1], or a difference in [-1, 1]. */
  function fill(value) {
    const rgb = value < 0 ? css("--minus-rgb") : css("--ink-rgb");
    return `rgba(${rgb}, ${shade(value).toFixed(4)})`;
  }

  const EDGE = { plain: 26, projector: 44 }; // pixels for the tokens on the left and below
  const PLACED = { plain: 40, projector: 64 }; // the same, where their positions stand beside them
  const PLACE = 22; // pixels of a position beside a long name
  const ROOMY = 26; // pixels of a cell that has room for a position below its token
  const WIDEST_EDGE = 0.16; // of a map's side, for tokens that are words or sets

  /** Where the cells of a square map stand, in pixels of its side; long names have a wider edge, and
      short ones leave room for positions where cells are large. */
  function grid(side, names, widthOf) {
    const screen = document.documentElement.dataset.projector ? "projector" : "plain";
    const longest = Math.max(...names.filter((name) => short(name, 12).length > 3).map((name) => widthOf(short(name, 12)) + 8), 0);
    const placed = (side - Math.max(PLACED[screen], longest)) / names.length >= ROOMY;
    const wanted = longest && placed ? longest + PLACE : longest;
    const edge = Math.max((placed ? PLACED : EDGE)[screen], Math.min(wanted, WIDEST_EDGE * side));
    return { side, count: names.length, edge, placed, cell: (side - edge - 1) / names.length };
  }

  /** The row and the column of a map under a pointer, or null beside its cells. */
  function cellUnder(canvas, g, event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) * g.side) / box.width - g.edge) / g.cell);
    const row = Math.floor(((event.clientY - box.top) * g.side) / box.height / g.cell);
    return [row, column].every((k) => k >= 0 && k < g.count) ? [row, column] : null;
  }

  /** Draw a square map on a canvas, as wide as the page lets it be. `cells(r, c)` is a weight, or
      null where nothing is seen; `chosen` is outlined, and so is what `marked(r, c)` says. */
  function map(canvas, { rowNames, columnNames, places, cells, chosen, marked }) {
    const side = Math.max(80, Math.floor(canvas.clientWidth));
    const ratio = window.devicePixelRatio || 1;
    canvas.width = side * ratio;
    canvas.height = side * ratio;
    const pen = canvas.getContext("2d");
    pen.font = `${SMALLEST}px ${MONO}`;
    const g = grid(side, rowNames, (name) => pen.measureText(name).width);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [ink, line, paper] = [css("--ink"), css("--line"), css("--paper")];
    const [plus, minus] = [css("--ink-rgb"), css("--minus-rgb")];
    const digits = Math.min(28, g.cell * 0.38);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let r = 0; r < g.count; r++) {
      for (let c = 0; c < g.count; c++) {
        const value = cells(r, c);
        if (value === null) continue;
        const [x, y] = [g.edge + c * g.cell, r * g.cell];
        pen.fillStyle = `rgba(${value < 0 ? minus : plus}, ${shade(value)})`;
        pen.fillRect(x, y, g.cell, g.cell);
        if (g.cell >= 7) {
          pen.strokeStyle = line;
          pen.lineWidth = 0.5;
          pen.strokeRect(x + 0.25, y + 0.25, g.cell - 0.5, g.cell - 0.5);
        }
        if (digits >= SMALLEST && Math.abs(value) >= 0.005) {
          pen.fillStyle = shade(value) > 0.55 ? paper : ink;
          pen.font = `${digits}px system-ui, sans-serif`;
          pen.fillText((100 * value).toFixed(Math.abs(value) < 0.095 ? 1 : 0), x + g.cell / 2, y + g.cell / 2);
        }
        if (marked?.(r, c)) {
          pen.strokeStyle = ink;
          pen.lineWidth = 1.2;
          pen.strokeRect(x + 1, y + 1, g.cell - 2, g.cell - 2);
        }
      }
    }
    if (g.placed) drawPlacedNames(pen, g, rowNames, places);
    else drawNames(pen, g, rowNames, columnNames);
    if (chosen) {
      pen.strokeStyle = css("--accent");
      pen.lineWidth = 3;
      pen.strokeRect(g.edge + chosen[1] * g.cell, chosen[0] * g.cell, g.cell, g.cell);
    }
    return g;
  }

  /** Tokens beside the rows and below the columns; where cells are small, only some of them. */
  function drawNames(pen, g, rowNames, columnNames) {
    const longNames = g.edge > EDGE.projector;
    const size = longNames ? SMALLEST : Math.max(SMALLEST, Math.min(g.edge * 0.6, g.cell * 0.55));
    pen.fillStyle = css("--faint");
    pen.font = `${size}px ${MONO}`;
    const widest = Math.max(...columnNames.map((name) => Math.min(g.edge, pen.measureText(short(name, 12)).width)));
    const [everyRow, everyColumn] = [size, Math.min(widest, Math.max(g.cell / 1.1, 3 * size))].map((room) => Math.max(1, Math.ceil((room * 1.1) / g.cell)));
    for (let k = 0; k < g.count; k += everyRow) {
      pen.textAlign = "right";
      pen.fillText(fitted(pen, rowNames[k], g.edge - 4), g.edge - 4, Math.max((k + 0.5) * g.cell, 0.7 * size));
    }
    for (let k = 0; k < g.count; k += everyColumn) {
      pen.textAlign = "center";
      const name = fitted(pen, columnNames[k], everyColumn * g.cell);
      const rightmost = g.side - pen.measureText(name).width / 2; // a whole name, under the last cell too
      pen.fillText(name, Math.min(g.edge + (k + 0.5) * g.cell, rightmost), g.side - g.edge / 2);
    }
  }

  /** Tokens with their positions: beside the rows and below the columns. */
  function drawPlacedNames(pen, g, names, places) {
    const long = g.edge > PLACED.projector; // names of several letters need their room
    const size = long ? SMALLEST : Math.max(SMALLEST, Math.min(0.36 * g.edge, 0.55 * g.cell)); // of a token
    const small = long ? SMALLEST : Math.max(SMALLEST, 0.28 * g.edge);
    const below = g.side - g.edge;
    pen.fillStyle = css("--faint");
    names.forEach((name, k) => {
      const middle = (k + 0.5) * g.cell;
      pen.font = `${size}px ${MONO}`;
      pen.textAlign = "right";
      pen.fillText(fitted(pen, name, long ? g.edge - PLACE - 5 : 0.6 * g.edge), g.edge - 5, middle);
      pen.textAlign = "center";
      pen.fillText(fitted(pen, name, g.cell), g.edge + middle, below + (long ? 14 : 0.28 * g.edge));
      pen.font = `${small}px system-ui, sans-serif`;
      pen.fillText(places[k], g.edge + middle, below + (long ? 32 : 0.76 * g.edge));
      pen.textAlign = "left";
      pen.fillText(places[k], 0, middle);
    });
  }

  /** A name in the room there is for it. */
  function fitted(pen, name, room) {
    for (let most = 12; most > 1; most--) if (pen.measureText(short(name, most)).width <= room) return short(name, most);
    return short(name, 1);
  }

  /** A token in at most so many characters; the markers at the ends have signs of their own. */
  function short(token, most = 3) {
    if (token === "<bos>") return "⊢";
    if (token === "<eos>") return "⊣";
    const letters = [...token];
    if (letters.length <= most) return token;
    return most > 1 ? `${letters.slice(0, most - 1).join("")}…` : letters[0];
  }

  /** The same map as SVG, for a file. */
  function mapSvg(title, { rowNames, columnNames, cells }) {
    const [cell, edge, top] = [18, 40, 26];
    const count = rowNames.length;
    const parts = [text(edge, 14, title, { fill: "#222" })];
    rowNames.forEach((name, r) => {
      parts.push(text(edge - 4, top + 13 + r * cell, short(name), { "text-anchor": "end" }));
      columnNames.forEach((_, c) => {
        const value = cells(r, c);
        if (value === null) return;
        parts.push(element("rect", { x: edge + c * cell, y: top + r * cell, width: cell, height: cell,
          fill: value < 0 ? "rgb(176,58,0)" : "rgb(12,60,130)", "fill-opacity": shade(value).toFixed(4), stroke: "#d0d7de", "stroke-width": 0.5 }));
      });
    });
    columnNames.forEach((name, c) => parts.push(text(edge + (c + 0.5) * cell, top + 15 + count * cell, short(name), { "text-anchor": "middle" })));
    return svg(edge + count * cell + 10, top + 24 + count * cell, title, ...parts);
  }

  /** A text as lines of at most so many characters, broken between words. */
  function wrapped(said, most) {
    const lines = [""];
    for (const word of said.split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (longer.length <= most || !lines.at(-1)) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  /** Points joined by lines, with axes; `marks` are labelled vertical lines, `dots` measured points.
      The names of marks stand above what is drawn, one in a row, so that no curve crosses them. */
  function plot({ title, lines, marks = [], dots = [], x, y, width = 420 }) {
    const said = wrapped(title, 44); // beside it, what it can be kept as
    const named = marks.filter((mark) => mark.name);
    const right = 12, heading = 12 + 16 * said.length, top = heading + 16 * named.length, bottom = 38, height = 158 + top;
    const all = lines.flatMap((line) => line.points).concat(dots);
    const finite = all.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
    if (!finite.length) return svg(width, 30, title, text(8, 18, `${title}: nothing to draw`));
    const xs = finite.map((p) => p[0]).concat(marks.map((m) => m.at));
    const ys = finite.map((p) => p[1]);
    const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
    let [y0, y1] = [Math.min(...ys, y.zero ? 0 : Infinity), Math.max(...ys)];
    if (y1 === y0) y1 = y0 + 1;
    const levels = y.zero && y0 < -0.1 * y1 && y1 > -0.1 * y0 ? [y0, 0, y1] : [y0, y1];
    const left = Math.max(46, ...levels.map((value) => 10 + 7.5 * y.show(value).length));
    const px = (v) => left + ((v - x0) / (x1 - x0 || 1)) * (width - left - right);
    const py = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - top - bottom);
    const parts = said.map((line, k) => text(8, 13 + 16 * k, line, { fill: css("--ink") }));
    parts.push(element("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, fill: "none", stroke: css("--faint") }));
    for (const value of levels) parts.push(text(left - 4, py(value) + 4, y.show(value), { "text-anchor": "end" }));
    parts.push(text(left, height - 22, x.show(x0)), text(width - right, height - 22, x.show(x1), { "text-anchor": "end" }));
    parts.push(text((left + width) / 2, height - 4, x.name, { "text-anchor": "middle" }));
    if (y.zero) parts.push(element("path", { d: `M${left} ${py(0)}H${width - right}`, stroke: css("--line"), fill: "none" }));
    const names = [];
    lines.forEach((line) => {
      const d = line.points.filter(([, b]) => Number.isFinite(b)).map(([a, b], k) => `${k ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
      parts.push(element("path", { d, fill: "none", stroke: line.colour, "stroke-width": 2, "stroke-dasharray": line.dashed ? "5 3" : "none" }));
      const last = line.points.findLast(([, b]) => Number.isFinite(b));
      if (line.name && last) names.push(over(Math.min(px(last[0]), width - right), Math.max(py(last[1]) - 6, top + 12), line.name, { "text-anchor": "end", fill: line.colour }));
    });
    parts.push(...names); // in front of every line
    dots.forEach(([a, b]) => parts.push(element("circle", { cx: px(a), cy: py(b), r: 2.6, fill: css("--ink") })));
    for (const mark of marks) {
      const at = px(mark.at), row = heading + 16 * named.indexOf(mark), end = at > width * 0.7;
      parts.push(element("path", { d: `M${at} ${mark.name ? row : top}V${height - bottom}`, stroke: mark.colour, "stroke-width": 1.4, "stroke-dasharray": mark.here ? "none" : "4 3" }));
      if (mark.name) parts.push(over(at, row + 11, mark.name, { "text-anchor": end ? "end" : "start", fill: mark.colour, dx: end ? -4 : 4 }));
    }
    return svg(width, height, title, ...parts);
  }

  /** Signed bars, one a position: to the right of 0 is true. */
  function bars(title, values, labels, wrong) {
    const width = 420, height = 108, left = 8, top = 24;
    const most = Math.max(1e-9, ...values.map(Math.abs));
    const step = Math.min(26, (width - 2 * left) / values.length);
    const middle = top + (height - top - 22) / 2;
    const named = labels.every(({ token }) => short(token, 9).length < 3); // else positions stand there
    const parts = [text(left, 13, title, { fill: css("--ink") }),
      element("path", { d: `M${left} ${middle}H${left + step * values.length}`, stroke: css("--faint") })];
    values.forEach((value, k) => {
      const size = (Math.abs(value) / most) * ((height - top - 22) / 2);
      const bar = element("rect", { x: left + k * step + 1, width: Math.max(1, step - 2), height: Math.max(wrong[k] ? 3 : 0.5, size),
        y: value > 0 ? middle - size : middle, fill: wrong[k] ? css("--wrong") : css("--accent") });
      const name = element("title");
      name.textContent = `position ${labels[k].place}: margin ${value.toPrecision(4)}`;
      bar.append(name);
      parts.push(bar);
      if (step >= 12) parts.push(text(left + (k + 0.5) * step, height - 5, named ? short(labels[k].token) : labels[k].place, { "text-anchor": "middle" }));
    });
    return svg(width, height, title, ...parts);
  }

  /** Lengths on a logarithmic scale: where we are, what is certified, what failed first. */
  function meter(title, here, certified, failure) {
    const width = 420, left = 82, row = 19, first = 26;
    const bottom = first + row * certified.length;
    const height = bottom + 18 + (failure ? 17 : 0);
    const most = Math.log2(Math.max(here, 2, ...certified.map((c) => c.length), failure ?? 2)) + 1;
    const px = (n) => left + (Math.log2(Math.max(1, n)) / most) * (width - left - 130);
    const parts = [text(8, 13, title, { fill: css("--ink") })];
    certified.forEach((c, k) => {
      const y = first + row * k;
      const within = here <= c.length;
      parts.push(text(8, y + 10, c.dtype, { fill: css("--ink") }));
      parts.push(element("rect", { x: left, y, width: Math.max(4, px(c.length) - left), height: 11, rx: 3, fill: within ? css("--right") : css("--wrong"), "fill-opacity": 0.75 }));
    });
    parts.push(element("path", { d: `M${px(here)} 20V${bottom}`, stroke: css("--accent"), "stroke-width": 2 }));
    certified.forEach((c, k) => parts.push(over(px(c.length) + 5, first + 10 + row * k, lengthText(c.length))));
    parts.push(text(px(here), bottom + 13, `here: ${here}`, { "text-anchor": "middle", fill: css("--accent") }));
    if (failure) {
      parts.push(element("path", { d: `M${px(failure)} 20V${bottom}`, stroke: css("--wrong"), "stroke-width": 2, "stroke-dasharray": "4 3" }));
      parts.push(text(px(failure), bottom + 30, `first failure: ${failure}`, { "text-anchor": "middle", fill: css("--wrong") }));
    }
    return svg(width, height, title, ...parts);
  }

  /** A number beside its exponent, as it is written. */
  const power = (base, exponent) => base + [...String(exponent)].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]).join("");

  /** The end of a logarithmic axis: a number of two digits, or a power of ten. */
  function decimal(exponent) {
    if (Math.abs(exponent) > 5) return power(10, Math.round(exponent));
    return Number((10 ** exponent).toPrecision(2)).toLocaleString("en", { maximumSignificantDigits: 2 });
  }

  const signed = (value, digits) => value.toPrecision(digits).replace("-", "−");

  const lengthText = (n) => {
    if (!n) return "nothing certified";
    return n < 1e9 ? `to ${n.toLocaleString("en")}` : `to about ${power(2, Math.round(Math.log2(n)))}`;
  };

  function download(name, content, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** Buttons that keep a picture as SVG or PNG; `make` gives an svg element. */
  function keep(name, make) {
    const tools = document.createElement("div");
    tools.className = "tools";
    const source = () => new XMLSerializer().serializeToString(make());
    for (const kind of ["SVG", "PNG"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `⤓ ${kind}`;
      button.setAttribute("aria-label", `keep ${name} as ${kind}`);
      button.addEventListener("click", () => {
        const file = `softhat-${name.replace(/[^\w.-]+/g, "-")}.${kind.toLowerCase()}`;
        if (kind === "SVG") return download(file, source(), "image/svg+xml");
        const made = make();
        const [, , width, height] = made.getAttribute("viewBox").split(" ").map(Number);
        made.setAttribute("width", width);
        made.setAttribute("height", height);
        const image = new Image();
        image.onload = () => {
          const canvas = document.createElement("canvas");
          canvas.width = 2 * width;
          canvas.height = 2 * height;
          const pen = canvas.getContext("2d");
          pen.fillStyle = css("--paper");
          pen.fillRect(0, 0, canvas.width, canvas.height);
          pen.drawImage(image, 0, 0, canvas.width, canvas.height);
          canvas.toBlob((blob) => download(file, blob));
        };
        image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(made))}`;
      });
      tools.append(button);
    }
    return tools;
  }

  return { colourOf, css, fill, map, mapSvg, cellUnder, plot, bars, meter, keep, download, short, lengthText, decimal, signed };
})();
