"""Every command, given what people give it by mistake: a path that is not there, a typing error, an
output named like an input. Nothing is lost, nothing is proved, and one line says what is wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import softhat as package
from softhat.cli import SUMMARIES
from softhat.io.files import watch_inputs
from tests.cli.run import Outcome, softhat

AHAT = Path(__file__).resolve().parent.parent.parent / "examples" / "ahat" / "last-token.json"

FORMULA = {
    "check": ["{}"],
    "eval": ["{}", "abca"],
    "satisfiable": ["{}"],
    "equivalent": ["{}", "a"],
    "implies": ["a", "{}"],
    "compile": ["{}", "-o", "out"],
    "run": ["{}", "abca"],
    "trace": ["{}", "abca"],
    "explain": ["{}", "abca", "-o", "out.html"],
    "compare": ["{}"],
    "certify": ["{}"],
    "state": ["{}"],
    "verify": ["{}"],
    "export": ["{}", "--to", "torch", "-o", "out"],
    "train": ["{}", "-o", "out"],
}
"""Commands that take a formula, and most of them a folder in its place."""
FOLDER = {
    "analyze": ["{}"],
    "simulate": ["{}", "-o", "out"],
    "circuit": ["{}"],
    "score": ["{}", "{}"],
    "prove": ["{}", "--formula", "a", "--alphabet", "ab"],
    "decompile": ["{}", "--alphabet", "ab"],
    "radius": ["{}", "--formula", "a", "--alphabet", "ab"],
    "generate": ["@{}"],
    "corpus": ["extract", "{}", "0", "-o", "out"],
    "exam": ["run", "random", "--paper", "{}", "-o", "out"],
}
"""Commands that take a folder or a file only."""
NEITHER = {"explore", "zoo", "bench", "demo"}
MISSING = ["nofolder", "third-soft", "out/third", "my.model", "modle", "GFa", "нет", "v2"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert softhat("compile", "!c S a", "--alphabet", "abc", "-o", "model").code == 0
    shutil.copy(AHAT, "my.json")
    return tmp_path


def contents() -> dict[str, str]:
    """Every file under the current folder by name, with its digest."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path().rglob("*"))
        if path.is_file()
    }


def one_line(done: Outcome) -> None:
    assert done.code == 2, done
    assert not done.out and done.err.startswith("error: ") and done.err.count("\n") == 1, done
    assert "internal error" not in done.err


def test_every_command_is_tried_here() -> None:
    assert set(SUMMARIES) <= {*FORMULA, *FOLDER, *NEITHER}


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("command", FORMULA)
def test_a_missing_path_is_no_formula(place: Path, command: str, name: str) -> None:
    before = contents()
    done = softhat(command, *(part.format(name) for part in FORMULA[command]))
    one_line(done)
    assert f"no such folder or file: {name}" in done.err
    assert contents() == before


@pytest.mark.parametrize("command", FORMULA)
def test_a_file_is_no_formula(place: Path, command: str) -> None:
    """And it is not said to be missing: `@` reads it."""
    Path("mine.txt").write_text("!c S a")
    before = contents()
    done = softhat(command, *(part.format("mine.txt") for part in FORMULA[command]))
    one_line(done)
    assert "mine.txt is a file: @mine.txt reads a formula from it" in done.err
    assert contents() == before


@pytest.mark.parametrize("command", ["check", "eval", "satisfiable", "equivalent", "train"])
def test_a_folder_is_no_formula(place: Path, command: str) -> None:
    """Where no model is read, a model's folder is not said to be missing."""
    before = contents()
    done = softhat(command, *(part.format("model") for part in FORMULA[command]))
    one_line(done)
    assert "model is a folder, and no formula" in done.err
    assert contents() == before


@pytest.mark.parametrize("command", FORMULA)
def test_with_an_alphabet_that_does_not_declare_it(place: Path, command: str) -> None:
    arguments = [part.format("nofolder") for part in FORMULA[command]]
    one_line(softhat(command, *arguments, "--alphabet", "abc"))


