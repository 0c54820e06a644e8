"""Maps by coordinates: they are square, fill their column, and a click opens what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import softhat
from tests.explore.browser import at, chromium, explorer, needs_browser, ready

pytestmark = needs_browser
SIZES = {"desktop": (1440, 900), "phone": (390, 844), "projector": (1280, 720)}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with explorer() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(params=list(SIZES))
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []


def open_maps(page: Any, address: str) -> None:
    page.goto(address)
    ready(page)
    if page.locator("#tabs").is_visible():
        page.click("#tabs [data-tab=attention]")


def cell_at(canvas: Any, row: int, column: int) -> tuple[float, float]:
    """The middle of a cell on the screen, from what the map says of its cells."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    edge, cells = float(canvas.get_attribute("data-edge")), int(canvas.get_attribute("data-cells"))
    cell = (box["width"] - edge) / cells
    return box["x"] + edge + (column + 0.5) * cell, box["y"] + (row + 0.5) * cell


def test_maps_are_square_and_fill_their_column(page: Any, address: str) -> None:
    open_maps(page, at(address, "F (2*#(a) = #*(a))", "abbaba", a="ab", r="first"))
    cards = page.locator(".card").all()
    assert len(cards) == 5
    for card in cards:
        canvas, outer = card.locator("canvas").bounding_box(), card.bounding_box()
        assert abs(canvas["width"] - canvas["height"]) < 1
        assert canvas["width"] > outer["width"] - 40  # the card's padding and border
    column = page.locator("#layers").bounding_box()["width"]
    alone = page.locator(".layer").first.locator(".card").bounding_box()  # one head in its layer
    assert alone["width"] > min(column, 0.86 * page.viewport_size["height"]) - 8
    drawn = page.evaluate(
        "() => [...document.querySelectorAll('.card canvas')].map(c => [c.width, c.height])"
    )
    assert all(width == height for width, height in drawn)


def test_every_row_opens_where_it_is_clicked(page: Any, address: str) -> None:
    word = "abcabb"
    open_maps(page, at(address, "!c S a", word, a="abc"))
    canvas = page.locator(".card canvas").first
    weights = softhat.compile("!c S a", alphabet="abc").run(word).attention[0][0]
    places = ["<bos>", *(f"{symbol} at {k}" for k, symbol in enumerate(word, 1))]
    for row in range(7):
        column = int(weights[row].argmax())
        page.mouse.click(*cell_at(canvas, row, column))
        assert page.inner_text("#row h3").startswith(f"row of {places[row]} in layer 0, head 0")
        assert page.inner_text("#row .said").startswith(f"{places[column]} wins")
        expected = f"{places[row]} gives {places[column]} {100 * weights[row, column]:.2f} %"
        assert page.inner_text(".card .reading").startswith(expected)


def test_what_is_drawn_is_where_it_is_clicked(page: Any, address: str) -> None:
    """The colour of a cell's pixels is its weight, and the cell is found where they are."""
    open_maps(page, at(address, "!c S a", "abcabb", a="abc"))
    weights = softhat.compile("!c S a", alphabet="abc").run("abcabb").attention[0][0]
    alpha = page.evaluate(
        """() => {
        const canvas = document.querySelector('.card canvas');
        const [edge, cells] = [Number(canvas.dataset.edge), Number(canvas.dataset.cells)];
        const ratio = canvas.width / canvas.clientWidth;
        const cell = (canvas.clientWidth - edge) / cells;
        const pen = canvas.getContext('2d');
        const near = (k) => (k + 0.12) * cell;  // beside the digits
        return [...Array(cells).keys()].map((r) => [...Array(cells).keys()].map((c) =>
          pen.getImageData((edge + near(c)) * ratio, near(r) * ratio, 1, 1).data[3] / 255));
        }"""
    )
    for row in range(7):
        for column in range(row + 1):
            assert alpha[row][column] == pytest.approx(weights[row, column] ** 0.5, abs=0.02)


def test_long_words_have_maps(page: Any, address: str) -> None:
    """512 positions: the last 64 rows, columns in groups, and the first symbol is found."""
    open_maps(page, at(address, "!c S a", "abcabb", a="abc", l="far", n="9"))
    canvas = page.locator(".card canvas").first
    assert canvas.get_attribute("data-cells") == "64"
    page.mouse.click(*cell_at(canvas, 63, 0))
    assert page.inner_text("#row h3").startswith("row of b at 512")
    assert page.inner_text("#row .said").startswith("a at 1 wins")
    assert page.inner_text(".card .reading").startswith("b at 512 gives a at 1 98.")


def test_no_name_beside_a_long_map_is_cut(page: Any, address: str) -> None:
    """No ink of a name touches the canvas's edge: neither the last column's nor the first row's."""
    open_maps(page, at(address, "H (b -> O a)", "ab" * 150, a="a b"))
    assert "a column shows the largest share among 5 positions" in page.inner_text("#markers")
    touching = page.evaluate(
        """() => [...document.querySelectorAll('.card canvas')].map(c => {
          const pen = c.getContext("2d");
          const edge = Number(c.dataset.edge) * (window.devicePixelRatio || 1);
          const inked = (...box) =>
            pen.getImageData(...box).data.some((value, k) => k % 4 === 3 && value > 60);
          return inked(c.width - 1, c.height - edge + 3, 1, edge - 4) || inked(0, 0, edge - 3, 1);
        })"""
    )
    assert touching and not any(touching)


def test_maps_follow_the_window(page: Any, address: str) -> None:
    open_maps(page, at(address, "!c S a", "abcabb", a="abc"))
    page.set_viewport_size({"width": 1000, "height": 800})
    page.wait_for_timeout(200)
    if page.locator("#tabs").is_visible():
        page.click("#tabs [data-tab=attention]")
    canvas = page.locator(".card canvas").first
    drawn = page.evaluate(
        "() => [...document.querySelectorAll('.card canvas')].map(c => [c.width, c.clientWidth])[0]"
    )
    assert drawn[0] == int(drawn[1])
    page.mouse.click(*cell_at(canvas, 4, 4))
    assert page.inner_text("#row h3").startswith("row of a at 4")


DRAWN = """() => {
  const drawn = [];
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    drawn.push([String(text), x, y]);
    return plain.call(this, text, x, y);
  };
  softhat.attention.redraw();
  CanvasRenderingContext2D.prototype.fillText = plain;
  return drawn;
}"""


def test_a_large_map_names_positions(page: Any, address: str) -> None:
    """Below each column its symbol and its position, in the middle of the column; rows likewise.
    A map with little room has symbols only."""
    word = "abcabb"
    open_maps(page, at(address, "!c S a", word, a="abc"))
    canvas = page.locator(".card canvas").first
    edge, width = float(canvas.get_attribute("data-edge")), canvas.bounding_box()["width"]
    cell = (width - edge) / 7
    drawn = page.evaluate(DRAWN)
    for position in range(1, 7):
        middle = (position + 0.5) * cell
        names = [text for text, x, y in drawn if abs(x - edge - middle) < 2 and y > 7 * cell]
        assert names == [word[position - 1], str(position)]
        beside = [text for text, x, y in drawn if abs(y - middle) < 2 and x < edge]
        assert sorted(beside) == [str(position), word[position - 1]]
    open_maps(page, at(address, "!c S a", word * 8, a="abc"))
    assert not any(text == "48" for text, x, y in page.evaluate(DRAWN) if x < edge)
