"""How soon the explorer's page follows: measured in Chromium. `python benchmarks/explorer.py`

From a key press in the formula to the drawn view (with the server), from a move of the
temperature slider to the drawn view (in the browser alone), as medians; the baseline of the
slider is the same page drawing an unchanged view.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.explore.browser import chromium, explorer

FORMULAS = {
    "!c S a": "abcabb",
    "H (a -> O b) & #(a) >= #(c)": "bacabcab",
    "(a S b) S (c S (a U b))": "abcabcabcabcabc",
}
TIMED = """async ([id, values]) => {
  const field = document.getElementById(id), times = [];
  for (const value of values) {
    const before = document.body.dataset.drawn, start = performance.now();
    field.value = value;
    field.dispatchEvent(new Event("input"));
    while (document.body.dataset.drawn === before) await new Promise((r) => setTimeout(r, 1));
    times.push(performance.now() - start);
    await new Promise((r) => setTimeout(r, 120));
  }
  return times;
}"""
KEY, SLIDER = 150.0, 32.0


def main() -> int:
    rows = []
    with explorer() as address, chromium() as browser:
        for formula, word in FORMULAS.items():
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(address)
            page.fill("#word", word)
            page.fill("#text", formula)
            page.wait_for_timeout(1500)
            typed = [f"{formula} {'&' if k % 2 else '|'} {'Y ' * (k // 2)}b" for k in range(10)]
            keys = page.evaluate(TIMED, ["text", typed])
            page.fill("#text", formula)
            page.wait_for_timeout(800)
            still = page.evaluate(TIMED, ["beta", [0.0] * 15])
            moved = page.evaluate(TIMED, ["beta", [-1 + k / 15 for k in range(30)]])
            medians = [statistics.median(times) for times in (keys, moved, still)]
            rows.append(
                {"formula": formula, **dict(zip(("key", "slider", "still"), medians, strict=True))}
            )
            page.close()
    print("| formula | key press, ms | slider, ms | unchanged view, ms | slider / unchanged |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        print(
            f"| `{row['formula']}` | {row['key']:.1f} | {row['slider']:.1f} | {row['still']:.1f} "
            f"| {row['slider'] / row['still']:.2f} |"
        )
    print(json.dumps(rows))
    worst = max(row["key"] for row in rows), max(row["slider"] for row in rows)
    print(f"largest medians: {worst[0]:.1f} ms a key (goal {KEY:g})")
    print(f"                 {worst[1]:.1f} ms a move (goal {SLIDER:g})")
    return int(worst[0] > KEY or worst[1] > SLIDER)


if __name__ == "__main__":
    sys.exit(main())
