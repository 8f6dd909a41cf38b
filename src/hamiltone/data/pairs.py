"""Pairs of clean and noisy recordings in VoiceBank+DEMAND's own folders, checked by their headers."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hamiltone.audio.formats import AudioInfo
from hamiltone.data.files import Progress, check_header, speaker_of, summarise
from hamiltone.data.signals import SAMPLE_RATE
from hamiltone.errors import InputError

FOLDERS = {
    "train": ("clean_trainset_28spk_wav", "noisy_trainset_28spk_wav"),
    "test": ("clean_testset_wav", "noisy_testset_wav"),
}
HELD_OUT = ("p226", "p287")
TEST_SPEAKERS = frozenset({"p232", "p257"})

_SUFFIXES = (".wav", ".flac")
_TEST_NAME = re.compile(r"(^|[_\-. ])test[_-]?set([_\-. ]|$)", re.IGNORECASE)
_TEST_FOLDERS = frozenset({"test", "clean_test", "noisy_test", "test_clean", "test_noisy"})

_ADVICE = "repair or remove these files (to train without them: data.skip_faults = true)"


@dataclass(frozen=True)
class Pair:
    """A clean recording and the same with noise; `frames` samples each, at the sample rate of the files."""

    name: str
    speaker: str
    clean: Path
    noisy: Path
    frames: int
    sample_rate: int = SAMPLE_RATE


@dataclass(frozen=True)
class PairScan:
    """The valid pairs of two folders, and the faults of the other files, one line each, by the name of the pair."""

    pairs: tuple[Pair, ...]
    faulty: Mapping[str, tuple[str, ...]]
    checked: int

    @property
    def faults(self) -> tuple[str, ...]:
        """One line for every fault."""
        return tuple(line for lines in self.faulty.values() for line in lines)

    @property
    def summary(self) -> str:
        """The count of faults and the first of them in one line; empty if there are none."""
        return summarise(self.faults, self.checked, "pairs") if self.faults else ""


def scan_voicebank(
    root: Path,
    split: Literal["train", "test"] = "train",
    *,
    sample_rate: int = SAMPLE_RATE,
    skip: bool = False,
    progress: Progress | None = None,
) -> PairScan:
    """The pairs of one split under `root`, in order of their names.

    Faults raise one `InputError` that names the first three, or with `skip` are left out of the pairs. The corpus is
    published at 48 kHz: pass ``sample_rate=48000`` for that, and `open_store` resamples it.
    """
    folders = [root / name for name in FOLDERS[split]]
    for folder in folders:
        if not folder.is_dir():
            raise InputError(
                f"{root}: has no folder {folder.name}; expected VoiceBank+DEMAND: {', '.join(FOLDERS[split])}"
            )
    return scan_folders(*folders, sample_rate=sample_rate, skip=skip, progress=progress)


def scan_folders(
    clean: Path,
    noisy: Path,
    *,
    sample_rate: int | None = SAMPLE_RATE,
    skip: bool = False,
    progress: Progress | None = None,
) -> PairScan:
    """The pairs of a clean and a noisy folder whose files share their names; wav and flac may mix.

    A `sample_rate` of None takes any, as long as the two files of a pair agree.
    """
    faulty: dict[str, list[str]] = defaultdict(list)
    cleans, noisies = _by_name(clean, faulty), _by_name(noisy, faulty)
    for name in sorted(cleans.keys() - noisies.keys()):
        faulty[name].append(f"{_short(cleans[name])}: has no partner in {noisy.name}")
    for name in sorted(noisies.keys() - cleans.keys()):
        faulty[name].append(f"{_short(noisies[name])}: has no partner in {clean.name}")
    pairs: list[Pair] = []
    names = sorted(cleans.keys() & noisies.keys())
    for done, name in enumerate(names, 1):
        found, info = _check(cleans[name], noisies[name], sample_rate)
        if found:
            faulty[name] += found
        if info:
            speaker = speaker_of(cleans[name])
            pairs.append(Pair(name, speaker, cleans[name], noisies[name], info.frames, info.sample_rate))
        if progress:
            progress(done, len(names))
    by_name = {name: tuple(lines) for name, lines in faulty.items()}
    report = PairScan(tuple(pairs), by_name, len(cleans.keys() | noisies.keys()))
    if faulty and not skip:
        raise InputError(f"{report.summary}; {_ADVICE}")
    if not pairs:
        raise InputError(report.summary or f"{clean}: holds no wav or flac files")
    return report


def _by_name(folder: Path, faulty: dict[str, list[str]]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in _SUFFIXES and not path.name.startswith("."):
            if path.stem in files:
                faulty[path.stem].append(f"{_short(path)}: exists twice, also as {files[path.stem].name}")
            files.setdefault(path.stem, path)
    return files


def _check(clean: Path, noisy: Path, sample_rate: int | None) -> tuple[list[str], AudioInfo | None]:
    """The faults of a pair, or what the header of its noisy file says."""
    faults: list[str] = []
    infos: list[AudioInfo] = []
    for path in (clean, noisy):
        try:
            info = check_header(path)
        except InputError as error:
            faults.append(str(error).replace(str(path), _short(path)))
            continue
        infos.append(info)
        wanted = sample_rate or infos[0].sample_rate
        if info.sample_rate != wanted:
            faults.append(f"{_short(path)}: has {info.sample_rate} Hz, expected {wanted} Hz")
        if info.channels != 1:
            faults.append(f"{_short(path)}: has {info.channels} channels, expected one")
    if not faults and infos[0].frames != infos[1].frames:
        faults.append(f"{_short(noisy)}: has {infos[1].frames:,} samples, its clean partner {infos[0].frames:,}")
    return faults, None if faults else infos[1]


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def split_speakers(
    pairs: Sequence[Pair], held_out: Sequence[str] = HELD_OUT
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Training and validation pairs that share no speaker; pairs of a test folder are refused."""
    refuse_test_pairs(pairs)
    speakers = {pair.speaker for pair in pairs}
    for speaker in held_out:
        if speaker not in speakers:
            raise InputError(f"speaker {speaker} cannot be held out: the speakers are {' '.join(sorted(speakers))}")
    train = tuple(pair for pair in pairs if pair.speaker not in held_out)
    validation = tuple(pair for pair in pairs if pair.speaker in held_out)
    if not train or not validation:
        raise InputError(f"holding out {' '.join(held_out) or 'nobody'} leaves no pairs to train or to validate on")
    return train, validation


