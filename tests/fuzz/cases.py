"""The command lines of the cases, and what must come of them; all of it follows from the number and a seed."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_ROUND = ("onnx", "recipe", "recipe", *(5 * (*(20 * ("sound",)), "checkpoint")))
ROUND = len(_ROUND)
KINDS = ("sound", "checkpoint", "recipe", "onnx")
_OTHER_SUFFIXES = ("wav", "flac", "ogg", "mp3", "m4a", "mkv", "aiff", "caf")


@dataclass(frozen=True)
class Case:
    """A command line, the files that it finds and must not change, and those that it may make.

    If it ends well, the first of `outputs` is there, as long as the sound of `source`. `stdin` is a file to read from.
    """

    arguments: list[str]
    files: dict[str, bytes]
    source: str = ""
    outputs: list[str] = field(default_factory=list)
    stdin: str = ""


def kind_of(number: int) -> str:
    """What is broken in a case: of every 108, a hundred sounds, five checkpoints, two recipes and an ONNX file."""
    return _ROUND[number % ROUND]


def make_case(number: int, rng: np.random.Generator, folder: Path) -> Case:
    """The case of a number, from the stock of sounds and the model in a folder."""
    from fuzz import mutate

    kind = kind_of(number)
    if kind == "recipe":
        return Case(["train", "recipe.toml", "run.folder=run"], {"recipe.toml": mutate.mutate_recipe(rng)})
    sounds = sorted((folder / "stock").iterdir())
    sound = sounds[int(rng.integers(len(sounds)))]
    name, content, model = f"in{sound.suffix}", sound.read_bytes(), str(folder / "model.safetensors")
    if kind == "sound":
        return _options(number, name, mutate.mutate_bytes(content, rng), model)
    if kind == "checkpoint":
        files = {name: content, "model.safetensors": mutate.mutate_checkpoint(Path(model), rng)}
    else:
        files = {name: content, "model.onnx": mutate.mutate_graph(rng)}
    return Case(["enhance", name, "--model", list(files)[1]], files, name, [_result(name)])


def _options(number: int, name: str, content: bytes, model: str) -> Case:
    """What is asked of a broken sound varies with the number; a third of the cases have no options."""
    arguments, files, result = ["enhance", name, "--model", model], {name: content}, _result(name)
    match number % 9:
        case 0:
            return Case([*arguments, "-o", name, "--overwrite"], files, name, [name])
        case 1:
            other = f"out.{_OTHER_SUFFIXES[number // 9 % len(_OTHER_SUFFIXES)]}"
            return Case([*arguments, "-o", other], files, name, [other])
        case 2:
            preview = f"{Path(result).stem}.preview.wav"
            return Case([*arguments, "--preview", "1"], files, name, [result, preview])
        case 3:
            return Case([*arguments, "--keep", "0-0.1,0.3-0.4"], files, name, [result])
        case 4:
            return Case(["enhance", "-", "-o", "out.wav", "--model", model], files, name, ["out.wav"], stdin=name)
        case 5:
            return Case([*arguments, "--strength", "0"], files, name, [result])
    return Case(arguments, files, name, [result])


def _result(name: str) -> str:
    """The name of a result beside its source."""
    from hamiltone.audio.formats import WRITTEN_SUFFIXES

    path = Path(name)
    return f"{path.stem}.enhanced{path.suffix if path.suffix in WRITTEN_SUFFIXES else '.wav'}"
