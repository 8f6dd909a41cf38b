"""``hamiltone live``: noise removed from live sound, between devices or in a pipe."""

import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import typer

from hamiltone.cli.options import StrengthOption
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from hamiltone.runtime import Stream
    from hamiltone.runtime.sound_device import Session
    from hamiltone.runtime.times import Times

PIPE = "-"
_PIPE_RATE = 16_000
_MOST_THREADS = 64


def live(
    source: Annotated[
        str | None, typer.Argument(metavar="[-]", help="- for raw PCM from standard input to standard output.")
    ] = None,
    rate: Annotated[
        int | None, typer.Option(help="Samples per second; default: 16000 for pipes, else what the microphone prefers.")
    ] = None,
    encoding: Annotated[str, typer.Option("--format", metavar="s16le|f32le", help="Samples of the pipes.")] = "s16le",
    channels: Annotated[int, typer.Option(help="Channels, interleaved in a pipe; all get the same gain.")] = 1,
    separate: Annotated[bool, typer.Option("--separate", help="Enhance every channel by itself.")] = False,
    model: Annotated[str, typer.Option(metavar="NAME|FILE", help="A model for streams, bundled or a file.")] = "live",
    strength: StrengthOption = 1.0,
    microphone: Annotated[
        str | None, typer.Option("--input", metavar="DEVICE", help="Number or part of a name.")
    ] = None,
    speaker: Annotated[str | None, typer.Option("--output", metavar="DEVICE", help="Number or part of a name.")] = None,
    block: Annotated[int | None, typer.Option(help="Samples that a device passes at a time; default: 16 ms.")] = None,
    threads: Annotated[int, typer.Option(help="CPU threads; one is best for a frame at a time.")] = 1,
    devices: Annotated[bool, typer.Option("--devices", help="List the audio devices and exit.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Print at the end how long frames took.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON, on standard error.")] = False,
) -> None:
    """Remove noise from live sound.

    From microphone to loudspeaker, or to a virtual device that a call can use
    as its microphone: press b to bypass the model, q to quit. This needs the
    extra: pip install "hamiltone[live]".

    With -, from standard input to standard output, as raw PCM: every chunk
    leaves as soon as it can, and the output has the length and timing of the
    input. docs/live.md shows PipeWire and ffmpeg.

    Example: hamiltone live --output "Virtual"

    Example: hamiltone live - --rate 48000 --channels 2 < in.pcm > out.pcm
    """
    from hamiltone.runtime import Stream
    from hamiltone.runtime.backend import resolve_step
    from hamiltone.runtime.sound_device import list_devices

    if devices:
        typer.echo(list_devices())
        return
    if source not in (None, PIPE):
        raise InputError(f"live takes - for pipes or no argument for devices, got {source!r}; files are for enhance")
    _check_threads(threads)
    for option, value in (("--rate", rate), ("--block", block)):
        if value is not None and value < 1:
            raise InputError(f"{option} takes a positive number, got {value}")

    def open_stream(rate: int) -> "Stream":
        return Stream(rate, resolve_step(model, threads), channels, strength, separate=separate)

    with _plain_warnings():
        if source == PIPE:
            report = _live_pipe(rate or _PIPE_RATE, encoding, open_stream)
        else:
            report = _live_device(rate, block, microphone, speaker, open_stream)
    if as_json:
        typer.echo(json.dumps(report, indent=2), err=True)
    elif stats:
        typer.echo(_line(report), err=True)


def _live_pipe(rate: int, encoding: str, open_stream: Callable[[int], "Stream"]) -> dict[str, Any]:
    from hamiltone.runtime.interrupt import Interrupt
    from hamiltone.runtime.pipe import SAMPLE_TYPES, pass_through

    if encoding not in SAMPLE_TYPES:
        raise InputError(f"--format takes {' or '.join(SAMPLE_TYPES)}, got {encoding!r}")
    if sys.stdin is None or sys.stdout is None:  # as after <&-
        raise InputError("standard input or output is closed; give both a pipe or a file")
    if sys.stdout.isatty():
        raise InputError("audio is not written to a terminal; redirect it to a file or a program")
    with Interrupt().handled() as interrupt:
        stream = open_stream(rate)
        source = cast(io.BufferedReader, sys.stdin.buffer)
        _wait_for_data(source, sys.stdout.buffer)
        passed = pass_through(stream, source, sys.stdout.buffer, encoding, interrupt)
    _forget_output()
    if passed.odd_bytes:
        typer.echo(f"hamiltone: the input ended within a sample; {passed.odd_bytes} bytes were dropped", err=True)
    seconds = passed.samples / rate
    return {**_report(stream, seconds), "load": round(passed.busy / seconds, 4) if seconds else None}


