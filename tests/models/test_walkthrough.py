"""The shapes in docs/walkthrough.md are those of the two walks."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from typer.testing import CliRunner

import hamiltone.models.enhancer as enhancer
import hamiltone.runtime.enhancement as enhancement
from hamiltone.audio.features import quaternion_features
from hamiltone.audio.sound_file import SoundFileReader, SoundFileWriter
from hamiltone.cli import app
from hamiltone.models import Enhancer, build, load, preset
from hamiltone.runtime.torch_backend import TorchGain

PAGE = Path(__file__).parents[2] / "docs" / "walkthrough.md"
PACKAGE = Path(enhancement.__file__).parents[1]
Shapes = dict[str, tuple[int, ...]]


def claims(section: str) -> Shapes:
    """The names and shapes that a section of the page has."""
    text = PAGE.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    return {name: ast.literal_eval(shape) for name, shape in re.findall(r"`([\w.]+) (\([\d, ]+\))`", text)}


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple((value[0] if isinstance(value, tuple | list) else value).shape)


def hook_modules(model: Enhancer, seen: Shapes) -> None:
    """Record the first output of every module."""

    def record(name: str) -> Callable[..., None]:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            seen.setdefault(name, shape_of(output))

        return hook

    for name, module in model.named_modules():
        name = re.sub(r"^(network\.)+(?=\w)", "", name)  # a network of bands is around another one
        module.register_forward_hook(record(name))


def spy(monkeypatch: pytest.MonkeyPatch, owner: Any, attribute: str, record: Callable[..., None]) -> None:
    """Let a function tell `record` its result and its arguments."""
    original = getattr(owner, attribute)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        record(result, *arguments)
        return result

    monkeypatch.setattr(owner, attribute, wrapped)


def test_the_walk_from_the_command_line_has_the_shapes_of_the_page(tmp_path, monkeypatch):
    voice = np.random.default_rng(0).standard_normal(44_100) * 0.1
    soundfile.write(tmp_path / "talk.wav", np.stack([voice, 0.8 * voice], 1), 44_100)
    model, seen = load(), {}
    hook_modules(model, seen)
    model.network.network.register_forward_pre_hook(lambda _, inputs: seen.update(bands=shape_of(inputs)))
    model.network.register_forward_hook(lambda _, inputs, output: seen.update(mask=shape_of(output)))
    monkeypatch.setattr("hamiltone.runtime.backend.resolve_model", lambda *_: TorchGain(model))

    def keep(name: str, place: int | None = None) -> Callable[..., None]:
        def record(result: Any, *arguments: Any) -> None:
            seen.setdefault(name, shape_of(result if place is None else arguments[place]))

        return record

    spy(monkeypatch, SoundFileReader, "read", keep("read"))
    spy(monkeypatch, SoundFileWriter, "write", keep("write", place=1))
    spy(monkeypatch, enhancement, "resample_whole", keep("low"))
    spy(monkeypatch, enhancement, "stft", keep("stft"))
    spy(monkeypatch, enhancement, "istft", keep("inverse"))
    spy(monkeypatch, Enhancer, "gain", keep("reference", place=1))
    spy(monkeypatch, Enhancer, "gain", keep("gain"))
    spy(monkeypatch, enhancement, "high_band_gain", keep("high_band_gain"))
    spy(monkeypatch, enhancement, "over_samples", keep("over_samples"))
    spy(monkeypatch, enhancement, "enhance_window", keep("enhanced"))
    spy(monkeypatch, enhancement, "enhance_window", keep("window", place=0))
    spy(monkeypatch, enhancer, "quaternion_features", keep("features"))

    result = CliRunner().invoke(app, ["enhance", str(tmp_path / "talk.wav")])
    assert result.exit_code == 0, result.output
    page = claims("From the command line and back")
    assert len(page) >= 20
    assert {name: seen.get(name) for name in page} == page


def test_the_walk_through_the_papers_network_has_the_shapes_of_the_page(monkeypatch):
    model, seen = build(preset("qconformer")).eval(), {}
    hook_modules(model, seen)
    waveform = torch.randn(1, 16_000)
    seen["waveform"] = tuple(waveform.shape)
    seen["features"] = tuple(quaternion_features(model.stft(waveform)).shape)
    spy(monkeypatch, Enhancer, "gain", lambda gain, *_: seen.update(gain=shape_of(gain)))
    with torch.enable_grad():  # whole tensors, no tiles
        seen["output"] = tuple(model(waveform).shape)
    page = claims("The paper's network")
    assert len(page) >= 14
    assert {name: seen.get(name) for name in page} == page


WALK = """
import sys
files = set()

def look(frame, event, argument):
    code = frame.f_code
    if event == "call" and "__qualname__" not in code.co_names and code.co_name != "<module>":
        files.add(code.co_filename)

sys.setprofile(look)
from hamiltone.__main__ import main
try:
    main()
finally:
    sys.setprofile(None)
    print("\\n".join(sorted(files)))
"""


def test_the_walk_is_short_and_every_file_on_it_is_on_the_page(tmp_path):
    """Files in which a function runs; the bodies of modules and classes, which an import runs, do not count."""
    soundfile.write(tmp_path / "talk.wav", 0.1 * np.random.default_rng(0).standard_normal((44_100, 2)), 44_100)
    command = [sys.executable, "-c", WALK, "enhance", "talk.wav", "-o", "out.wav", "--json"]
    out = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    run = {Path(line).relative_to(PACKAGE) for line in out.splitlines() if line.startswith(f"{PACKAGE}{os.sep}")}
    assert 20 < len(run) < 30, sorted(run)
    page = PAGE.read_text().split("## The paper's network")[0]
    assert [str(path) for path in sorted(run) if f"`{path.as_posix()}`" not in page] == []


def test_every_file_on_the_walk_is_there():
    files = set(re.findall(r"`(\w+/\w+\.py)`", PAGE.read_text()))
    assert len(files) >= 20
    assert [file for file in files if not (PACKAGE / file).is_file()] == []
