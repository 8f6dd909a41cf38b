"""``hamiltone enhance``: noisy recordings in, clean ones out."""

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hamiltone.allocator import keep_freed_memory
from hamiltone.cli.options import ModelOption, StrengthOption, audio_progress_bar, check_count, printable
from hamiltone.errors import InputError
from hamiltone.leftovers import scratch_folder

if TYPE_CHECKING:
    from hamiltone.runtime import FileReport

STREAM = "-"


def enhance(
    inputs: Annotated[list[str], typer.Argument(metavar="IN", help="Audio files or folders; - is standard input.")],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="A file for one input, a folder for several (it keeps names and structure), or - for wav to standard "
            "output. Default: noisy.wav to noisy.enhanced.wav, takes/ to takes.enhanced/.",
        ),
    ] = None,
    model: ModelOption = None,
    strength: StrengthOption = 1.0,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="START-END,...",
            help="Passages to leave unchanged, such as music: 0-12.5,1:30-2:05,58:00- (seconds or m:s).",
        ),
    ] = None,
    preview: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Also write the SECONDS that show the difference best, before and after: noisy.enhanced.preview.wav.",
        ),
    ] = None,
    picture: Annotated[
        bool,
        typer.Option(
            "--picture", help="Also draw spectrograms before and after: noisy.enhanced.png. Needs the extra plots."
        ),
    ] = False,
    device: Annotated[str, typer.Option(help="Where to run: cpu, cuda, cuda:1, mps ...")] = "cpu",
    threads: Annotated[int | None, typer.Option(help="CPU threads; default: one per core.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files, even the input.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a report on every file as one JSON document.")] = False,
) -> None:
    """Remove noise from recordings of speech.

    The model sees recordings of up to 9.6 seconds as a whole, and longer
    ones in windows of up to eight: what comes before each moment and what
    comes after. For live sound use hamiltone live.

    Sample rate, channels, length, level and encoding are kept; so are the bit
    rate, tags and cover of an mp3. In a video the first audio stream is
    replaced; the picture and all other streams are copied. For m4a, mp4, webm
    and the like install the extra: pip install "hamiltone[media]". If peaks
    exceed full scale and the output cannot hold them (a loud float file to
    flac), the whole file is made softer, and a note says so.

    Only speech is kept: music is treated as noise. Protect it with --keep.

    A damaged or truncated file is enhanced as far as it can be read, and is
    never overwritten. A file that cannot be read is reported, the others are
    still enhanced, and the exit code is 2. Among several files, those that
    already have a result are skipped.

    Example: hamiltone enhance noisy.wav

    Example: hamiltone enhance takes/ talk.mp3 -o clean/ --strength 0.9

    Example: hamiltone enhance talk.mp4 --keep 0-12 --preview 30 --picture
    """
    from hamiltone.runtime import enhance_paths
    from hamiltone.runtime.backend import resolve_model
    from hamiltone.runtime.passages import parse_passages

    out = STREAM if out is None and inputs == [STREAM] else out
    _check_streams(inputs, out, as_json)
    if out == STREAM and (preview is not None or picture):
        raise InputError("a preview and a picture are written beside the result; give a file with -o")
    passages = parse_passages(keep) if keep else ()
    check_count("--threads", threads)
    keep_freed_memory()
    backend = resolve_model(model, _usable(device), threads)
    reports = []
    with _streams_folder(inputs, out) as folder:
        spool, result = folder / "stdin", folder / "stdout.wav"
        if STREAM in inputs:
            _save_stdin(spool)
        sources = [spool if source == STREAM else source for source in inputs]
        target = result if out == STREAM else out
        with audio_progress_bar() as (console, progress):
            for report in enhance_paths(
                sources,
                target,
                model=backend,
                strength=strength,
                keep=passages,
                preview=preview,
                picture=picture,
                overwrite=overwrite,
                progress=progress,
            ):
                reports.append(_with_stream_names(report, spool, result))
                console.print(_line(reports[-1]), markup=False, highlight=False, soft_wrap=True)
        if result.exists():
            _copy_to_stdout(result)
    if as_json:
        typer.echo(json.dumps({"files": [asdict(report) for report in reports]}, indent=2))
    if any(report.error for report in reports):
        raise typer.Exit(2)


@contextmanager
def _streams_folder(inputs: list[str], out: str | None) -> Iterator[Path]:
    """A scratch folder for standard input and output if they are used, otherwise a path that is never opened."""
    with ExitStack() as stack:
        folder = Path(os.devnull)
        if STREAM in inputs or out == STREAM:
            try:
                folder = stack.enter_context(scratch_folder("hamiltone-"))
            except OSError as error:
                reason = error.strerror or str(error)
                raise InputError(f"no folder for temporary files: {reason}; name one in TMPDIR") from error
        yield folder


def _check_streams(inputs: list[str], out: str | None, as_json: bool) -> None:
    if out == STREAM and (len(inputs) > 1 or Path(inputs[0]).is_dir()):
        raise InputError("standard output takes the result of one file; give a folder with -o")
    if out == STREAM and as_json:
        raise InputError("standard output cannot take both audio and --json; give a file with -o")
    if (STREAM in inputs and sys.stdin is None) or (out == STREAM and sys.stdout is None):  # as after <&-
        raise InputError("standard input or output is closed; give a file")
    if out == STREAM and sys.stdout.isatty():
        raise InputError("audio is not written to a terminal; give a file with -o")
    if STREAM in inputs and out is None:
        raise InputError("standard input among other inputs needs a folder for the results; give one with -o")


def _usable(device: str) -> str:
    if device == "cpu":
        return device
    from hamiltone.torch_extra import torch

    try:
        torch.ones(1, device=device).item()  # the device "meta" has no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split(". ")[0].splitlines()[0]
        raise InputError(f"cannot use --device {device}: {reason}") from error
    return device


def _save_stdin(path: Path) -> None:
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise InputError(f"cannot store standard input in {path.parent}: {error.strerror}") from error


def _copy_to_stdout(path: Path) -> None:
    try:
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has closed the pipe
            raise
        raise InputError(f"cannot write standard output: {error.strerror}") from error


def _with_stream_names(report: "FileReport", spool: Path, result: Path) -> "FileReport":
    """Name standard input and output as the user did."""
    if report.output == str(result):
        report = replace(report, output=STREAM)
    if report.input == str(spool):
        report = replace(report, input=STREAM)
    if report.error:
        error = report.error.replace(str(spool), "standard input").replace(str(result), "standard output")
        report = replace(report, error=error)
    return report


def _line(report: "FileReport") -> str:
    error = printable(f"hamiltone: {report.error}")
    if report.error and not report.output:
        return error
    note = printable(f"hamiltone: {report.input}: {report.note}")
    if report.seconds is None:
        return note
    line = printable(f"{report.input} → {report.output}: {report.seconds:.1f} s of audio in {report.elapsed:.1f} s")
    extras = [printable(f"  {extra}") for extra in (report.preview, report.picture) if extra]
    return "\n".join([line, *extras, *([note] if report.note else []), *([error] if report.error else [])])
