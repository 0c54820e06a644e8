"""The page in real Chromium: typing, hovering, dragging, sharing, breaking; and the report."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import softhat
from softhat.explore.assets import report
from softhat.explore.view import view_of
from tests.explore.browser import at, chromium, explorer, needs_browser, ready

pytestmark = needs_browser
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ahat"
IMAGES = os.environ.get("SOFTHAT_IMAGES")  # where screenshots for the docs go


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


def drawn(page: Any, formula: str) -> None:
    page.wait_for_function(
        "text => document.getElementById('formula-text').textContent === text", arg=formula
    )


def truth_row(page: Any, text: str) -> list[bool]:
    row = page.locator("#truth tr", has=page.locator(f'th[title="{text}"]')).first
    return ["on" in (cell.get_attribute("class") or "") for cell in row.locator("td").all()]


def test_typing_gives_the_truth_row(page: Any, address: str) -> None:
    page.goto(address)
    page.fill("#text", "b | Y a")
    page.fill("#word", "abcaab")
    drawn(page, "b | Y a")
    page.wait_for_function(
        "() => document.querySelectorAll('#truth tr:first-child td').length === 6"
    )
    expected = softhat.parse("b | Y a").truth("abcaab").tolist()
    assert truth_row(page, "b | Y a") == expected
    assert "at position 6, and right" in page.inner_text("#answer")


def test_hovering_a_cell_reads_its_weight(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb"))
    drawn(page, "!c S a")
    canvas = page.locator(".card canvas").first
    box = canvas.bounding_box()
    edge = float(canvas.get_attribute("data-edge"))  # pixels for the tokens and their positions
    size = (box["width"] - edge) / 7  # <bos> and six symbols
    page.mouse.move(box["x"] + edge + 4.5 * size, box["y"] + 6.5 * size)  # row 6, column 4
    reading = page.inner_text(".card .reading")
    model = softhat.compile("!c S a", alphabet="abc")
    weight = model.run("abcabb").attention[0][0][6, 4]
    assert reading.startswith("b at 6 gives a at 4")
    shown = re.search(r"gives a at 4 ([\d.]+) %", reading)
    assert shown is not None
    assert abs(float(shown.group(1)) - 100 * weight) < 0.006
    page.mouse.click(box["x"] + edge + 4.5 * size, box["y"] + 6.5 * size)
    assert "a at 4 wins" in page.inner_text("#row")


def test_arrow_keys_move_in_a_map(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb"))
    drawn(page, "!c S a")
    page.locator(".card canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".card .reading").startswith("a at 1 gives a at 1")


def measured_critical(formula: str, word: str) -> float:
    """The least factor of the scores at which every answer is right, by bisection in Python."""
    from softhat.explore.pictures import with_sharpness

    model = softhat.compile(formula, alphabet="".join(sorted(set(word))))
    expected = softhat.parse(formula).truth(word)
    low, high = -2.0, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        with warnings.catch_warnings():  # warmer models are certified for nothing
            warnings.simplefilter("ignore", softhat.CertificateWarning)
            answers = with_sharpness(model, 10**middle).truth(word, "float64")
        low, high = (low, middle) if (answers == expected).all() else (middle, high)
    return float(10**high)


def test_the_critical_value_is_the_first_break(page: Any, address: str) -> None:
    """On this word answers break as C falls, and are right again where it is next to nothing: the
    page names where they first break, and does not say that none does."""
    from softhat.explore.pictures import with_sharpness

    formula, word = "G (req -> X !go)", [{"req"}, set(), {"go"}, {"req", "go"}, set()]
    model = softhat.compile(formula, propositions=["go", "req"])
    expected = softhat.parse(formula).truth(word)

    def right(exponent: float) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", softhat.CertificateWarning)
            answers = with_sharpness(model, 10**exponent).truth(word, "float64")
        return bool((answers == expected).all())

    assert right(-2)
    first = next(k for k in range(200) if not right(-k / 100))
    warm, cold = -first / 100, -(first - 1) / 100
    for _ in range(30):
        middle = (warm + cold) / 2
        warm, cold = (warm, middle) if right(middle) else (middle, cold)
    page.goto(at(address, formula, "{req} {} {go} {req,go} {}"))
    drawn(page, formula)
    page.wait_for_function("() => document.body.dataset.critical > 0")
    found = float(page.evaluate("document.body.dataset.critical"))
    assert found == pytest.approx(10**cold, rel=1e-6)
    assert "answers stay right down to C = " in page.inner_text("#beta-said")


def test_dragging_until_it_breaks(page: Any, address: str) -> None:
    formula, word = "!c S a", "abcabbbb"
    page.goto(at(address, formula, word))
    drawn(page, formula)
    page.wait_for_function("() => document.body.dataset.critical > 0")
    found = float(page.evaluate("document.body.dataset.critical"))
    assert found == pytest.approx(measured_critical(formula, word), rel=1e-6)

    def drag(value: float) -> str:
        page.evaluate(
            "v => { const s = document.getElementById('beta'); s.value = v;"
            " s.dispatchEvent(new Event('input')); }",
            value,
        )
        return str(page.inner_text("#answer"))

    import math

    assert drag(math.log10(found) + 0.01).startswith("✔")
    assert drag(math.log10(found) - 0.01).startswith("✘")


def test_the_url_holds_everything(page: Any, browser: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb"))
    drawn(page, "!c S a")
    page.fill("#word", "aabcb")
    page.select_option("#dtype", "bfloat16")
    page.check("input[value=difference]")
    shared = page.url
    other = browser.new_page()
    other.goto(shared)
    drawn(other, "!c S a")
    assert other.input_value("#word") == "aabcb"
    assert other.input_value("#dtype") == "bfloat16"
    assert other.is_checked("input[value=difference]")
    assert truth_row(other, "!c S a") == softhat.parse("!c S a").truth("aabcb").tolist()
    other.close()


def test_a_broken_formula_shows_the_caret_and_keeps_the_view(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb"))
    drawn(page, "!c S a")
    page.fill("#text", "!c S (a")
    page.wait_for_selector("#complaint:not([hidden])")
    lines = page.inner_text("#complaint").splitlines()
    assert "never closed" in lines[0]
    assert lines[2].index("^") == lines[1].index("(")
    assert page.inner_text("#formula-text") == "!c S a"
    page.fill("#text", "!c S a")
    page.wait_for_selector("#complaint", state="hidden")
    page.fill("#word", "abxab")
    page.fill("#alphabet", "abc")
    page.wait_for_selector("#complaint:not([hidden])")
    assert "'x'" in page.inner_text("#complaint") or '"x"' in page.inner_text("#complaint")


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "' onmouseover=alert(1) x='"])
def test_hostile_text_is_text(page: Any, address: str, hostile: str) -> None:
    page.goto(address)
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    escaped = hostile.replace("\\", "\\\\").replace('"', '\\"')
    page.fill("#text", f'O "{escaped}"')
    page.wait_for_function(
        "() => document.getElementById('formula-text').textContent.includes('on') "
        "|| document.getElementById('formula-text').textContent.includes('alert')"
    )
    assert "alert(1)" in page.inner_text("#formula-text")
    assert page.locator("#meaning script, #meaning [onmouseover]").count() == 0


def test_a_margin_of_nothing_can_be_right(page: Any, address: str) -> None:
    """As many a as b are no majority, at every temperature: averages weigh all alike."""
    page.goto(address + "#k=ahat&f=majority&w=abab")
    page.wait_for_selector("#curve:not(.old) svg", timeout=60000)
    assert page.inner_text("#answer").startswith("✔ false")
    assert "no temperature that was tried breaks" in page.inner_text("#beta-said")


def test_no_text_of_a_picture_is_cut_off(page: Any, address: str) -> None:
    """Laws have long titles and small numbers."""
    page.goto(address + "#k=ahat&f=dyck-argmin&w=" + quote("(()())"))
    page.wait_for_function("() => document.querySelectorAll('#laws svg').length > 0", timeout=60000)
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.picture svg text')].filter((text) => {
             const box = text.getBBox(), [, , width, height] =
               text.ownerSVGElement.getAttribute('viewBox').split(' ').map(Number);
             const room = [box.x, box.y, width - box.x - box.width, height - box.y - box.height];
             return Math.min(...room) < 0;
           }).map((text) => text.textContent)"""
    )
    assert outside == []


