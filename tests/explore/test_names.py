"""Everything that the page offers works on it: each example, each name of the zoo, the gallery
and the RASP library; and its leaks are within what is proved."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

import softhat
from softhat.explore.names import offers
from softhat.explore.view_cache import cached_view
from softhat.models.zoo.catalogue import zoo
from tests.explore.browser import assets

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node to run the page's scripts")
OFFERS = [(kind, offer) for kind, some in offers().items() for offer in some]
SLOW = ("ahat",)  # certificates of the gallery take seconds each
SLICE = [
    (kind, offer)
    for kind, offer in OFFERS
    if kind not in SLOW and not offer["text"].startswith("ahat-")
][::3] + [(kind, offer) for kind, offer in OFFERS if offer["name"] in ("majority", "dyck-uniform")]
RUNNER = """
const { because } = softhat.reasons;
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(({view, text}) => {
  const word = softhat.words.parse(text, view);
  const run = softhat.answers.of(view).run(word);
  const size = run.soft.rows;
  const leaks = run.soft.layers.map((layer, l) => layer.heads.map((head, h) => {
    let most = 0;
    const bos = view.transformer.sinks.includes("<bos>") ? 1 : 0;
    for (let row = Math.max(bos, head.from); row < bos + word.length; row++)
      most = Math.max(most, softhat.answers.leakOf(head, run.hard.layers[l].heads[h], row, size));
    return [most, view.transformer.layers[l].heads[h].leak];
  })).flat();
  const laws = view.transformer.layers.flatMap((layer) => layer.heads.flatMap((head) =>
    [head.beta, head.gap].filter(Boolean).map((law) => softhat.laws.logAt(law, word.length))));
  const at = run.output.at === "first" ? 0 : word.length - 1;
  return { length: word.length, wrong: run.wrong.filter(Boolean).length, leaks, laws,
    accepted: view.formula ? Boolean(run.expected[at]) : null, at: run.output.at,
    why: view.formula ? because(view.formula.nodes, run.truth, word, run.output.root, at) : "" };
})));
"""


def on_the_page(asked: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """What the page's scripts make of these offers."""
    names = ("runtime.js", "logic.js", "words.js", "answers.js", "reasons.js")
    script = "\n".join((assets() / name).read_text("utf-8") for name in names)
    script = script.replace('"use strict";', "").replace("module.exports = softhat", "0")
    views = []
    for kind, offer in asked:
        question = {name: offer[name] for name in ("text", "word", "alphabet")}
        view = cached_view({"kind": kind, "attention": "unbounded", **question})
        views.append({"view": view, "text": offer["word"]})
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", script + RUNNER], input=json.dumps(views), text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def check(asked: list[tuple[str, dict[str, Any]]]) -> None:
    for (kind, offer), answer in zip(asked, on_the_page(asked), strict=True):
        name = (kind, offer["name"])
        assert answer["length"] >= 1, name
        assert answer["wrong"] == 0, name
        for leak, bound in answer["leaks"]:
            assert bound is None or leak <= bound * 1.0001 + 1e-12, name
        assert all(isinstance(law, float | int) for law in answer["laws"]), name  # null: no number
        if answer["accepted"] is not None:
            assert answer["why"], name
        if kind == "zoo":
            entry = zoo()[offer["name"]]
            if entry.example and answer["accepted"] is not None:
                assert answer["accepted"], name  # its example belongs to it
                assert answer["at"] == (entry.at or answer["at"]), name


def test_a_slice_of_what_is_offered_works() -> None:
    check(SLICE)


@pytest.mark.full
def test_everything_that_is_offered_works() -> None:
    check(OFFERS)


def test_every_kind_is_offered_something() -> None:
    assert set(offers()) == {"formula", "regex", "program", "rasp", "ahat", "zoo"}
    assert {offer["text"] for offer in offers()["zoo"]} == set(zoo())
    assert {offer["text"] for offer in offers()["ahat"]} == set(softhat.ahat.gallery.GALLERY)
    for kind, offer in OFFERS:
        assert offer["word"].strip(), (kind, offer)


def test_examples_say_their_alphabet() -> None:
    for kind in ("formula", "regex", "program"):
        for offer in offers()[kind]:
            assert offer["alphabet"] or "{" in offer["word"]


def test_the_gallery_opens_with_words_that_are_accepted() -> None:
    """A first look shows something: hard attention accepts the word that stands there."""
    from softhat.ahat.gallery import GALLERY

    words = {offer["name"]: offer["word"] for offer in offers()["ahat"]}
    rejected = [name for name, word in words.items() if not GALLERY[name]().accepts(word)]
    assert rejected == []
