"""Temporary files of audio in folders that several processes and hosts write to."""

import socket
import sys
from pathlib import Path

import pytest

from hamiltone import leftovers
from hamiltone.audio.partial import PartialFile


@pytest.fixture(autouse=True)
def nothing_swept_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_swept", set())


def write(path: Path) -> str:
    """Write a file; the name that it had until then."""
    partial = PartialFile(path)
    try:
        partial.sink.write(b"sound")
        partial.commit()
    finally:
        partial.discard()
    return partial.temporary.name


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there, and so no sweeping")
def test_a_host_removes_its_own_abandoned_files_and_spares_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of another host may not be seen here: a file without one may still be written there."""
    for name in ("node-1.cluster", "node", "node-1"):
        monkeypatch.setattr(socket, "gethostname", lambda name=name: name)
        (tmp_path / write(tmp_path / "a.flac")).touch()
    before = {path.name for path in tmp_path.glob(".*")}
    monkeypatch.setattr(leftovers, "_swept", set())  # the next process, on the last of these hosts
    write(tmp_path / "b.flac")
    (gone,) = before - {path.name for path in tmp_path.glob(".*")}
    assert len(before) == 3 and gone.startswith(".hamiltone-node_1-")


def test_a_folder_is_searched_once_and_not_for_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    monkeypatch.setattr(leftovers, "sweep", lambda folder, pattern: searched.append(folder))
    for name in ("a", "b", "c/a", "c/b"):
        write(tmp_path / name)
    assert searched == [tmp_path, tmp_path / "c"]
