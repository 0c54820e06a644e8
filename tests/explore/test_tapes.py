"""The page of machines: what it holds, and clicks in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import softhat
from softhat.explore.tapes import draw_run, tape_page, zoo_page
from softhat.io.errors import SofthatError
from softhat.io.pictures.tapes import tape_figure
from softhat.models.zoo.machines import machines
from tests.cli.run import softhat as command
from tests.explore.browser import chromium, needs_browser

BEAVER = "1RB1LB_1LA0LC_1RZ1LD_1RD0RA"


def test_the_page_loads_nothing_and_names_cannot_end_its_data() -> None:
    m = softhat.machine("l: inc a h\nh: halt")
    page = tape_page([("</script><b>", m, m.run())])
    assert "</script><b>" not in page
    assert "src=" not in page
    assert all(name in zoo_page() for name in machines())


@pytest.mark.parametrize("name", ["bb4", "rule-110", "collatz", "brackets"])
def test_pictures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    entry = machines()[name]
    draw_run(name, entry.machine, entry.shown_run(), tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 5_000


def test_the_command_draws(tmp_path: Path) -> None:
    done = command("zoo", "show", "bb4", "-o", str(tmp_path / "run.html"))
    assert done.code == 0, done.err
    assert "107 steps" in (tmp_path / "run.html").read_text()
    wrong = command("generate", "zoo:bb4", "--picture", str(tmp_path / "run.txt"))
    assert wrong.code == 2
    assert ".png" in wrong.err


def test_show_takes_a_machine() -> None:
    m = softhat.machine(BEAVER, space=32)
    assert "107 steps" in softhat.show(m, None).html
    assert "5 steps" in softhat.show(m, m.run(max_steps=5)).html
    with pytest.raises(SofthatError):
        softhat.show(m, "2")


@needs_browser
def test_a_click_shows_who_wrote_it(tmp_path: Path) -> None:
    file = tmp_path / "machines.html"
    file.write_text(zoo_page())
    m = softhat.machine(BEAVER, space=32)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 3000})
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(file.as_uri())
        box = page.locator("canvas").bounding_box()
        row = box["height"] / 108
        page.mouse.click(box["x"] + 20, box["y"] + 22.5 * row)  # after 22 steps
        said = page.inner_text("#said")
        assert said.startswith("step 23 writes A/1L")
        assert "written by step 19" in said
        page.keyboard.press("Tab")
        page.focus("#bands")
        page.keyboard.press("ArrowDown")
        assert page.inner_text("#said").startswith("step 24")
        page.select_option("#which", label="rule-110")
        page.locator("canvas").click(position={"x": 40, "y": 60})
        assert "follows cells" in page.inner_text("#said")
        assert not wrong
    assert m.run(max_steps=23).tokens[-1].startswith("A/1L")


@needs_browser
def test_what_is_chosen_is_on_the_screen_of_a_phone(tmp_path: Path) -> None:
    """bb5's tape fits a narrow screen; arrow keys scroll to the step; a click moves no picture."""
    file = tmp_path / "machines.html"
    file.write_text(zoo_page())
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(file.as_uri())
        page.select_option("#which", label="bb5")
        frame, box = (page.locator(f"#bands {it}").bounding_box() for it in ("figure", "canvas"))
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] <= 390
        page.focus("#bands")
        for _ in range(20):
            page.keyboard.press("PageDown")
        assert page.inner_text("#said").startswith("step 401 ")
        moved = page.locator("#bands canvas").bounding_box()
        row = moved["y"] + moved["height"] * 400.5 / 2001
        assert frame["y"] < row < frame["y"] + frame["height"]
        page.mouse.click(box["x"] + 30, row - 100 * box["height"] / 2001)
        assert page.inner_text("#said").startswith("step 301 ")
        page.select_option("#which", label="binary-addition")
        before = page.locator("#bands canvas").first.bounding_box()
        page.mouse.click(before["x"] + 20, before["y"] + before["height"] * 13.5 / 20)
        assert page.inner_text("#said").startswith("step 14 ")
        assert page.locator("#bands canvas").first.bounding_box() == before


@needs_browser
def test_an_address_names_a_machine_and_the_page_leads_home(tmp_path: Path) -> None:
    file = tmp_path / "machines.html"
    file.write_text(zoo_page("index.html"))
    with chromium() as browser:
        page = browser.new_page()
        page.goto(file.as_uri() + "#calculator")
        assert page.inner_text("#title").startswith("calculator:")
        page.select_option("#which", label="bb4")
        assert page.url.endswith("#bb4")
        page.reload()
        assert page.inner_text("#title").startswith("bb4:")
        assert page.get_attribute("#home", "href") == "index.html"
        file.write_text(zoo_page())
        page.reload()
        assert page.locator("#home").is_hidden()


@needs_browser
def test_a_row_names_its_step(tmp_path: Path) -> None:
    """Beside each row what the decoder writes there, as high as the row; a click chooses it."""
    file = tmp_path / "machines.html"
    file.write_text(zoo_page())
    run = softhat.machine(BEAVER, space=32).run()  # B/1R0+: what is behind the move is the position
    tokens = [re.sub(r"(?<=[LR]).*", "", token) for token in run.tokens]
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 3000})
        page.goto(file.as_uri() + "#bb4")
        names = page.locator(".steps button")
        expected = [*(f"{k} {token}" for k, token in enumerate(tokens, 1)), "end"]
        assert names.all_inner_texts() == expected
        canvas = page.locator("#bands canvas").bounding_box()
        row = canvas["height"] / len(expected)
        beside = names.nth(40).bounding_box()
        assert abs(beside["y"] - canvas["y"] - 40 * row) < 1
        assert beside["x"] + beside["width"] < canvas["x"]
        names.nth(40).click()
        assert page.inner_text("#said").startswith(f"step 41 writes {tokens[40]}")
        page.select_option("#which", label="bb5")  # 2,001 low rows: numbers, and not all
        shown = [int(text) for text in names.all_inner_texts()]
        assert shown[:2] == [1, 6] and shown[-1] <= 2001


def test_a_symbol_has_one_colour_in_every_band() -> None:
    pytest.importorskip("matplotlib")
    drawn = tape_figure(
        "two", ["input", "stack"], [[["3", "4"]], [["4", "_"]]], [[0], [1]], [["0", "1"]] * 2, "_"
    )
    (first,), (second,) = (axes.images for axes in drawn.axes)
    four = first.cmap(first.norm(first.get_array()))[0, 1]
    assert four.tolist() == second.cmap(second.norm(second.get_array()))[0, 0].tolist()
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["_", "3", "4"]


def test_no_picture_claims_a_proof_that_its_run_may_not_have() -> None:
    """`generate --beyond` draws with the same page."""
    entry = machines()["calculator"]
    page = tape_page([("calculator", entry.machine, entry.shown_run())])
    assert "proved right" not in page
    assert "17 steps, halted; 22 steps on its tapes" in page
