"""The page of machines: what it holds, and clicks in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

import softhat
from softhat.explore.tapes import draw_run, tape_page, zoo_page
from softhat.io.errors import SofthatError
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
