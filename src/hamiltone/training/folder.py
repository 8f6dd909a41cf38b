"""The folder of a run: its recipe, its state, its best model and its log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from hamiltone.atomic import replacing
from hamiltone.errors import InputError
from hamiltone.leftovers import sweep
from hamiltone.training.config import MAY_CHANGE, Recipe
from hamiltone.training.reading import flat, flat_table, is_complete, read_toml, to_toml


class RunFolder:
    """Paths in the folder of a run. With several machines all of them must see the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.log = path / "config.toml", path / "log.jsonl"
        self.last, self.best = path / "last.safetensors", path / "best.safetensors"

    @property
    def started(self) -> bool:
        """Whether there is a state to resume from."""
        return self.last.exists()

    def check(self, recipe: Recipe) -> None:
        """Raise an `InputError` if the run was started with another recipe; only keys in `MAY_CHANGE` may differ.

        Also raise one if a new run would replace the model of an older one, or a config.toml that no run has written.
        """
        if not self.started:
            self._check_new()
        if not self.started or not self.config.exists():
            return
        before = flat_table(read_toml(self.config))
        now = flat(recipe)
        for key in sorted((before.keys() | now.keys()) - MAY_CHANGE):
            if before.get(key) != now.get(key):
                raise InputError(
                    f"{self.path} was started with {key} = {before.get(key)}, not {now.get(key)}; "
                    "keep that value, or choose another run.folder"
                )

    def _check_new(self) -> None:
        if self.best.exists():
            raise InputError(
                f"{self.path} holds the best model of a run, but not {self.last.name} to resume it from, and a new run "
                f"would replace it; choose another run.folder, or move {self.best.name} away"
            )
        if self.config.exists() and not is_complete(self.config):
            raise InputError(
                f"{self.config} was not written by a run, and a run would replace it; "
                "choose another run.folder, or rename that file"
            )

    def prepare(self, recipe: Recipe) -> None:
        """Make the folder, write the resolved recipe, and remove what a killed run left half-written."""
        with self.writing(self.config):
            self.path.mkdir(parents=True, exist_ok=True)
            sweep(self.path, ".*.part")
            with replacing(self.config) as temporary:
                temporary.write_text(to_toml(recipe), "utf-8")

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Turn a failure to write, such as a full disk, into one line that says what is safe and how to resume."""
        try:
            yield
        except (OSError, SafetensorError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            kept = f"; {self.last} is unchanged: the same command resumes from it" if self.started else ""
            raise InputError(f"cannot write {path}: {reason}{kept}") from error
