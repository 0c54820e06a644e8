"""Ordinary use that went wrong: typos, suffixes, odd numbers, odd files."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
from pathlib import Path

import pytest

import softhat as package
from softhat.ahat import Builder
from softhat.io.errors import SofthatError
from softhat.models.folders import load_compiled
from tests.cli.run import softhat

AHAT = Path(__file__).resolve().parent.parent.parent / "examples" / "ahat" / "last-token.json"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert softhat("compile", "!c S a", "--alphabet", "abc", "-o", "model").code == 0
    return tmp_path


def there() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def test_long_ascii_words_and_symbols_beyond() -> None:
    word = "a" * 300
    done = softhat("run", "a S 'λ'", word, "--json")
    assert done.code == 0 and json.loads(done.out)[0]["truth"] == [False] * 300
    model = package.compile("a S '\U0001f600'", alphabet=["a", "\U0001f600"])
    assert model.truth("\U0001f600" + word).all()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("modle", "did you mean model?"),
        ("modle/", "did you mean model?"),
        ("./modle", "did you mean model?"),
        ("nowhere/at/all", "no such folder"),
        ("weights.safetensors", "no such folder"),
        ("model.json", "no such folder"),
    ],
)
@pytest.mark.parametrize("command", ["run", "trace", "verify", "certify", "export"])
def test_a_folder_that_is_not_there_is_not_a_formula(
    place: Path, command: str, name: str, hint: str
) -> None:
    more = {"run": ["abca"], "trace": ["abca"], "export": ["--to", "torch", "-o", "out"]}
    done = softhat(command, name, *more.get(command, []))
    assert done.code == 2 and hint in done.err and not done.out
    assert there() == ["model"]


def test_symbols_that_look_like_names_are_still_symbols(place: Path) -> None:
    assert softhat("run", "open", "open close", "--symbols").code == 0
    assert softhat("run", "'modle'", "modle x", "--symbols").code == 0
    assert softhat("run", "ready", "{} {ready}", "--props").code == 0
    assert softhat("run", "a // not a path", "ab").code == 0


def test_the_file_of_an_ahat_is_an_ahat(tmp_path: Path) -> None:
    done = softhat("run", str(AHAT), "abab", "abaa", "--json")
    model = package.ahat.load(AHAT)
    expected = [model.truth(word).tolist() for word in ("abab", "abaa")]
    assert [row["truth"] for row in json.loads(done.out)] == expected
    assert "layer 0, head 0" in softhat("trace", str(AHAT), "abab").out
    for command in (["verify"], ["certify"], ["export", "--to", "onnx", "-o", str(tmp_path / "x")]):
        done = softhat(command[0], str(AHAT), *command[1:])
        assert done.code == 2 and "softhat simulate" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "model", "abc", "-o", "t.html"],
        ["trace", "model", "abc", "-o", "t.png", "--format", "json"],
        ["compile", "a", "--dot", "x.png"],
        ["bench", "compile", "--quick", "-o", "x.png"],
        ["analyze", str(AHAT), "--plot", "x.json"],
        ["circuit", "model", "-o", "x.onnx"],
        ["export", "model", "--to", "onnx", "-o", "x.json"],
        ["export", "model", "--to", "gguf", "-o", "x.onnx"],
        ["decompile", "model", "--alphabet", "ab", "-o", "x.html"],
    ],
)
def test_the_suffix_decides_or_is_refused(place: Path, arguments: list[str]) -> None:
    done = softhat(*arguments)
    assert done.code == 2 and re.search(r"\.(html|png|json|onnx)", done.err)
    assert there() == ["model"]


def test_a_picture_of_nothing_says_why(tmp_path: Path) -> None:
    majority = AHAT.parent / "majority.json"
    picture, folder = str(tmp_path / "x.png"), str(tmp_path / "simulation")
    for arguments in (["analyze", str(majority)], ["simulate", str(majority), "-o", folder]):
        done = softhat(*arguments, "--plot", picture)
        assert done.code == 2 and "nothing to draw" in done.err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "model", "--seed", "-1"],
        ["trace", "model", "abc", "-o", "/"],
        ["compile", "a", "--name", "\udcff", "-o", "x"],
        ["run", "a/" * 2000, "a"],
        ["compile", "a", "-o", "a/" * 2500],
        ["trace", "model", "a", "-o", "a/" * 2500 + "x.json"],
        ["analyze", "a/" * 2500],
        ["simulate", str(AHAT), "-o", "a/" * 2500, "--max-length", "4"],
        ["verify", "model", "--resume", "a/" * 2500],
        ["verify", "model", "--resume", "/dev/zero"],
        ["check", "@/dev/zero"],
        ["run", "model", "@/dev/zero"],
        ["run", "model", "@pipe"],
        ["run", "model", "@pipe", "--stream"],
        ["analyze", "pipe"],
        ["compile", "a", "-o", "pipe"],
        ["trace", "model", "abc", "-o", "pipe"],
    ],
)
def test_bad_input_is_one_message(place: Path, arguments: list[str]) -> None:
    os.mkfifo("pipe")
    done = softhat(*arguments)
    assert done.code == 2 and not done.out and "internal error" not in done.err, done.err
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode) and there() == ["model", "pipe"]


def test_a_device_is_written_to(place: Path) -> None:
    assert softhat("trace", "model", "abc", "-o", "/dev/null").code == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_foreign_files_are_refused_by_name(place: Path) -> None:
    (place / "model" / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in (place / "model").iterdir()}
    for arguments in (
        ["compile", "a", "-o", "model"],
        ["simulate", str(AHAT), "--max-length", "4", "-o", "model"],
        ["export", "a", "--to", "torch", "-o", "model"],
    ):
        done = softhat(*arguments)
        assert done.code == 2 and "notes.txt" in done.err
    assert {path.name: path.read_bytes() for path in (place / "model").iterdir()} == before


def test_the_working_directory_as_output(place: Path) -> None:
    (place / "here").mkdir()
    os.chdir("here")
    assert softhat("compile", "a S b", "--alphabet", "ab", "-o", ".").code == 0
    assert softhat("compile", "b S a", "--alphabet", "ab", "-o", ".").code == 0
    assert softhat("run", ".", "ab").code == 0
    assert load_compiled(".").formulas["output"] == package.parse("b S a")


def test_heads_are_counted_alike(place: Path) -> None:
    formula = "(a S b) & (b S a) & Y (a S b)"
    assert softhat("compile", formula, "--alphabet", "ab", "-o", "two").code == 0
    heads = re.compile(r"layer \d+, head \d+")
    shown = [
        set(heads.findall(softhat(*arguments).out))
        for arguments in (
            ["trace", "two", "ab"],
            ["certify", "two"],
            [
                "verify",
                "two",
                "--exhaustive",
                "3",
                "--random",
                "2",
                "--adversarial",
                "1",
                "-j",
                "1",
            ],
        )
    ]
    layers = package.load("two").transformer.layers
    expected = {
        f"layer {l}, head {h}" for l, layer in enumerate(layers) for h in range(len(layer.masks))
    }
    assert shown == [expected] * 3 and "layer 0, head 0" in expected
    assert heads.search(softhat("analyze", str(AHAT), "--up-to", "3").out)


def test_out_is_the_path_and_output_the_name() -> None:
    from softhat.cli import SUMMARIES

    for name in SUMMARIES:
        text = softhat(name, "--help").out
        assert "-o" not in re.findall(r"--output\W+(-o)\b", text), name
        if re.search(r"(?<!-)-o\b", text):
            assert "--out " in text.replace("\n", " ") or "--out\x1b" in text, name


def test_softhat_alone_prints_help() -> None:
    done = softhat()
    assert done.code == 0 and "Usage" in done.out and not done.err


@pytest.mark.parametrize("arguments", [["demo"], ["zoo"], ["check", "a"], ["compare", "a S b"]])
def test_json_is_one_document(arguments: list[str]) -> None:
    done = softhat(*arguments, "--json")
    assert done.code == 0 and json.loads(done.out) and not done.err


def test_ten_adversarial_words_are_ten() -> None:
    done = softhat("verify", "a S b", "--alphabet", "ab", "--adversarial", "10", "--random", "3",
                   "--exhaustive", "2", "--max-length", "20", "-j", "1", "--json")  # fmt: skip
    counts = json.loads(done.out)["counts"]
    assert counts["adversarial"] == 10 and counts["random"] == 3


def test_the_builder_is_exact() -> None:
    for bad in (0.1, 1.0, "1", None, True):
        builder = Builder("ab")
        for use in (
            lambda b=builder, x=bad: b.embed("x", {"a": x}),
            lambda b=builder, x=bad: b.table([x]),
            lambda b=builder, x=bad: b.token("a") + x,
            lambda b=builder, x=bad: b.token("a") - x,
            lambda b=builder, x=bad: b.token("a") * x,
            lambda b=builder, x=bad: b.head("<=", {"v": b.token("a")}, [(x, b.token("a"))]),
        ):
            with pytest.raises(SofthatError, match="exact"):
                use()
    with pytest.raises(SofthatError, match="mask must be one of"):
        Builder("ab").head("causal", {"v": Builder("ab").token("a")})


def test_a_trace_of_a_long_word_is_refused_at_once() -> None:
    for model in ("a S b", str(AHAT)):
        done = softhat("trace", model, "ab" * 50_000)
        assert done.code == 2 and "this one has 100,000" in done.err


def test_help_shows_what_stands_in_angle_brackets() -> None:
    """Help is Markdown, which takes `<bos>` for a tag and leaves it out unless it is quoted."""
    for path in Path(package.__file__).parent.glob("cli/*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            texts: list[str] = []
            if isinstance(node, ast.Call):
                said = [option.value for option in node.keywords if option.arg == "help"]
                texts += [str(text.value) for text in said if isinstance(text, ast.Constant)]
            if isinstance(node, ast.FunctionDef) and node.name == "command":
                texts.append(ast.get_docstring(node) or "")
            for text in texts:
                assert not re.search(r"<\w+>", re.sub("`[^`]*`", "", text)), (path.name, text)
