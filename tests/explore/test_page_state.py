"""One state: what stands on the screen answers what is asked, or is seen not to."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import softhat
from tests.explore.browser import at, chromium, explorer, needs_browser, ready

pytestmark = needs_browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with explorer() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []


def status(page: Any) -> str:
    return str(page.get_attribute("body", "data-status"))


def opacity(page: Any) -> float:
    page.wait_for_timeout(250)  # the transition
    return float(page.evaluate("getComputedStyle(document.querySelector('main')).opacity"))


def test_an_error_takes_the_answer_away(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb"))
    ready(page)
    assert page.inner_text("#answer").startswith("✔")
    assert opacity(page) == 1
    page.fill("#text", "!c S (a")
    page.wait_for_selector("body[data-status=refused]")
    assert page.inner_text("#answer") == ""
    assert page.inner_text("#verdict").startswith("No answer")
    assert "accepted" not in str(page.get_attribute("#verdict", "class"))
    assert opacity(page) < 0.5
    field = page.locator("#complaint").locator("xpath=..")
    assert field.locator("#text").count() == 1  # beside the formula
    assert page.get_attribute("#text", "aria-invalid") == "true"
    page.fill("#text", "!c S a")
    ready(page)
    assert page.locator("#complaint").is_hidden()
    assert opacity(page) == 1


def test_a_wrong_word_is_told_beside_the_word(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb", a="abc"))
    ready(page)
    page.fill("#word", "abxab")
    page.wait_for_selector("body[data-status=refused]")
    assert "position 3" in page.inner_text("#complaint")
    assert page.locator("#complaint").locator("xpath=..").locator("#word").count() == 1
    assert page.inner_text("#answer") == ""
    page.evaluate(  # what is looked at may change; the answer does not come back
        "() => { const s = document.getElementById('beta'); s.value = -1;"
        " s.dispatchEvent(new Event('input')); }"
    )
    assert status(page) == "refused"
    assert page.inner_text("#answer") == ""
    page.fill("#word", "abb")
    ready(page)
    assert len(page.locator("#truth tr").first.locator("td").all()) == 3


def test_the_last_question_wins(page: Any, address: str) -> None:
    """Answers that come late, and in another order, are those of questions no longer asked."""
    held: list[Any] = []
    release = threading.Event()

    def route(handler: Any) -> None:
        asked = json.loads(handler.request.post_data)
        if asked["text"] == "O b" and not release.is_set():
            held.append(handler)  # the slow one
        else:
            handler.continue_()

    page.goto(at(address, "!c S a", "abcabb", a="abc"))
    ready(page)
    page.route("**/api/view", route)
    page.fill("#text", "O b")
    page.wait_for_selector("body[data-status=working]")
    page.wait_for_timeout(400)
    assert len(held) == 1
    assert page.inner_text("#verdict").startswith("Working")
    page.fill("#text", "Y c")
    ready(page)
    release.set()
    with contextlib.suppress(Exception):  # the page has dropped it, as it should
        held[0].continue_()
    page.wait_for_timeout(600)
    assert page.inner_text("#formula-text") == "Y c"
    assert page.inner_text(".card .name").endswith("Y c")
    assert "“Y c”" in page.inner_text("#verdict")
    assert "Y c" in page.inner_text("#why")


def test_two_examples_in_a_row_are_not_mixed(page: Any, address: str) -> None:
    page.goto(address)
    ready(page)
    for name in ("PARITY", "bigram", "majority"):
        page.select_option("#names", label=name)
    formula = "#(a) > #(b)"
    ready(page)
    assert page.inner_text("#formula-text") == formula
    for place in ("#why", "#verdict"):
        assert formula in page.inner_text(place)
    names = " ".join(card.inner_text() for card in page.locator(".card .name").all())
    assert "F 2" not in names and "Y a" not in names


def test_the_curve_before_is_dimmed_until_the_new_one_is_there(page: Any, address: str) -> None:
    """At the moment when another word is drawn, nothing says where answers broke on the last."""
    page.goto(at(address, "!c S a", "abcabb", a="abc"))
    page.wait_for_function("() => document.body.dataset.critical > 0")
    before = page.inner_text("#beta-said")
    page.evaluate(
        """() => {
            window.seen = [];
            const [curve, said] = ["curve", "beta-said"].map(id => document.getElementById(id));
            new MutationObserver(() => window.seen.push([curve.className, said.textContent]))
                .observe(document.body, { attributeFilter: ["data-drawn"] });
        }"""
    )
    page.fill("#word", "aaac")
    page.wait_for_function("() => window.seen.length && document.body.dataset.critical > 0")
    dimmed, said = page.evaluate("window.seen[0]")
    assert "old" in dimmed.split() and said != before and "looking" in said
    page.wait_for_selector("#curve:not(.old) svg")


@pytest.mark.parametrize(
    ("formula", "word", "more", "said"),
    [
        ("!c S a", "abcabb", {}, ["Accepted", "position 6, the last", "“a” is true at position 4"]),
        ("!c S a", "abcbb", {}, ["Not accepted", "“!c” is false at position 3"]),
        ("G (a -> F b)", "ab", {}, ["Accepted", "position 1, the first"]),
        ("#(a) > #(b)", "abb", {}, ["Not accepted", "#(a) is 1 and #(b) is 2"]),
        ("F (2*#(a) = #*(a))", "abba", {}, ["Not said", "say where it is read"]),
        ("F (2*#(a) = #*(a))", "abba", {"r": "first"}, ["Accepted", "position 1, the first"]),
    ],
)
def test_the_verdict_says_accepted_where_and_why(
    page: Any, address: str, formula: str, word: str, more: dict[str, str], said: list[str]
) -> None:
    page.goto(at(address, formula, word, **more))
    ready(page)
    verdict = page.inner_text("#verdict")
    for part in said:
        assert part in verdict
    if "Not said" in verdict:
        assert page.inner_text("#answer") == "✔ right at every position"
    else:
        accepted = softhat.parse(formula).accepts(word, at=more.get("r"))
        assert verdict.startswith("Accepted") == accepted


def test_the_zoo_is_read_where_its_entries_say(page: Any, address: str) -> None:
    """`parity` is read at the first position: abba has an even number of a."""
    page.goto(address + "#k=zoo&f=parity&w=abba")
    ready(page)
    assert page.inner_text("#verdict").startswith("Accepted")
    assert "position 1, the first" in page.inner_text("#verdict")
    assert page.inner_text("#answer").startswith("✔ true at position 1")


@pytest.mark.parametrize(
    ("question", "kind", "text", "word"),
    [
        ("", "formula", "!c S a", "abcabb"),
        ("#p=on", "formula", "!c S a", "abcabb"),
        ("#k=regex", "regex", "(a|b)*abb&~(b*)", "abaabb"),
        ("#k=zoo&f=parity", "zoo", "parity", "aba"),
        ("#f=%21c%20S%20a", "formula", "!c S a", "abcabb"),
        ("#k=zoo&f=parity&w=abba", "zoo", "parity", "abba"),
    ],
)
def test_an_address_that_leaves_out_its_question_has_an_example(
    page: Any, address: str, question: str, kind: str, text: str, word: str
) -> None:
    page.goto(address + question)
    ready(page)
    assert page.evaluate("softhat.state.state.kind") == kind
    assert page.evaluate("softhat.state.state.text") == text
    assert page.input_value("#word") == word


@pytest.mark.parametrize(
    ("formula", "word", "said"),
    [
        ("F (2*#(a) = #*(a))", "abba", "#(a) is 1 and #*(a) is 2: 2·1 = 2"),
        ("3*#(a) > #(b) + 1", "abb", "#(a) is 1 and #(b) is 2: 3·1 ≤ 2 + 1"),
        ("2*#(a) < #(b) - 1", "abbbb", "#(a) is 1 and #(b) is 4: 2·1 + 1 < 4"),
    ],
)
def test_the_verdict_computes_what_it_compares(
    page: Any, address: str, formula: str, word: str, said: str
) -> None:
    page.goto(at(address, formula, word, r="first" if "F" in formula else "last"))
    ready(page)
    assert page.inner_text("#verdict").endswith(f"{said}.")


def test_a_word_that_is_too_long_for_the_page_is_refused(page: Any, address: str) -> None:
    """A page that computes for minutes answers no click."""
    page.goto(at(address, "!c S a", "abc" * 2000, a="abc"))
    page.wait_for_selector("body[data-status=refused]")
    said = page.inner_text(".field.word #complaint")
    assert "at most 4,096 symbols" in said and "softhat run" in said


@pytest.mark.parametrize(("place", "ringed"), [("first", "0"), ("last", "5")])
def test_the_answer_has_a_ring(page: Any, address: str, place: str, ringed: str) -> None:
    page.goto(at(address, "!c S a", "abcabb", a="abc", r=place))
    ready(page)
    rings = page.locator("#truth td.read").all()
    assert [ring.get_attribute("data-column") for ring in rings] == [ringed]
    assert rings[0].locator("xpath=..").get_attribute("data-node") == str(
        page.evaluate("document.querySelector('#truth tr:nth-child(2)').dataset.node")
    )
    outline = "getComputedStyle(document.querySelector('td.read'), '::before').outlineStyle"
    assert page.evaluate(outline) == "solid"


def test_a_table_stands_beside_the_maps_where_it_fits(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb" * 4, a="abc"))
    ready(page)
    meaning, maps = page.locator("#meaning"), page.locator("#attention-part")
    assert meaning.bounding_box()["width"] > 1390
    page.fill("#word", "abc")
    ready(page)
    assert meaning.bounding_box()["width"] < 500
    assert meaning.bounding_box()["y"] == maps.bounding_box()["y"]


def test_alphabets_are_said(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "ca"))
    ready(page)
    assert "alphabet: a c (inferred" in page.inner_text("#alphabet-said")
    assert "trivial" in page.inner_text("#warnings")
    page.fill("#word", "cab")
    ready(page)
    page.wait_for_function(
        "() => document.getElementById('alphabet-said').textContent.includes('a b c')"
    )
    assert page.inner_text("#warnings") == ""
    page.fill("#alphabet", "abc")
    ready(page)
    page.wait_for_function(
        "() => document.getElementById('alphabet-said').textContent.includes('as given')"
    )


def test_the_page_does_not_contradict_its_proof(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb", a="abc"))
    ready(page)
    assert page.inner_text(".reading").startswith("largest leak here 1.80 %, proved ≤ 1.83 %")
    page.evaluate(
        "() => { const s = document.getElementById('beta'); s.value = -0.8;"
        " s.dispatchEvent(new Event('input')); }"
    )
    reading = page.inner_text(".reading")
    assert "proved ≤ 1.83 % at C = 4" in reading
    assert "at C = 0.634" in reading
    assert "nothing is certified at this temperature" in page.inner_text("#answer-how")


def test_the_proof_names_all_kinds_of_heads(page: Any, address: str) -> None:
    page.goto(at(address, "F (2*#(a) = #*(a))", "abbaba", a="ab", r="first"))
    ready(page)
    shown = page.inner_text("#why")
    for kind in ("Average", "Earliest", "Sign"):
        assert f"of kind {kind}" in shown


def test_the_first_failure_shows_its_word(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb", a="abc", d="bfloat16"))
    ready(page)
    page.click("#first-failure")
    page.wait_for_selector("#failure:not([hidden])", timeout=60000)
    said = page.inner_text("#failure")
    model = softhat.compile("!c S a", alphabet="abc")
    length = int(said.split("of length ")[1].split()[0])
    assert length > model.certificate.max_length["bfloat16"]
    assert said.startswith(f"The word a b×{length - 1} of length {length} fails in bfloat16")
    assert page.inner_text("#length-shown") == str(length)
    assert page.inner_text("#answer").startswith("✘")
    assert "Softmax" in page.inner_text("#verdict") or "wrong at" in page.inner_text("#answer")


def test_seventeen_symbols_and_long_formulas_are_seen_whole(page: Any, address: str) -> None:
    formula = "H (a -> O (b & Y (c | Y (a & !b)))) & G (c -> F (a & X (b | X c)))"
    page.goto(at(address, formula, "abcabcabcabcabcab", a="abc"))
    ready(page)
    table = page.locator("#truth").bounding_box()
    shown = page.locator("#meaning").bounding_box()
    assert table["x"] + table["width"] <= shown["x"] + shown["width"]
    assert len(page.locator("#truth tr").first.locator("td").all()) == 17
    clipped = page.evaluate(
        "() => [...document.querySelectorAll('#truth th')]"
        ".filter(x => x.scrollWidth > x.clientWidth + 1).length"
    )
    assert clipped == 0


def test_one_s_own_transformer(page: Any, address: str) -> None:
    page.goto(address)
    ready(page)
    page.select_option("#kind", "ahat")
    ready(page, 120_000)
    page.select_option("#names", "own")
    ready(page, 120_000)
    assert page.input_value("#text").lstrip().startswith("{")
    page.fill("#text", page.input_value("#text").replace('"alphabet"', '"letters"'))
    page.wait_for_selector("body[data-status=refused]")
    assert "letters" in page.inner_text("#complaint") or "alphabet" in page.inner_text("#complaint")


@pytest.mark.parametrize(
    ("given", "control", "shown"),
    [
        ({"d": "float9"}, "#dtype", "float64"),
        ({"l": "far", "n": "40"}, "#length", "11"),
        ({"l": "nosuch"}, "#long", "own"),
        ({"r": "nosuch"}, "#at", ""),
        ({"b": "-9"}, "#beta", "-2"),
        ({"v": "nosuch"}, "input[name=view]:checked", "soft"),
    ],
)
def test_an_address_asks_for_nothing_that_no_control_shows(
    page: Any, address: str, given: dict[str, str], control: str, shown: str
) -> None:
    page.goto(at(address, "!c S a", "ab", a="abc", **given))
    ready(page)
    assert page.input_value(control) == shown


@pytest.mark.parametrize(("given", "field"), [({"k": "nosuch"}, "kind"), ({"t": "x"}, "attention")])
def test_an_unknown_choice_is_said_beside_its_field(
    page: Any, address: str, given: dict[str, str], field: str
) -> None:
    page.goto(at(address, "a", "a", **given))
    page.wait_for_selector("body[data-status=refused]")
    beside = page.locator(f".field.{field} #complaint")
    assert beside.is_visible() and beside.inner_text().startswith("unknown")
