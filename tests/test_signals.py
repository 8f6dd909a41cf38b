"""A signal on any line of the code that writes files: the target is old or new, and nothing else is left."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import hamiltone.__main__
from hamiltone import atomic, cli, leftovers
from hamiltone.audio import partial, sound_file
from hamiltone.audio.formats import Encoding
from hamiltone.audio.io import open_reader

_WATCHED = {module.__file__ for module in (atomic, leftovers, partial, sound_file)}


class _Stop(BaseException):
    pass


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stop


@contextmanager
def _signal_on_line(moment: int) -> Iterator[list[int]]:
    """Raise a signal before the `moment`-th line of the watched modules, and count the lines."""
    count = [0]

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in _WATCHED:
            return None
        if event == "line":
            count[0] += 1
            if count[0] == moment:
                sys.settrace(None)
                signal.raise_signal(signal.SIGTERM)
        return trace

    handler = signal.signal(signal.SIGTERM, _stop)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)
        signal.signal(signal.SIGTERM, handler)


def _write_text(path: Path) -> None:
    atomic.write_text(path, "new")


def _write_sound(path: Path) -> None:
    encoding = Encoding("WAV", "FLOAT")
    with sound_file.SoundFileWriter(path, encoding, sample_rate=16_000, channels=1, frames=8) as writer:
        writer.write(np.full((8, 1), 0.5, np.float32))


def _is_new_text(path: Path) -> bool:
    return path.read_text() == "new"


def _is_new_sound(path: Path) -> bool:
    with open_reader(path) as reader:
        return bool((reader.read(100) == np.full((8, 1), 0.5)).all())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files that only the end closes
@pytest.mark.parametrize(
    ("name", "write", "is_new"), [("a.txt", _write_text, _is_new_text), ("a.wav", _write_sound, _is_new_sound)]
)
def test_a_signal_on_any_line_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, name: str, write: Callable[[Path], None], is_new: Callable[[Path], bool]
) -> None:
    path = tmp_path / name
    moment, outcomes, finished = 0, set(), False
    while not finished:
        moment += 1
        path.write_bytes(b"old")
        with _signal_on_line(moment) as count:
            with suppress(_Stop):
                write(path)
            finished = count[0] < moment
        leftovers.remove_all()
        assert [each.name for each in tmp_path.iterdir()] == [name], moment
        outcomes.add("old" if path.read_bytes() == b"old" else is_new(path))
    assert moment > 10
    assert outcomes == {"old", True}


def test_the_program_removes_what_a_signal_kept_it_from_removing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped_after_creating() -> None:
        leftovers.create(tmp_path / "a.part").close()
        raise SystemExit(130)

    monkeypatch.setattr(cli, "main", stopped_after_creating)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit):
        hamiltone.__main__.main()
    assert not list(tmp_path.iterdir())
