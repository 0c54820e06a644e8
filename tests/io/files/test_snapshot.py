"""A folder is read as it was at one moment, however often others save into it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import softhat
from softhat.export import checking
from softhat.io.errors import SofthatError
from softhat.io.files import read_as_a_whole, read_text, unchanged, write_file, write_folder
from softhat.models.folders import load_compiled
from softhat.trained.checkpoint import read_checkpoint


def files(k: int) -> dict[str, bytes]:
    return {"config.json": b'{"k": %d}' % k, "a": b"%d" % k, "b": b"%d" % k}


def test_two_saves_are_never_mixed(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    write_folder(folder, files(0))
    stop = threading.Event()

    def save() -> None:
        k = 0
        while not stop.is_set():
            k += 1
            write_folder(folder, files(k))

    writer = threading.Thread(target=save)
    writer.start()
    try:
        for _ in range(60):
            parts = read_as_a_whole(
                folder, lambda: {read_text(folder / "a"), read_text(folder / "b")}
            )
            assert len(parts) == 1
    finally:
        stop.set()
        writer.join()


def test_a_save_between_two_reads_is_noticed(tmp_path: Path) -> None:
    """Also one that puts back what was there before."""
    folder = tmp_path / "f"
    write_folder(folder, files(1))
    pending = [2, 1]

    def read() -> tuple[str, str]:
        first = read_text(folder / "a")
        if pending:
            write_folder(folder, files(pending.pop(0)))
        return first, read_text(folder / "b")

    first, second = read_as_a_whole(folder, read)
    assert first == second == "1" and not pending


def test_models_saved_over_each_other_while_they_are_loaded(tmp_path: Path) -> None:
    models = [
        softhat.compile("a S b", alphabet="ab"),
        softhat.compile("Y (a & O b)", alphabet="ab"),
    ]
    truth = [[bool(x) for x in m.truth("abbab")] for m in models]
    models[0].save(tmp_path / "m")
    stop = threading.Event()

    def save() -> None:
        while not stop.is_set():
            for model in models:
                model.save(tmp_path / "m")

    writer = threading.Thread(target=save)
    writer.start()
    try:
        for _ in range(25):
            model = load_compiled(tmp_path / "m")
            k = 0 if str(model.formulas["output"]) == "a S b" else 1
            assert [bool(x) for x in model.truth("abbab")] == truth[k]
    finally:
        stop.set()
        writer.join()


def test_a_folder_edited_by_hand_is_read_as_it_is(tmp_path: Path) -> None:
    write_folder(tmp_path / "f", files(1))
    (tmp_path / "f" / "a").write_text("mine")
    assert read_as_a_whole(tmp_path / "f", lambda: read_text(tmp_path / "f" / "a")) == "mine"


def test_a_fault_is_told(tmp_path: Path) -> None:
    write_folder(tmp_path / "f", files(1))

    def read() -> None:
        raise SofthatError("damaged")

    with pytest.raises(SofthatError, match="damaged"):
        read_as_a_whole(tmp_path / "f", read)


def test_a_link_that_leads_nowhere_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a folder is in one state: it is read at the first try, or its fault is told."""
    folder = tmp_path / "f"
    write_folder(folder, files(0))
    (folder / "c").symlink_to(tmp_path / "nothing")
    (folder / "d").symlink_to(folder / "d")
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waits"))
    assert read_as_a_whole(folder, lambda: read_text(folder / "a", inside=folder)) == "0"


@contextmanager
def saving(*saves: Callable[[], None]) -> Iterator[None]:
    """Inside, one after the other is saved over what is there."""
    stop = threading.Event()

    def save() -> None:
        while not stop.is_set():
            for one in saves:
                one()

    saves[0]()
    writer = threading.Thread(target=save)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


@pytest.fixture
def exports(tmp_path: Path) -> tuple[Path, Callable[[], None], Callable[[], None]]:
    """A folder, and two exports of one shape that are saved into it."""
    pytest.importorskip("transformers")
    one = softhat.compile("!c S a", alphabet="abc")
    two = softhat.compile("!a S b", alphabet="abc")
    folder = tmp_path / "export"
    return (
        folder,
        lambda: softhat.to_gpt2(one, folder, context=8),
        lambda: softhat.to_gpt2(two, folder, context=8),
    )


def test_exports_are_read_as_a_whole(
    exports: tuple[Path, Callable[[], None], Callable[[], None]],
) -> None:
    """Neither mixed nor refused for what a save leaves in the folder for a moment."""
    folder, one, two = exports
    whole = set()
    for save in (one, two):
        save()
        whole.add(str(softhat.circuit(folder, words=8).to_json()))
    with saving(one, two):
        for _ in range(20):
            certificate = softhat.certify(folder)
            assert certificate.ok and certificate.max_length["float32"] == 7
            assert read_checkpoint(folder).head == "GPT2ForTokenClassification"
        for _ in range(4):
            assert str(softhat.circuit(folder, words=8).to_json()) in whole


def test_no_export_is_refuted_by_the_one_that_replaces_it(
    exports: tuple[Path, Callable[[], None], Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its formula is read before, and its weights are loaded by transformers after: refused."""
    folder, one, two = exports
    one()
    seen = checking.certify_export

    def certify_and_save(export: Any) -> Any:
        two()
        return seen(export)

    assert softhat.verify(folder, exhaustive=3, random=2).ok
    monkeypatch.setattr(checking, "certify_export", certify_and_save)
    with pytest.raises(SofthatError, match="was saved again in the meantime"):
        softhat.verify(folder, exhaustive=3, random=2)


def test_what_a_killed_save_left_is_no_reason_to_refuse_an_export(
    exports: tuple[Path, Callable[[], None], Callable[[], None]],
) -> None:
    folder, one, _ = exports
    one()
    (folder / ".softhat-0123456789abcdef.set").mkdir()
    assert softhat.certify(folder).void == ()
    (folder / ".softhat-mine").mkdir()
    with pytest.raises(SofthatError, match="no file of this export"):
        softhat.certify(folder)


def test_a_file_that_is_saved_again_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "graph.onnx"
    write_file(file, b"one")
    with unchanged(file):
        read_text(file)
    with pytest.raises(SofthatError, match="saved again"), unchanged(file):
        write_file(file, b"two")