def is_test_folder(path: Path) -> bool:
    """Whether a folder, or one that contains it, is named as test data; links are followed.

    >>> is_test_folder(Path("VoiceBank/noisy_testset_wav")), is_test_folder(Path("VoiceBank/noisy_trainset_28spk_wav"))
    (True, False)
    """
    parts = path.resolve().parts
    return any(_TEST_NAME.search(part) for part in parts) or any(part.lower() in _TEST_FOLDERS for part in parts[-2:])


def refuse_test_pairs(pairs: Iterable[Pair]) -> None:
    """Raise `InputError` if a pair comes from a test folder or from a test speaker of VoiceBank+DEMAND."""
    pairs = list(pairs)
    refuse_test_files(path for pair in pairs for path in (pair.clean, pair.noisy))
    for pair in pairs:
        if pair.speaker in TEST_SPEAKERS:
            raise InputError(
                f"{pair.noisy}: {pair.speaker} is a test speaker of VoiceBank+DEMAND; train and validate on other data"
            )


def refuse_test_files(paths: Iterable[Path]) -> None:
    """Raise `InputError` for files of a test folder: the test set is for the final score alone."""
    for folder in sorted({path.parent for path in paths}):
        if is_test_folder(folder):
            raise InputError(
                f"{folder}: is a test folder; train on other data, and hold out some of its speakers for validation"
            )
