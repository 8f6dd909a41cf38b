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
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hamiltone.corpus.ledger import to_line
from hamiltone.corpus.stage import AUDIO, sync_folder
from hamiltone.errors import InputError
from hamiltone.leftovers import sweep

if sys.platform != "win32":
    import fcntl


class RunFolder:
    """The paths of a run, which belongs to one input and one way of enhancing it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest, self.errors = path / "manifest.jsonl", path / "errors.jsonl"
        self.dropped = path / "dropped.jsonl"
        self._state = path / ".hamiltone"
        self.ledger, self._settings = self._state / "done.jsonl", self._state / "run.json"

    def claim(self, settings: dict[str, Any]) -> None:
        """Make the folder, or check that it belongs to this run; an `InputError` says what differs."""
        try:
            found = self._settings.read_text("utf-8") if self._settings.exists() else None
            if found is None:
                if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                    raise InputError(
                        f"{self.path}: exists and is not a run of hamiltone corpus; choose an empty folder"
                    )
                self._state.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be used: {error.strerror}") from error
        if found is None:
            with writing(self._settings) as write:
                write(settings)
            return
        try:
            before = json.loads(found)
        except ValueError:
            raise InputError(f"{self._settings}: is damaged; remove it or choose another output") from None
        for key in settings:
            if before.get(key) != settings[key]:
                raise InputError(
                    f"{self.path}: belongs to another run, with {key} {before.get(key)!r} instead of "
                    f"{settings[key]!r}; choose another output"
                )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second run out of the folder while this one writes."""
        with (self._state / "lock").open("wb") as file:
            if sys.platform != "win32":
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(f"{self.path}: another hamiltone corpus is writing there") from None
                except OSError:  # a file system without locks
                    pass
            yield

    def sweep(self) -> None:
        """Remove what killed workers left half-written."""
        for folder in sorted((self.path / AUDIO).glob("*")):
            sweep(folder, ".hamiltone-*.part")


@contextmanager
def writing(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield a function that adds a row to a file that appears whole or not at all, even after a power failure."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:

            def write(row: dict[str, Any]) -> None:
                file.write(to_line(row))

            yield write
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
