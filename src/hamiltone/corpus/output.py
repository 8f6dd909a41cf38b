"""The folder of a run: enhanced audio, manifests in the order of the input, and the state to resume from.

```text
OUTPUT/
  audio/3f/anna_01-3f0c….flac   the enhanced clips
  manifest.jsonl                a line per clip that was enhanced (and kept), in the order of the input
  errors.jsonl                  a line per clip that could not be
  dropped.jsonl                 with --keep: a line per clip that the filter left out
  .hamiltone/                   the settings and the list of what is done
```
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from hamiltone.atomic import replacing, sync_folder
from hamiltone.corpus.ledger import to_line
from hamiltone.corpus.stage import AUDIO
from hamiltone.errors import InputError
from hamiltone.leftovers import sweep

if sys.platform != "win32":
    import fcntl


class OutputFolder:
    """The paths of a run, which belongs to one input and one way of enhancing it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest, self.errors = path / "manifest.jsonl", path / "errors.jsonl"
        self.dropped = path / "dropped.jsonl"
        self._state = path / ".hamiltone"
        self.ledger, self._settings = self._state / "done.jsonl", self._state / "run.json"

    @contextmanager
    def claimed(self, settings: dict[str, Any]) -> Iterator[None]:
        """Create the folder, or check that it belongs to this run, and keep other runs out while the block lasts.

        An `InputError` says what differs.
        """
        with ExitStack() as open_files:
            try:
                if self.path.exists() and not self._is_ours():
                    raise InputError(f"{self.path}: not a run of hamiltone corpus; choose an empty folder")
                self._state.mkdir(parents=True, exist_ok=True)
                self._lock(open_files.enter_context((self._state / "lock").open("wb")))
                if self._settings.exists():
                    self._compare(settings)
                else:
                    with writing(self._settings) as write:
                        write(settings)
                    (self.path / AUDIO).mkdir(exist_ok=True)
                    sync_folder(self.path)
            except OSError as error:
                raise InputError(f"{error.filename or self.path}: cannot be used: {error.strerror}") from error
            yield

    def _is_ours(self) -> bool:
        """Whether a run began here, even if it was killed before it wrote its settings."""
        return self._settings.exists() or (
            self.path.is_dir() and all(path == self._state for path in self.path.iterdir())
        )

    def _lock(self, file: BinaryIO) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path}: another hamiltone corpus is writing there") from None
        except OSError:  # a file system without locks
            pass

    def _compare(self, settings: dict[str, Any]) -> None:
        try:
            before = dict(json.loads(self._settings.read_bytes()))
        except (ValueError, TypeError):
            raise InputError(f"{self._settings}: is damaged; choose another output") from None
        for key in settings:
            if before.get(key) != settings[key]:
                raise InputError(
                    f"{self.path}: belongs to another run, with {key} {before.get(key)!r} instead of "
                    f"{settings[key]!r}; choose another output"
                )

    def sweep(self) -> None:
        """Remove what killed workers left half-written, on any host; every clip is done, so none is waited for."""
        for folder in sorted((self.path / AUDIO).glob("*")):
            sweep(folder, ".hamiltone-*.part")


@contextmanager
def writing(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that adds a row to a file, which appears whole or not at all, even after a loss of power."""
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:

            def write(row: dict[str, Any]) -> None:
                file.write(to_line(row))

            yield write
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
