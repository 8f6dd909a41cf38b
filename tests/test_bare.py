"""What the bare install does: everything here runs where torch and safetensors cannot be imported."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

import hamiltone
from hamiltone import models

SOURCE = Path(hamiltone.__file__).parent
EXAMPLE = SOURCE.parents[1] / "examples" / "noisy.wav"
ADVICE = "this part of hamiltone needs PyTorch: pip install 'hamiltone[torch]'"
BARE = "import sys; sys.modules.update(torch=None, safetensors=None)\n"
FREE = ("audio", "cli", "metrics", "runtime", "weights")

IMPORT_ALL = """
import json
from importlib import import_module
from hamiltone.errors import InputError

said = {}
for name in sys.argv[1:]:
    try:
        import_module(name)
        said[name] = ""
    except ImportError as error:
        said[name] = str(error)
        assert isinstance(error, InputError), (name, error)
print(json.dumps(said))
"""

COMMANDS = """
import contextlib, io, json
from hamiltone.cli import main

said = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["hamiltone", *arguments]
    error = io.StringIO()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            said.append((end.code or 0, error.getvalue()))
print(json.dumps(said))
"""


def bare(code: str, *arguments: str, cwd: Path | None = None) -> str:
    child = subprocess.run([sys.executable, "-c", BARE + code, *arguments], cwd=cwd, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    return child.stdout


def run(*commands: list[str], cwd: Path) -> list[tuple[int, str]]:
    """The exit codes and errors of commands, one after the other in one process."""
    return [(code, error) for code, error in json.loads(bare(COMMANDS, json.dumps(commands), cwd=cwd))]


def test_every_module_can_be_imported_or_says_how_to_install_torch() -> None:
    paths = [path.relative_to(SOURCE.parent).with_suffix("") for path in SOURCE.rglob("*.py")]
    names = sorted(".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__")
    said = json.loads(bare(IMPORT_ALL, *names))
    assert len(said) > 200
    assert set(said.values()) == {"", ADVICE}
    needy = {name for name, error in said.items() if error}
    assert {"hamiltone.nn", "hamiltone.models", "hamiltone.losses", "hamiltone.training", "hamiltone.analysis"} <= needy
    assert {name for name in needy if name.split(".")[1] in FREE} == {
        "hamiltone.audio.stft",
        "hamiltone.audio.features",
    }


def test_names_of_the_package_that_need_torch_say_so() -> None:
    code = "import hamiltone\nfor name in sys.argv[1:]:\n    try: getattr(hamiltone, name)\n"
    code += "    except ImportError as error: print(error)"
    assert bare(code, "SharedScoreAttention", "nn", "fold", "enhance", "Stream").splitlines() == [ADVICE] * 3


def test_a_command_that_needs_torch_says_so_in_one_line(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(1600), 16_000)
    (tmp_path / "recipe.toml").write_text("")
    (tmp_path / "mine.safetensors").write_bytes(b"")
    commands = [
        ["train", "recipe.toml"],
        ["runs", "."],
        ["accuracy", "mine.safetensors", "--data", "."],
        ["evaluate", "--noisy", ".", "--clean", "."],
        ["bench", "attention"],
        ["bench", "model"],
        ["analyse", "agreement"],
        ["reproduce", "table4"],
        ["--rule", "package:Rule", "presets"],
        ["enhance", "a.wav", "--model", "toy"],
        ["enhance", "a.wav", "--model", "mine.safetensors"],
        ["enhance", "a.wav", "--device", "cuda"],
        ["live", "-", "--model", "toy"],
    ]
    for command, result in zip(commands, run(*commands, cwd=tmp_path), strict=True):
        assert result == (2, f"hamiltone: {ADVICE}\n"), command


def test_export_names_the_extra_that_brings_all_it_needs(tmp_path: Path) -> None:
    ((code, error),) = run(["export", "compact"], cwd=tmp_path)
    line = 'hamiltone: export needs torch, onnx and onnxscript: pip install "hamiltone[export]"\n'
    assert (code, error) == (2, line)


def test_the_other_commands_run(tmp_path: Path) -> None:
    signal = soundfile.read(EXAMPLE, 3 * 16_000, dtype="float32")[0]
    soundfile.write(tmp_path / "a.wav", signal, 16_000, subtype="FLOAT")
    commands = [["enhance", "a.wav"], ["enhance", "a.wav", "-o", "live.wav", "--model", "live"]]
    commands += [["presets"], ["--version"], ["--help"], ["train", "--help"]]
    assert [code for code, _ in run(*commands, cwd=tmp_path)] == [0] * 6
    for name, model in (("a.enhanced.wav", "compact"), ("live.wav", "live")):
        found = soundfile.read(tmp_path / name, dtype="float32")[0]
        expected = hamiltone.enhance(signal, 16_000, model=models.load(model))
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_pipe_of_live_sound_runs() -> None:
    pcm = (soundfile.read(EXAMPLE, 16_000, dtype="float32")[0] * 32768).astype("<i2")
    code = BARE + "sys.argv = ['hamiltone', 'live', '-']\nfrom hamiltone.cli import main\nmain()"
    child = subprocess.run([sys.executable, "-c", code], input=pcm.tobytes(), capture_output=True)
    assert child.returncode == 0, child.stderr
    found = np.frombuffer(child.stdout, "<i2") / 32768
    expected = hamiltone.enhance(pcm / np.float32(32768), 16_000, model=models.load("live"))
    np.testing.assert_allclose(found, expected, atol=1.1 / 32768 + 1e-4)


@pytest.mark.parametrize("use", ["hamiltone.enhance(noise, 48_000)", "hamiltone.Stream(48_000).process(noise)"])
def test_numpy_needs_no_torch_even_where_it_is_installed(use: str) -> None:
    code = (
        f"import sys, numpy, hamiltone; noise = numpy.ones(4800, numpy.float32); {use}; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