def _live_device(
    rate: int | None,
    block: int | None,
    microphone: str | None,
    speaker: str | None,
    open_stream: Callable[[int], "Stream"],
) -> dict[str, Any]:
    from hamiltone.runtime.interrupt import Interrupt
    from hamiltone.runtime.sound_device import Session, default_rate, open_device, run_device

    stream = open_stream(rate or default_rate(microphone))
    block = block or round(0.016 * stream.sample_rate)
    session = Session(stream)
    with Interrupt().handled() as interrupt, _keys() as key, _meter() as show:
        session.seen = time.monotonic()
        device = open_device(session, block, microphone, speaker)
        run_device(session, device, key=key, show=show, interrupt=interrupt)
    report = _report(stream, session.samples / stream.sample_rate)
    return {
        **report,
        "block": block,
        "late": session.late,
        "dropouts": session.dropouts,
        "block_ms": _ms(session.times),
    }


def _report(stream: "Stream", seconds: float) -> dict[str, Any]:
    return {
        "rate": stream.sample_rate,
        "seconds": round(seconds, 3),
        "latency_ms": round(1000 * stream.latency / stream.sample_rate, 2),
        "frames": stream.times.count,
        "frame_ms": _ms(stream.times),
    }


def _ms(times: "Times") -> dict[str, float]:
    values = {f"p{percent}": times.percentile(percent) for percent in (50, 95, 99)}
    return {name: round(1000 * value, 3) for name, value in {**values, "max": times.longest}.items()}


def _line(report: dict[str, Any]) -> str:
    times = ", ".join(f"{name} {value:.2f}" for name, value in report["frame_ms"].items())
    line = f"{report['seconds']:.1f} s of audio, {report['latency_ms']:.1f} ms late; ms per frame: {times}"
    if "late" in report:
        return f"{line}; {report['late']} blocks missed their deadline, {report['dropouts']} dropouts"
    return line


def _check_threads(threads: int) -> None:
    if not 1 <= threads <= _MOST_THREADS:
        raise InputError(f"--threads must lie between 1 and {_MOST_THREADS}, got {threads}")


def _wait_for_data(*pipes: io.IOBase | BinaryIO) -> None:
    """Make pipes block: another program may have left them non-blocking, and a pause would look like the end."""
    for pipe in pipes:
        with suppress(OSError, ValueError):  # not a file of the system
            os.set_blocking(pipe.fileno(), True)


def _forget_output() -> None:
    """Empty the buffer of standard output, so that Python does not write it to a closed pipe at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings as one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_: typer.echo(f"hamiltone: {message}", err=True)
        yield


@contextmanager
def _meter() -> Iterator[Callable[["Session"], None]]:
    """Show the levels in and out on one line of standard error, if that is a terminal."""
    from hamiltone.runtime.sound_device import peak_decibels

    def bar(peak: float) -> str:
        return "█" * min(round((peak_decibels(peak) + 60) / 3), 20)

    def show(session: "Session") -> None:
        before, after = session.levels()
        state = "bypass" if session.bypassed else "clean"
        typer.echo(
            f"\rin {bar(before):20} {peak_decibels(before):4.0f} dB  "
            f"out {bar(after):20} {peak_decibels(after):4.0f} dB  "
            f"{state:6}  {session.late + session.dropouts} missed  (b bypass, q quit) ",
            err=True,
            nl=False,
        )

    if not sys.stderr.isatty():
        yield lambda session: None
        return
    try:
        yield show
    finally:
        typer.echo(err=True)


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Yield a function that waits a number of seconds for a key; without a terminal it only waits."""

    def wait(seconds: float) -> str:
        time.sleep(seconds)
        return ""

    if not sys.stdin.isatty():
        yield wait
        return
    try:
        import select
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        def pressed(seconds: float) -> str:
            wait(seconds)
            return str(msvcrt.getwch()) if msvcrt.kbhit() else ""  # type: ignore[attr-defined,unused-ignore]

        yield pressed
        return

    terminal = sys.stdin.fileno()

    def read(seconds: float) -> str:
        ready, _, _ = select.select([terminal], [], [], seconds)
        return os.read(terminal, 1).decode(errors="replace") if ready else ""

    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
