"""The log of a run: JSON lines, TensorBoard, and on standard error a progress bar, or lines if it is not a terminal."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from hamiltone.atomic import replacing
from hamiltone.training.folder import RunFolder
from hamiltone.training.task import Media


class Log:
    """A log that does nothing, for every process but the first."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def record(self, kind: str, step: int, values: dict[str, float]) -> None:
        """Log the figures of a step; `kind` is train or validation."""

    def media(self, step: int, media: Media) -> None:
        """Log sounds and pictures."""

    def show(self, position: float, text: str) -> None:
        """Move the bar to a position from 0 to 1."""

    def say(self, line: str) -> None:
        """Print a line above the bar."""


class RunLog(Log):
    """The log of the first process; lines that a killed run wrote after the step to resume from are dropped."""

    def __init__(self, folder: RunFolder, step: int, position: float) -> None:
        self._folder, self._step = folder, step
        self._console = Console(stderr=True)
        self._text = ""
        self._bar = _bar(self._console)
        self._task = self._bar.add_task("", total=1.0, text="")
        self._bar.update(self._task, completed=position)

    def __enter__(self) -> Self:
        with self._folder.writing(self._folder.log), ExitStack() as stack:
            _keep_until(self._folder, self._step)
            self._lines = stack.enter_context(self._folder.log.open("a", encoding="utf-8"))
            self._board = SummaryWriter(str(self._folder.path / "tensorboard"), purge_step=self._step + 1)
            stack.callback(self._board.close)
            self._bar.start()
            stack.callback(self._stop_bar)
            self._close = stack.pop_all().close
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._folder.writing(self._folder.log):
            self._close()

    def record(self, kind: str, step: int, values: dict[str, float]) -> None:
        """Write one JSON line and the same figures to TensorBoard; without a bar, also print a line."""
        if kind == "train" and not self._console.is_terminal:
            self.say(f"step {step}: {self._text}")
        with self._folder.writing(self._folder.log):
            self._lines.write(json.dumps({"kind": kind, "step": step, **values}) + "\n")
            self._lines.flush()
            for name, value in values.items():
                self._board.add_scalar(f"{kind}/{name}", value, step)

    def media(self, step: int, media: Media) -> None:
        """Write to TensorBoard."""
        with self._folder.writing(self._folder.log):
            for name, (sound, rate) in media.sounds.items():
                self._board.add_audio(name, sound.detach().cpu().clamp(-1, 1), step, sample_rate=rate)
            for name, picture in media.pictures.items():
                self._board.add_image(name, picture.detach().cpu(), step)
            self._board.flush()

    def show(self, position: float, text: str) -> None:
        """Move the bar; there is one only on a terminal."""
        self._text = text
        self._bar.update(self._task, completed=position, text=text)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        with suppress(OSError):  # a closed terminal must not keep the run from being saved
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _stop_bar(self) -> None:
        with suppress(OSError):
            self._bar.stop()


@contextmanager
def counting_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work that is counted in items; yields a function of the number done and the total."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _bar(console: Console) -> Progress:
    hour = 3600.0  # validation interrupts the steps: estimate from all of the last hour
    return Progress(
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=hour,
    )


def _keep_until(folder: RunFolder, step: int) -> None:
    """Drop the lines of later steps, and one that was cut off in the middle."""
    if not folder.log.exists():
        return
    kept = []
    for line in folder.log.read_text("utf-8", errors="replace").splitlines():
        record = parse_record(line)
        if record and record["step"] <= step:
            kept.append(line + "\n")
    with replacing(folder.log) as temporary:
        temporary.write_text("".join(kept), "utf-8")


def parse_record(line: str) -> dict[str, Any] | None:
    """What a line of the log says; None if it was cut off or is not from a run."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(record, dict) and isinstance(record.get("step"), int) and "kind" in record
    return record if is_ours else None
