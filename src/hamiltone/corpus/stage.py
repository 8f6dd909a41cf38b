"""The stage that enhances clips: in a plain loop, or over batches inside ``ray.data.Dataset.map_batches``."""

import hashlib
import os
import re
import socket
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hamiltone.atomic import sync_folder
from hamiltone.corpus.columns import Result, batch_clips, check_columns, result_columns
from hamiltone.corpus.inputs import Clip, fingerprint
from hamiltone.corpus.measures import estimate_noise, rate_speech
from hamiltone.corpus.parts import as_file
from hamiltone.errors import InputError
from hamiltone.runtime import enhance_file, resolve_model

AUDIO = "audio"


# Temporary files of this package, whose names are random: of parts of files, of links, and of results
_TEMPORARY = re.compile(r"[^\s'\"]*/(?:hamiltone-(?:corpus|link)-|\.hamiltone-)[^\s'\":]*")


def check_format(format: str) -> None:
    """Raise an `InputError` if results cannot be written in this format."""
    if format not in ("flac", "wav"):
        raise InputError(f"the format must be flac or wav, got {format!r}")


def target(clip: Clip, format: str) -> str:
    """Where a clip goes, below the output folder: at most 256 folders, names that every file system accepts."""
    digest = hashlib.sha256(clip.id.encode(errors="surrogateescape")).hexdigest()
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", clip.name)[:60]
    return f"{AUDIO}/{digest[:2]}/{name}-{digest[:16]}.{format}"


class EnhanceStage:
    """Enhances clips into ``audio/`` of an output folder; the model is loaded once, with the stage.

    A clip that cannot be enhanced has the reason in its `Result`; nothing is raised. A file appears only when it is
    complete and synced. Its name depends on the id alone, and its content on clip, model and settings, so a clip may be
    done twice, even at the same time, without harm. Memory does not depend on the length of a recording.

    Args:
        output: The folder; every host must see it under the same path.
        model: A bundled model, a checkpoint or an exported ``.onnx``; None is the bundled one.
        strength: How much of the result to take, from 0 to 1.
        format: ``flac`` or ``wav``; sample rate, channels and bit depth are kept.
        score: Rate each clip with DNSMOS, before and after.
        threads: CPU threads of this process; results are the same only for the same number.

    >>> stage = EnhanceStage("cleaned", format="mp3")
    Traceback (most recent call last):
    hamiltone.errors.InputError: the format must be flac or wav, got 'mp3'
    """

    def __init__(
        self,
        output: str | Path,
        *,
        model: str | None = None,
        strength: float = 1.0,
        format: str = "flac",
        score: bool = False,
        threads: int = 1,
    ) -> None:
        check_format(format)
        self.output, self.strength, self.format, self.score = Path(output).absolute(), strength, format, score
        self.model, self._threads = resolve_model(model, threads=threads), threads
        self._audio = Path(os.path.realpath(self.output / AUDIO))
        self._known: dict[int, int] = {}
        self._worker = f"{socket.gethostname()}:{os.getpid()}"

    def enhance(self, clip: Clip) -> Result:
        """Enhance one clip."""
        started = time.perf_counter()
        try:
            found = self._enhance(clip)
        except InputError as error:
            found = {"error": _without_temporary(str(error), clip)}
        except Exception as error:  # one bad clip must not stop the others
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            found = {"error": _without_temporary(reason, clip)}
        return Result(clip.id, **found, elapsed=round(time.perf_counter() - started, 3), worker=self._worker)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Enhance a batch of Ray Data: the columns of `Result` join it, NaN and "" standing for None.

        A clip that has the id of another one of this or an earlier batch is an error. Only this process is looked at.
        A batch without `audio_filepath`, or with a column that would be replaced, raises an `InputError`.

        Shape:
            batch: arrays ``(N,)`` by column: `audio_filepath`, and optionally the other fields of `Clip`
        """
        check_columns(batch)
        results = [self._enhance_if_new(clip) for clip in batch_clips(batch)]
        return {**batch, **result_columns(results)}

    def _enhance_if_new(self, clip: Clip) -> Result:
        known = self._known.setdefault(hash(clip.id), hash(clip))  # the same clip may come again: Ray repeats batches
        if known == hash(clip):
            return self.enhance(clip)
        error = f"the id {clip.id!r} is that of another clip, whose file it would replace; give each an id of its own"
        return Result(clip.id, error=error, worker=self._worker)

    def _enhance(self, clip: Clip) -> dict[str, Any]:
        relative = target(clip, self.format)
        if self._audio in Path(os.path.realpath(clip.path)).parents:
            raise InputError(f"{clip.path}: lies in the output folder")
        try:
            return {"enhanced_filepath": relative, **self._write(clip, self.output / relative)}
        except Exception:
            with suppress(OSError):  # a clip that failed has no file, not even an earlier one
                (self.output / relative).unlink()
            raise

    def _write(self, clip: Clip, path: Path) -> dict[str, Any]:
        version = fingerprint(clip)
        with as_file(clip) as source:
            report = enhance_file(source, path, model=self.model, strength=self.strength, overwrite=True)
            noise = estimate_noise(source, path, report.scale or 1.0)
            ratings = self._rate(source, path) if self.score else {}
        sync_folder(path.parent)
        found = {"seconds": round(report.seconds or 0.0, 6), **asdict(noise), **ratings}
        return {**found, "note": report.note, "bytes": path.stat().st_size, "fingerprint": version}

    def _rate(self, source: Path, target: Path) -> dict[str, float | None]:
        before = {f"{name}_before": value for name, value in rate_speech(source, self._threads).items()}
        return {**rate_speech(target, self._threads), **before}


def _without_temporary(text: str, clip: Clip) -> str:
    """A reason that is the same each time: names of temporary files are random."""
    return _TEMPORARY.sub(lambda _: clip.id, text)