@pytest.mark.parametrize("width", [1400, 390])
def test_names_under_the_slider_stand_where_they_say(page: Any, address: str, width: int) -> None:
    """The triangle of `certified` is under the thumb, and no name covers another."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(at(address, "Y Y Y a", "abababab"))
    page.wait_for_function("() => document.body.dataset.critical > 0", timeout=60000)
    if width < 800:
        page.click("#tabs [data-tab=proof]")
    critical, certified = (it.bounding_box() for it in page.locator("#beta-ticks span").all())
    assert critical["x"] + critical["width"] < certified["x"] + 8
    slider = page.locator("#beta").bounding_box()
    thumb = slider["x"] + 8 + (slider["width"] - 16) * 2 / 3  # of the scale from -2 to 1, at 0
    assert abs(certified["x"] - thumb) < 3


def test_a_hard_attention_transformer(page: Any, address: str) -> None:
    page.goto(address + "#k=ahat&f=dyck-argmin&w=" + quote("(()())"))
    page.wait_for_function("() => document.querySelectorAll('#laws svg').length > 0", timeout=60000)
    source = softhat.ahat.load(EXAMPLES / "dyck-argmin.json")
    row = page.locator("#truth tr", has=page.locator("th", has_text="value > 0")).first
    shown = ["on" in (cell.get_attribute("class") or "") for cell in row.locator("td").all()]
    assert shown == source.truth("(()())").tolist()
    rows = [[x for x in scores if x > -math.inf] for scores in source.run("(()())").scores[1][0]]
    uniform = sum(len(set(row)) == 1 for row in rows)
    tieless = sum(row.count(max(row)) == 1 for row in rows if len(set(row)) > 1)
    assert uniform + tieless == 6  # kinds that there are not are not named
    said = f"Rows: {uniform} uniform, {tieless} tieless."
    assert page.inner_text(".card .reading >> nth=0").endswith(said)
    assert "γ(n)" in page.locator("#laws svg").last.get_attribute("aria-label")


@pytest.mark.parametrize(
    ("kind", "text", "word", "expected"),
    [
        ("regex", "(a|b)*abb", "aabb", [False, False, False, True]),
        (
            "program",
            "P(i) := rightmost j < i [Qa(j)] Qa(j) : 0\naccept P",
            "bab",
            [False, False, True],
        ),
        ("zoo", "tomita-1", "aab", [True, True, False]),
    ],
)
def test_other_kinds_of_input(
    page: Any, address: str, kind: str, text: str, word: str, expected: list[bool]
) -> None:
    page.goto(address + f"#k={kind}&f={quote(text)}&w={word}")
    page.wait_for_selector("#truth tr:nth-child(2)")
    cells = page.locator("#truth tr").nth(1).locator("td").all()
    assert ["on" in (cell.get_attribute("class") or "") for cell in cells] == expected


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("histogram", "abcab", ["2", "2", "1", "2", "2"]),
        ("sort", "3121", ["1", "1", "2", "3"]),
        ("previous-token", "abc", ["–", "a", "b"]),
        ("share", "abb", ["1", "0.5", "0.33333"]),
    ],
)
def test_rasp_programs(page: Any, address: str, text: str, word: str, expected: list[str]) -> None:
    page.goto(address + f"#k=rasp&f={text}&w={word}")
    page.wait_for_selector("#truth td.value")
    cells = page.locator("#truth tr").nth(1).locator("td").all()
    assert [cell.inner_text() for cell in cells] == expected
    assert page.inner_text("#answer").startswith("✔")
    assert page.locator(".card").count() >= 1


def test_the_tour_has_six_steps(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".card")
    page.click("#tour")
    for step in range(1, 7):
        assert page.inner_text("#guide-text").startswith(f"{step} of 6.")
        page.click("#guide-next")
    assert page.locator("#guide").is_hidden()


def test_long_words_and_number_formats(page: Any, address: str) -> None:
    page.goto(at(address, "!c S a", "abcabb", l="far", n="9", d="bfloat16"))
    drawn(page, "!c S a")
    assert page.inner_text("#length-shown") == "512"
    assert page.inner_text("#answer").startswith("✘")  # certified to 256
    page.select_option("#dtype", "float32")
    assert page.inner_text("#answer").startswith("✔")
    page.select_option("#dtype", "bfloat16")
    page.click("#first-failure")
    page.wait_for_function(
        "() => document.getElementById('first-failure').textContent.startsWith('fails at')",
        timeout=60000,
    )
    failure = int(re.findall(r"\d+", page.inner_text("#first-failure"))[0])
    assert failure > softhat.compile("!c S a", alphabet="abc").certificate.max_length["bfloat16"]


def test_a_report_opens_from_the_file_system(browser: Any, tmp_path: Path) -> None:
    model = softhat.compile("O (b & Y a)", alphabet="abc")
    file = tmp_path / "report.html"
    file.write_text(report(view_of(model), "caabc", "0"), encoding="utf-8")
    context = browser.new_context(offline=True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    opened = context.new_page()
    opened.goto(file.as_uri())
    drawn(opened, "O (b & Y a)")
    assert truth_row(opened, "O (b & Y a)") == [False, False, False, True, True]
    opened.fill("#word", "cab")
    assert truth_row(opened, "O (b & Y a)") == [False, False, True]
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    context.close()


def test_the_frame_of_a_notebook_answers(browser: Any, tmp_path: Path) -> None:
    """It has no address of its own, so nothing can be remembered there."""
    shown = softhat.show(softhat.compile("!c S a", alphabet="abc"), "abcabb")
    file = tmp_path / "notebook.html"
    file.write_text(f"<body>{shown._repr_html_()}</body>", encoding="utf-8")
    opened = browser.new_page()
    opened.goto(file.as_uri())
    frame = opened.frames[1]
    ready(frame)
    assert frame.inner_text("#verdict").startswith("Accepted")
    frame.fill("#word", "abc")
    ready(frame)
    assert frame.inner_text("#verdict").startswith("Not accepted")
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "width", "height"), [("desktop", 1400, 900), ("phone", 390, 844)])
def test_widths_and_themes(
    browser: Any, address: str, tmp_path: Path, scheme: Any, name: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(at(address, "H (a -> O b) & #(a) >= #(c)", "bacab"))
    opened.wait_for_selector("#truth tr:nth-child(3)")
    opened.wait_for_timeout(200)
    folder = Path(IMAGES) if IMAGES else tmp_path
    opened.screenshot(path=folder / f"explorer-{name}-{scheme}.png")
    wide = opened.evaluate("document.documentElement.scrollWidth")
    assert wide <= width  # nothing sticks out
    shown = opened.locator("main > section:visible").count()
    assert shown == (3 if name == "desktop" else 1)
    if name == "phone":
        opened.click("#tabs [data-tab=proof]")
        assert opened.locator("#proof").is_visible()
    context.close()


def test_a_report_prints_filled_squares_on_white(browser: Any, tmp_path: Path) -> None:
    """From a dark screen: squares are filled, maps are drawn for paper, cards are not broken."""
    model = softhat.compile("!c S a", alphabet="abc")
    file = tmp_path / "report.html"
    file.write_text(report(view_of(model), "abcabb", "0"), encoding="utf-8")
    context = browser.new_context(color_scheme="dark")
    opened = context.new_page()
    opened.goto(file.as_uri())
    ready(opened)
    opened.wait_for_selector("details:not([open])")
    folded = opened.locator("details:not([open])").count()
    opened.emulate_media(media="print")
    opened.wait_for_function("() => document.documentElement.dataset.theme === 'light'")
    assert opened.locator("details:not([open])").count() == 0
    styles = opened.evaluate(
        """() => {
        const style = (selector, part) => getComputedStyle(document.querySelector(selector), part);
        return [style('td.bit.on', '::before').printColorAdjust,
          style('td.bit.on', '::before').backgroundColor,
          style('.card').breakInside, style('body').backgroundColor];
        }"""
    )
    assert styles[0] == "exact"
    assert styles[1] not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    assert styles[2] == "avoid"
    assert styles[3] == "rgb(255, 255, 255)"
    assert opened.locator("main > section:visible").count() == 3
    opened.set_viewport_size({"width": 718, "height": 1000})  # A4, where a screen has tabs
    assert opened.locator("main > section:visible").count() == 3
    opened.set_viewport_size({"width": 1280, "height": 720})
    opened.emulate_media(media="screen")
    opened.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    assert opened.locator("details:not([open])").count() == folded
    context.close()


def test_a_projector_has_one_large_map(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(at(address, "F (2*#(a) = #*(a))", "abbaba", a="ab", r="first", p="on"))
    ready(page)
    (card,) = [one for one in page.locator(".card").all() if one.is_visible()]
    box = card.locator("canvas").bounding_box()
    assert abs(box["width"] - box["height"]) < 1
    assert 400 < box["height"] < 720  # it fits on the screen
    page.click("#head-choice button >> nth=1")
    ready(page)
    (card,) = [one for one in page.locator(".card").all() if one.is_visible()]
    assert card.inner_text().startswith("layer 0, head 1")