@pytest.mark.parametrize("command", FOLDER)
def test_a_missing_folder(place: Path, command: str) -> None:
    before = contents()
    one_line(softhat(command, *(part.format("nofolder") for part in FOLDER[command])))
    assert contents() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nofolder", "--alphabet", "nofolder,x"],
        ["check", "'third-soft'"],
        ["certify", "open", "--alphabet", "open,close"],
        ["eval", "open", "open close", "--symbols"],
        ["run", "ready", "{} {ready}", "--props"],
        ["check", "!nofolder", "--alphabet", "nofolder x"],
        ["check", "last"],
        ["check", "a"],
        ["eval", "a // not/a/path", "ab"],
    ],
)
def test_what_is_meant_as_a_formula_is_one(place: Path, arguments: list[str]) -> None:
    assert softhat(*arguments).code == 0


INPUTS = ["model/config.json", "model/model.safetensors", "model/formula.txt", "my.json"]


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "model", "abc", "--format", "json", "-o"],
        ["circuit", "model", "-o"],
        ["export", "model", "--to", "onnx", "-o"],
        ["export", "model", "--to", "torch", "-o"],
        ["export", "model", "--to", "gguf", "-o"],
        ["compile", "a", "-o"],
        ["simulate", "my.json", "--max-length", "4", "-o"],
    ],
)
def test_an_output_over_an_input(place: Path, arguments: list[str], name: str) -> None:
    if name == "my.json" and "my.json" not in arguments:
        return  # somebody else's file under the name that the user chose: replaced as ever
    before = contents()
    done = softhat(*arguments, name)
    assert done.code == 2 and not done.out and done.err.count("\n") == 1, done
    assert contents() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "model", "--to", "torch", "-o", "model"],
        ["export", "model", "--to", "gpt2", "-o", "model"],
        ["export", "model", "--to", "huggingface", "-o", "./model/"],
        ["verify", "model", "--exhaustive", "2", "--resume", "model/config.json"],
        ["verify", "model", "--exhaustive", "2", "--resume", "model/certificate.json"],
        ["simulate", "my.json", "--max-length", "4", "-o", "my.json"],
    ],
)
def test_a_model_is_not_replaced_by_what_is_made_of_it(place: Path, arguments: list[str]) -> None:
    before = contents()
    one_line(softhat(*arguments))
    assert contents() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "a", "--alphabet", "ab", "-o"],
        ["explore", "--static"],
        ["corpus", "--count", "1", "-o"],
        ["exam", "make", "--only", "level-1", "-o"],
        ["simulate", "my.json", "--max-length", "4", "-o"],
        ["export", "my.json", "--to", "torch", "-o"],
    ],
)
@pytest.mark.parametrize("name", ["model", "word.txt"])
def test_a_folder_is_replaced_only_by_one_of_its_kind(
    place: Path, arguments: list[str], name: str
) -> None:
    """A compiled model is no page, no corpus and no trained model; and a file is no folder."""
    Path("word.txt").write_text("ab")
    before = contents()
    one_line(softhat(*arguments, name))
    assert contents() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "model", "ab", "-o", "model/trace.png"],
        ["circuit", "model", "-o", "model/circuit.json"],
        ["verify", "model", "--exhaustive", "2", "--resume", "model/state.json"],
        ["explain", "model", "ab", "-o", "model/report.html"],
        ["certify", "model", "--coq", "-o", "model/right.v"],
        ["bench", "compile", "--quick", "-o", "model/bench.json"],
        ["compile", "a S b", "--alphabet", "ab", "-o", "model/inner"],
        ["compile", "a S b", "--alphabet", "ab", "-o", "model/new/inner"],
        ["simulate", "my.json", "--max-length", "4", "-o", "model/inner"],
        ["corpus", "--count", "1", "-o", "model/corpus"],
        ["exam", "make", "--only", "level-1", "-o", "model/paper"],
        ["export", "model", "--to", "torch", "-o", "model/torch"],
        ["explore", "--static", "model/page"],
    ],
)
def test_no_output_joins_a_folder_that_softhat_wrote(place: Path, arguments: list[str]) -> None:
    """An export with a file more is not certified, and a model could not be replaced."""
    before = contents()
    done = softhat(*arguments)
    one_line(done)
    assert "to another place" in done.err
    assert contents() == before


@pytest.mark.parametrize("command", ["analyze", "simulate"])
def test_the_data_of_a_plot_have_a_name_of_their_own(place: Path, command: str) -> None:
    pytest.importorskip("matplotlib")
    more = ["-o", "out", "--max-length", "4"] if command == "simulate" else ["--up-to", "3"]
    before = Path("my.json").read_bytes()
    done = softhat(command, "my.json", *more, "--plot", "my.png")
    assert done.code == 0, done.err
    assert Path("my.json").read_bytes() == before
    assert json.loads(Path("my.plot.json").read_text())["format"] == "softhat-plot/1"
    assert softhat(command, "my.json", *more, "--plot", "my.png").code == 0  # again, over our own
    Path("my.plot.json").write_text('{"mine": 1}')
    one_line(softhat(command, "my.json", *more, "--plot", "my.png"))
    assert Path("my.plot.json").read_text() == '{"mine": 1}'


