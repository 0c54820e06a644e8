"""`softhat compile`, `run` and `trace`, as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import softhat
from tests.cli.run import softhat as call


def test_compile_run_and_trace_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    done = call(
        "compile", "!c S a", "--alphabet", "abc", "--attention", "temperature", "-o", str(folder)
    )
    assert done.code == 0, done.err
    assert "parameters" in done.out
    assert str(folder) in done.out
    run = call("run", str(folder), "abca", "ccb", "--json")
    formula = softhat.parse("!c S a")
    documents = json.loads(run.out)
    assert [d["word"] for d in documents] == ["abca", "ccb"]
    for document in documents:
        assert document["truth"] == formula.truth(document["word"]).tolist()
        assert document["accepted"] == formula.accepts(document["word"])
        assert [m > 0 for m in document["margins"]] == document["truth"]
    assert "rejected" in call("run", str(folder), "ccb").out
    trace = json.loads(call("trace", str(folder), "abca", "--json").out)
    assert trace["tokens"] == ["<bos>", *"abca"]
    assert len(trace["layers"][0]["heads"][0]["attention"]) == 5
    picture = tmp_path / "trace.png"
    assert call("trace", str(folder), "abca", "-o", str(picture)).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_formula_instead_of_a_folder() -> None:
    done = call("run", "Y X a", "ab", "--json")
    assert json.loads(done.out)[0]["accepted"] is None  # looks both ways: --at is missing
    done = call("run", "Y X a", "ab", "--at", "last", "--json")
    assert json.loads(done.out)[0]["accepted"] is False
    assert call("run", "-", "aab", "--json", stdin="a S b\n").code == 0
    done = call("run", "p S q", "{q} {p} {}", "--props", "--json")
    assert json.loads(done.out)[0]["truth"] == [True, True, False]
    assert json.loads(done.out)[0]["word"] == [["q"], ["p"], []]


def test_big_input_is_streamed(tmp_path: Path) -> None:
    words = ["ab" * 300_000, "ba" * 300_000 + "c"]
    path = tmp_path / "words.txt"
    path.write_text("\n".join(words) + "\n")
    done = call("run", "!c S a", f"@{path}", "--alphabet", "abc")
    assert done.code == 0, done.err
    formula = softhat.parse("!c S a")
    for line, word in zip(done.out.splitlines(), words, strict=True):
        assert [c == "1" for c in line] == formula.truth(word).tolist()
    assert "tokens" in done.err
    piped = call("run", "!c S a", "-", "--alphabet", "abc", "--stream", stdin="abca\ncc\n")
    assert piped.out == "11.1\n..\n"
    path.write_bytes(b"ab" * 10 + b"\xff" + b"ab")
    bad = call("run", "!c S a", f"@{path}", "--alphabet", "abc", "--stream")
    assert bad.code == 2
    assert "20" in bad.err


def test_big_standard_input_is_streamed() -> None:
    word = "ab" * 600_000
    done = call("run", "b S a", "-", stdin=word + "\nba")
    assert done.out == "1" * len(word) + "\n.1\n"
    assert "1,200,002 tokens" in done.err
    small = call("run", "b S a", "-", stdin="ab\nba\n")
    rows = [line.split()[:3] for line in small.out.splitlines()[1:]]
    assert rows == [["ab", "11", "accepted"], ["ba", ".1", "accepted"]]


def test_streamed_tokens_of_one_character(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("a b b\nb a\n")
    options = ("--alphabet", "a b", "--symbols")
    assert call("run", "b S a", f"@{path}", *options, "--stream").out == "111\n.1\n"


def test_an_alphabet_of_tokens_makes_words_of_tokens() -> None:
    done = call("run", "O open", "close open", "--alphabet", "open,close", "--json")
    assert json.loads(done.out)[0]["word"] == ["close", "open"]
    assert json.loads(done.out)[0]["truth"] == [False, True]


def test_the_faulty_one_of_several_words_is_named() -> None:
    done = call("run", "a", "ab", "abz", "--alphabet", "ab")
    assert done.code == 2
    assert done.err.startswith("error: word 2: symbol 'z' at position 3")


def test_json_of_a_trace_and_its_file(tmp_path: Path) -> None:
    picture, text = tmp_path / "trace.png", tmp_path / "trace.txt"
    for file in (picture, text):
        done = call("trace", "a S b", "ab", "-o", str(file), "--json")
        assert json.loads(done.out)["tokens"] == ["<bos>", "a", "b"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "residual stream" in text.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["trace.png", "trace.txt"]


def test_closed_standard_input() -> None:
    command = f"{sys.executable} -c 'from softhat.cli import main; main()' run a - <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: cannot read standard input: it is closed\n"


def test_several_outputs_and_the_program(tmp_path: Path) -> None:
    folder = str(tmp_path / "m")
    done = call("compile", "O a", "--also", "b=O b", "--name", "a", "--show-program", "-o", folder)
    assert "Latest" in done.out
    assert call("run", folder, "ab").code == 2
    assert json.loads(call("run", folder, "ab", "--output", "b", "--json").out)[0]["truth"] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "a S (b", "-o", "x"),
        ("compile", "a", "--alphabet", "aa"),
        ("compile", "a", "--attention", "warm"),
        ("compile", "z", "--alphabet", "ab"),
        ("run", "a S b", "abz", "--alphabet", "ab"),
        ("run", "a S b", ""),
        ("run", "a", "a", "--dtype", "int3"),
        ("trace", "a", "a", "--format", "png"),
        ("trace", "a", "a", "--format", "png", "-o", "a.bmp"),
        ("trace", "a", "a", "-o", "nowhere/a.txt"),
        ("trace", "a", "a", "-o", "nowhere/a.png"),
        ("compile", "a", "-o", "model", "--dot", "nowhere/a.dot"),
        ("compile", "'\\ud800'", "-o", "model"),
        ("run", "a", "@words", "--stream", "--json"),
        ("run", "a", "@words", "--stream", "--at", "first"),
        ("run", "-", "-", "--stream"),
        ("nonsense",),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["run", "trace"])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_an_export_is_refused_with_what_to_do(command: str, family: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "export")
    model = softhat.compile("!c S a", alphabet="abc")
    if family == "gpt2":
        softhat.to_gpt2(model, folder)
    else:
        softhat.to_llama(model, folder)
    done = call(command, folder, "abca")
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert f"model_type '{family}'" in done.err
    assert "run the model folder that it was exported from" in done.err
    assert f"softhat verify {folder}" in done.err
    assert "run it with transformers" in done.err


@pytest.mark.parametrize("command", ["run", "certify", "check", "compile", "--help"])
def test_a_formula_loads_nothing_of_other_front_ends(command: str, tmp_path: Path) -> None:
    """Start-up counts: what a formula's model does not use is not imported."""
    folder = str(tmp_path / "model")
    softhat.compile("!c S a", alphabet="abc").save(folder)
    arguments = {
        "run": ["run", folder, "abca"],
        "certify": ["certify", folder],
        "check": ["check", "!c S a", "--alphabet", "abc"],
        "compile": ["compile", "!c S a", "--alphabet", "abc", "-o", str(tmp_path / "new")],
        "--help": ["--help"],
    }[command]
    code = (
        "import sys\n"
        "from softhat.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    code = end.code\n"
        "unused = ('softhat.ahat', 'softhat.frontends.', 'softhat.circuits', 'softhat.explore',\n"
        "          'softhat.trained', 'softhat.models.value_model', 'torch')\n"
        "unused += ('softhat.models.compiler',) if sys.argv[1] != 'compile' else ()\n"
        "unused += ('softhat.io.files', 'numpy', 'hashlib') if sys.argv[1] == '--help' else ()\n"
        "loaded = [name for name in sys.modules if name.startswith(unused)]\n"
        "print(code, loaded, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.stderr.splitlines()[-1] == "0 []"
