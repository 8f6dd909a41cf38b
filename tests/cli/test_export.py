import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from hamiltone.cli import app, main
from hamiltone.models import Header, RowConfig, build, save_checkpoint

pytest.importorskip("onnxscript", reason="ONNX export needs the extra: pip install 'hamiltone[export]'")

CONFIG = RowConfig(channels=2, dim=2, memory=2, rows=4, blocks=1, heads=1, residuals=0, n_fft=512, hop=256)


@pytest.fixture(autouse=True)
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_checkpoint("mine.safetensors", build(CONFIG), Header(CONFIG))


def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr("sys.argv", ["hamiltone", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    return capsys.readouterr().err.strip()


def test_what_is_exported_enhances_as_the_checkpoint_does() -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(8000)
    soundfile.write("noisy.wav", noise, 16_000, subtype="FLOAT")
    done = CliRunner().invoke(app, ["export", "mine.safetensors", "--json"])
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert about["path"] == "mine.onnx" and about["size"] == Path("mine.onnx").stat().st_size
    assert about["description"]["kind"] == "step" and about["description"]["licence"] == "not stated"
    for model, out in (("mine.onnx", "ours.wav"), ("mine.safetensors", "theirs.wav")):
        done = CliRunner().invoke(app, ["enhance", "noisy.wav", "--model", model, "-o", out])
        assert done.exit_code == 0, done.output
    ours, theirs = (soundfile.read(name)[0] for name in ("ours.wav", "theirs.wav"))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["mine.safetensors", "--int8"],
            "--int8 needs pairs to measure what it costs: give --noisy and --clean folders",
        ),
        (["mine.safetensors", "--noisy", "."], "--noisy and --clean are for --int8; leave them out, or add it"),
        (["mine.safetensors", "-o", "absent/x.onnx"], "absent: no such folder"),
        (["mine.safetensors", "-o", "."], ". is a folder; give a file"),
        (["mine.safetensors", "-o", "mine.safetensors"], "exists already; to replace it, give --overwrite"),
        (["mine.safetensors", "-o", "./mine.safetensors", "--overwrite"], "is the checkpoint itself"),
        (["absent"], "there is no model 'absent': give a file or one of"),
    ],
)
def test_what_cannot_be_done_is_one_line_at_once(arguments: list[str], line: str, monkeypatch, capsys) -> None:
    error = refusal(monkeypatch, capsys, "export", *arguments)
    assert line in error and len(error.splitlines()) == 1
    assert not list(Path().glob("*.onnx"))


def test_enhance_refuses_an_onnx_file_that_is_not_ours(monkeypatch, capsys) -> None:
    Path("bad.onnx").write_bytes(b"no model")
    soundfile.write("noisy.wav", np.zeros(1600), 16_000)
    error = refusal(monkeypatch, capsys, "enhance", "noisy.wav", "--model", "bad.onnx")
    assert error.startswith("hamiltone: bad.onnx is not an ONNX file") and len(error.splitlines()) == 1


def test_the_number_of_processes_has_bounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refusal(monkeypatch, capsys, "export", "mine.safetensors", "--int8", "--workers", "100000")
    assert "--workers must lie between 1 and" in line
