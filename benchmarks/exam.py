"""What methods that look for circuits get in the exam: a page of results from a run that was made.

`python benchmarks/exam.py RESULTS [LATER]` reads the results.json that `softhat exam mark … -o DIR`
wrote, and writes benchmarks/exam.json (the same without seconds) and docs/exam-results.md. LATER is
another run, with several seeds or with directions, in sections of their own. The page
says which methods ran on how many models with how many seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from softhat.circuits.exam.marking import KINDS, MEASURES
from softhat.circuits.exam.matching import DIRECTION_MEASURES

PAGE = Path(__file__).parent.parent / "docs" / "exam-results.md"
NUMBERS = Path(__file__).with_name("exam.json")


def page(results: Mapping[str, Any], later: Mapping[str, Any]) -> Iterator[str]:
    methods, paper = results["methods"], results["paper"]
    yield "# What methods get in the exam\n\n"
    yield f"Paper {paper['version']} of [the exam](exam.md): {paper['questions']} models whose "
    yield "circuits are known and whose answers are proved.\n\n"
    yield "**What was run.** Every method of the table ran on every model, with the pairs of as "
    yield "many seeds as the table says. The true circuit and random scores are there for "
    yield "comparison. "
    absent = "ACDC, exact edge patching, subnetwork probing and EAP-IG on activations"
    yield f"{absent} take longer and were *not* run on the whole paper, so nothing is said of "
    yield "them.\n\n"
    yield "**How to read it.** A number is a mean over models and seeds. The interval of 95 % "
    yield "beside it says how much the mean would move if other tasks had been drawn, and other "
    yield "seeds where there are several. "
    yield "[Marks](exam.md#marks) explains the measures. The page is written by "
    yield "`benchmarks/exam.py`.\n\n"
    yield "## Marks\n\n" + _marks(methods, MEASURES)
    yield "\nSeconds are processor time, for all models and seeds together.\n"
    yield "\n## AUROC by dress\n\n" + "".join(_by(methods, "by dress"))
    yield "\n## AUROC by family\n\n" + "".join(_by(methods, "by family"))
    yield "\n## True edges that are found, by kind\n\nA true edge is found if it is among the "
    yield "highest scores, as many as there are true edges. The table shows the share that "
    yield "is found.\n\n"
    yield _row(["method", *KINDS.values()]) + _row(["---"] * (len(KINDS) + 1))
    for method in methods.values():
        shares = [_share(*method["found, by kind"][kind]) for kind in KINDS]
        yield _row([method["title"], *shares])
    yield from _learned(methods)
    if later is not results:
        yield from _several_seeds(later["methods"])
    yield from _directions(later["directions"])
    yield "\n## What ran\n\n"
    for method in (*methods.values(), *later["directions"].values()):
        yield f"- {method['title']}: {method['version']}\n"
    yield f"\nQuestions {paper['digest'][:16]}, weights {results['weights'][:16]}"
    if later["weights"] != results["weights"]:
        yield f"; of several seeds and of directions, weights {later['weights'][:16]}, by a later "
        yield "version of softhat"
    yield ".\n"


def _learned(methods: Mapping[str, Any]) -> Iterator[str]:
    """What the numbers say, in words, and what they do not say."""

    def overall(name: str, measure: str) -> str:
        return _mean(methods[name]["overall"][measure])

    def on(name: str, dress: str) -> str:
        return _mean(methods[name]["by dress"][dress])

    def into(name: str, kind: str) -> str:
        return _share(*methods[name]["found, by kind"][kind])

    yield "\n## What we learned\n\n"
    yield "- **Gradients fail where heads have decided.** `gpt2-smooth` and `gpt2-soft` have the "
    yield "same circuits and differ only in how soft their heads and gates are. EAP's AUROC is "
    yield f"{on('eap', 'gpt2-smooth')} on the sharp ones and {on('eap', 'gpt2-soft')} on the soft "
    yield "ones.\n"
    yield "- **The edges that decide where a head looks are found worst.** They are the edges into "
    yield "queries and keys. EAP "
    yield f"finds {into('eap', 'q')} and {into('eap', 'k')} of them, EAP-IG {into('eap-ig', 'q')} "
    yield f"and {into('eap-ig', 'k')}, AtP\\* {into('atp-star', 'q')} and {into('atp-star', 'k')}. "
    yield "No method that uses gradients is good at every kind of edge. Of those into "
    yield f"feed-forwards EAP-IG finds {into('eap-ig', 'm')}, EAP {into('eap', 'm')} and AtP\\* "
    yield f"{into('atp-star', 'm')}.\n"
    yield "- **Integrated gradients help.** EAP-IG has the best marks of the gradient methods: "
    yield f"R-precision {overall('eap-ig', 'R-precision')} against "
    yield f"{overall('eap', 'R-precision')} of EAP.\n"
    yield "- **A good AUROC can hide many false edges.** Most edges are false, so a method can "
    yield "rank well and still be wrong at the top. Activation patching has AUROC "
    yield f"{overall('activation-patching', 'AUROC')}, like EAP's {overall('eap', 'AUROC')}, but "
    yield f"R-precision {overall('activation-patching', 'R-precision')}. It scores nodes, and an "
    yield "edge between two important nodes need not exist.\n"
    yield "- **Sound is not the same as good.** Information flow routes and the linear probe are "
    yield f"better than chance, with AUROC {overall('ifr', 'AUROC')} and "
    yield f"{overall('probe', 'AUROC')}. The probe finds the edges into the logits "
    yield f"({into('probe', 'logits')}) and few others.\n\n"
    yield "What the table does *not* show:\n\n"
    yield "- **Path patching did not win a contest.** Half of the pairs are the edges' witnesses, "
    yield "which patching of single edges found. Its marks show that the exam can be solved with "
    yield "the pairs that it gives.\n"
    yield "- **AtP, AtP\\*, path patching and the probe are our own code.** (The authors of AtP "
    yield "and AtP\\* published none.) A low mark may be our fault.\n"
    yield "- **These models were compiled, not trained.** They are small. An order of "
    yield "methods here need not be the order elsewhere.\n"
    yield "- **Intervals that overlap decide nothing**, and with one seed they say nothing about "
    yield "luck with pairs.\n"
    yield "- **`llama` and `llama-grouped` are different tasks** (18 and 12 of the 30). Their "
    yield "columns cannot be compared with each other, nor with the dresses that have all tasks.\n"


def _several_seeds(methods: Mapping[str, Any]) -> Iterator[str]:
    """Methods that were run again with other pairs of words."""
    yield "\n## Several seeds\n\nSome methods were run again, on all models, with three sets of "
    yield "pairs.\n\n" + _marks(methods, MEASURES)


def _directions(methods: Mapping[str, Any]) -> Iterator[str]:
    """Methods that look for directions."""

    def overall(name: str, measure: str) -> str:
        return _mean(methods[name]["overall"][measure])

    def on(name: str, dress: str, measure: str) -> str:
        return _mean(methods[name]["by dress"][f"{dress}-disguised"][measure])

    own = methods["sparse-autoencoder"]
    levels = " and ".join(map(str, own["levels"]))
    yield "\n## Directions\n\nThese methods look for directions "
    yield "([what is marked](exam.md#directions)). "
    yield f"They ran on the {own['models']} disguised models of levels {levels}, with "
    yield f"{own['seeds']} seeds each.\n\n"
    yield _marks(methods, DIRECTION_MEASURES)
    yield "\n- **A sparse autoencoder gets nearer to the stored directions than random ones are, "
    yield f"but does not reach them.** Its MCC is {overall('sparse-autoencoder', 'MCC')}: on GPT-2 "
    yield f"{on('sparse-autoencoder', 'gpt2', 'MCC')}, on Llama "
    yield f"{on('sparse-autoencoder', 'llama', 'MCC')}. That of random directions is "
    yield f"{overall('random-directions', 'MCC')}. A likely reason, not tested: many "
    yield "bits are true at about half of the places, so they are not sparse.\n"
    yield "- **A probe can be right everywhere and point elsewhere.** The linear probe's F1 is "
    yield f"{overall('linear-probe', 'F1')}, but its MCC is {overall('linear-probe', 'MCC')}: "
    yield "where a bit is a linear function of others, several directions read it. The "
    yield f"difference of means has F1 {overall('difference-of-means', 'F1')} and MCC "
    yield f"{overall('difference-of-means', 'MCC')}, because it also holds what goes along with a "
    yield "bit.\n"
    yield "- **Not shown:** other autoencoders, sizes and penalties. This one has as many features "
    yield "as the stream has dimensions, so its uniqueness would be low even if it found all bits. "
    yield "Its penalty was chosen by the MCC on three models of the paper, which favours it. "
    yield "Probes are told what to look for. Autoencoders are not.\n"


def _marks(methods: Mapping[str, Any], measures: Sequence[str]) -> str:
    columns = ["method", *measures, "models", "seeds", "seconds", "verdict"]
    rows = [columns, ["---"] * len(columns)]
    for method in methods.values():
        numbers = [_mean(method["overall"][measure]) for measure in measures]
        counts = [str(method["models"]), str(method["seeds"]), f"{method['seconds']:.0f}"]
        rows.append([method["title"], *numbers, *counts, method["verdict"]])
    return "".join(map(_row, rows))


def _by(methods: Mapping[str, Any], what: str) -> Iterator[str]:
    values = sorted({value for method in methods.values() for value in method[what]})
    yield _row(["method", *values]) + _row(["---"] * (len(values) + 1))
    for method in methods.values():
        cells = [_mean(method[what][value]) if value in method[what] else "–" for value in values]
        yield _row([method["title"], *cells])


def _mean(given: list[float]) -> str:
    mean, low, high = given
    return f"{mean:.2f} ({low:.2f}–{high:.2f})"


def _share(hits: float, total: int) -> str:
    return f"{hits / total:.2f}" if total else "–"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("expected python benchmarks/exam.py RESULTS [LATER]", file=sys.stderr)
        return 2
    results, *others = (json.loads(Path(file).read_text("utf-8")) for file in sys.argv[1:])
    later = others[0] if others else results
    PAGE.write_text("".join(page(results, later)), "utf-8")
    for run in (results, *others):
        for method in (*run["methods"].values(), *run.get("directions", {}).values()):
            del method["seconds"]
    if others:
        results["later"] = later
    NUMBERS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