def test_an_ahat_named_like_the_data_of_its_plot(place: Path) -> None:
    pytest.importorskip("matplotlib")
    shutil.copy(AHAT, "my.plot.json")
    before = contents()
    one_line(softhat("analyze", "my.plot.json", "--up-to", "3", "--plot", "my.png"))
    assert contents() == before


def test_a_folder_of_results_that_others_wrote(place: Path) -> None:
    pytest.importorskip("torch")
    Path("mine").mkdir()
    for name in ("results.json", "results.html", "cases.json", "test_golden.py"):
        Path("mine", name).write_text('{"mine": 1}')
    Path("page").mkdir()
    Path("page", "results.html").write_text("mine")
    before = contents()
    for arguments in (
        ["mark", "predictions", "-o", "mine"],
        ["mark", "predictions", "-o", "page"],
        ["golden", "-o", "mine"],
        ["golden", "-o", "page"],
        ["make", "-o", "mine", "--only", "level-1"],
    ):
        one_line(softhat("exam", *arguments))
    assert contents() == before


def test_parts_of_a_paper_and_of_an_export_in_onnx(place: Path) -> None:
    for name in ("paper.json", "questions.jsonl", "truth/x/circuit.json"):
        Path("paper", name).parent.mkdir(parents=True, exist_ok=True)
        Path("paper", name).write_text('{"format": "softhat-exam/1"}')
    for name in ("x.onnx", "x.certificate.json", "x.labels.json", "y.labels.json"):
        Path(name).write_text("mine")
    before = contents()
    for name in ("paper/paper.json", "paper/truth/x/circuit.json", "x.certificate.json",
                 "x.labels.json", "x.onnx", ""):  # fmt: skip
        one_line(softhat("trace", "model", "abc", "--format", "json", "-o", name))
    assert contents() == before
    assert softhat("trace", "model", "abc", "-o", "y.labels.json").code == 0  # of no graph


def test_a_theorem_under_the_name_that_nobody_chose(place: Path) -> None:
    Path("right.v").write_text("(* mine *)")
    one_line(softhat("certify", "a", "--alphabet", "ab", "--coq"))
    assert Path("right.v").read_text() == "(* mine *)"


def test_of_two_outputs_both_are_written_or_none(place: Path) -> None:
    Path("mine").mkdir()
    Path("mine", "notes.txt").write_text("mine")
    before = contents()
    one_line(softhat("compile", "a S b", "-o", "mine", "--dot", "x.dot"))
    one_line(softhat("compile", "a S b", "-o", "new", "--dot", "no/such/x.dot"))
    assert contents() == before


def test_a_folder_that_softhat_wrote_is_replaced_again_and_again(place: Path) -> None:
    """In one command, too: to look whose a folder is does not make it an input."""
    model = package.compile("a S b", alphabet="ab")
    with watch_inputs():
        for _ in range(3):
            model.save("again")


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "my.json", "-o", "/proc/x"],
        ["decompile", "nofolder", "--alphabet", "ab", "-o", "no/such/x.json"],
        ["bench", "compile", "--quick", "-o", "no/such/x.json"],
        ["circuit", "model", "-o", "no/such/x.json"],
        ["explain", "a S b", "ab", "-o", "no/such/x.html"],
        ["verify", "model", "--plot", "no/such/x.png"],
    ],
)
def test_what_cannot_be_written_is_said_before_any_work(place: Path, arguments: list[str]) -> None:
    one_line(softhat(*arguments))


def test_links_do_not_hide_an_input(place: Path) -> None:
    Path("link.json").symlink_to("model/config.json")
    Path("hard.json").hardlink_to("model/config.json")
    before = contents()
    for name in ("link.json", "hard.json"):
        one_line(softhat("trace", "model", "abc", "-o", name))
    one_line(softhat("compile", "a", "--dot", "model/config.json"))
    one_line(softhat("bench", "compile", "--quick", "-o", "model/config.json"))
    assert contents() == before
