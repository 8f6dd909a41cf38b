"""The freely licensed speech and noise that the bundled models are trained with, from their unpacked sources.

python tools/training_data.py SOURCES OUT

SOURCES has one folder for each source, named after the Debian package (unpacked with `dpkg -x`) or the repository
(gcompris, freeswitch, esc). OUT/speech, OUT/noise and OUT/held-out-noise are written: 16 kHz, mono, FLAC, speech named
`voice_number`. Clips of speech whose pauses are less than 35 dB below the speech are left out: they would teach the
network to keep noise. OUT/summary.json counts what is there, for results/training-data.json and the model's card.
"""

import csv
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import av
import numpy as np
import soundfile  # type: ignore[import-untyped]

from hamiltone.audio.soxr_resampling import resample
from hamiltone.data.files import decode
from hamiltone.data.signals import SAMPLE_RATE, Signal, active_level, from_decibels
from hamiltone.errors import InputError

SUFFIXES = (".ogg", ".wav", ".mp3", ".flac", ".g722")
NOISE = (
    "supertuxkart-data",
    "widelands-data",
    "wesnoth-1.16-data",
    "lincity-ng-data",
    "minetest-data",
    "freedroidrpg-data",
    "extremetuxracer-data",
)
HELD_OUT = ("hedgewars-data", "torcs-data", "unknown-horizons", "tuxpaint-stamps-default")
SPOKEN = ("voice", "comments", "titles", "cutscene", "symbols", "_desc")  # of what is otherwise noise
PAUSE_DB = -35.0
SHORTEST = {"speech": 0.5, "noise": 0.5, "held-out-noise": 1.0}  # seconds
LONGEST = 60  # seconds of one file of noise

Job = tuple[str, str, str, Path, Path]
"""Kind, source, voice, where from and where to."""


def sound_of(path: Path) -> Signal:
    """A whole file, mono at 16 kHz; G.722 has no header."""
    if path.suffix != ".g722":
        return decode(path)
    with av.open(str(path), format="g722") as container:
        blocks = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
        rate = container.streams.audio[0].rate
    if not blocks:
        raise InputError(f"{path}: holds no samples")
    samples = np.concatenate(blocks).astype(np.float32) / np.float32(2**15)
    return resample(samples, rate, SAMPLE_RATE, quality="HQ")


def has_silent_pauses(speech: Signal) -> bool:
    """Whether the quietest twentieth of the 20 ms frames lies far below the level of the speech."""
    frames = speech[: len(speech) // 320 * 320].reshape(-1, 320)
    floor = np.sqrt(np.percentile(np.square(frames).mean(1), 5))
    return bool(floor < active_level(speech) * from_decibels(PAUSE_DB))


def prepare(job: Job) -> tuple[str, str, str, float]:
    """Write one file unless it is left out; returns kind, source, voice and the seconds written."""
    kind, source, voice, path, target = job
    try:
        sound = sound_of(path)
    except (InputError, av.FFmpegError):
        return kind, source, voice, 0.0
    if kind != "speech":
        sound = sound[: LONGEST * SAMPLE_RATE]
    too_quiet = active_level(sound) < from_decibels(-60.0)
    if len(sound) < SHORTEST[kind] * SAMPLE_RATE or too_quiet or (kind == "speech" and not has_silent_pauses(sound)):
        return kind, source, voice, 0.0
    target.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(target, sound / max(1.0, float(np.abs(sound).max())), SAMPLE_RATE)
    return kind, source, voice, len(sound) / SAMPLE_RATE


def voices(sources: Path) -> Iterator[tuple[str, str, Path]]:
    """Source, voice and path of every recording of speech."""
    for path in sounds(sources / "gcompris"):
        language, folder = path.relative_to(sources / "gcompris").parts[:2]
        if folder != "music":
            yield "gcompris", f"gcompris-{language.replace('_', '-')}", path
    for path in sounds(sources / "freeswitch"):
        language, country, name = path.relative_to(sources / "freeswitch").parts[:3]
        yield "freeswitch", f"freeswitch-{language}-{country}-{name}", path
    for package in sorted(sources.glob("asterisk-core-sounds-*")):
        for path in sounds(package):
            yield package.name, package.name, path


def sounds(folder: Path) -> list[Path]:
    """The recordings in a folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())


def jobs(sources: Path, out: Path) -> Iterator[Job]:
    """What to prepare."""
    for number, (source, voice, path) in enumerate(voices(sources)):
        yield "speech", source, voice, path, out / "speech" / voice / f"{voice}_{number:05d}.flac"
    for kind, packages in (("noise", NOISE), ("held-out-noise", HELD_OUT)):
        for package in packages:
            for number, path in enumerate(sounds(sources / package)):
                if not any(word in str(path.relative_to(sources)).lower() for word in SPOKEN):
                    yield kind, package, "", path, out / kind / package / f"{package}_{number:05d}.flac"
    with (sources / "esc" / "meta" / "esc50.csv").open() as table:  # only ESC-10 is free for any use
        for number, row in enumerate(row for row in csv.DictReader(table) if row["esc10"] == "True"):
            path = sources / "esc" / "audio" / row["filename"]
            yield "noise", "esc-10", "", path, out / "noise" / "esc-10" / f"esc-10_{number:05d}.flac"


def main() -> None:
    """Prepare everything on all cores and count it."""
    sources, out = Path(sys.argv[1]), Path(sys.argv[2])
    summary: dict[str, dict[str, dict[str, float]]] = {}
    heard: dict[tuple[str, str], set[str]] = {}
    with ProcessPoolExecutor() as pool:
        for kind, source, voice, seconds in pool.map(prepare, jobs(sources, out), chunksize=16):
            row = summary.setdefault(kind, {}).setdefault(source, {"files": 0, "left_out": 0, "hours": 0.0})
            row["files" if seconds else "left_out"] += 1
            row["hours"] += seconds / 3600
            if seconds and voice:
                heard.setdefault((kind, source), set()).add(voice)
    for (kind, source), names in heard.items():
        summary[kind][source]["voices"] = len(names)
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
