import json
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

import clips
from hamiltone.cli import app
from hamiltone.cli.corpus_progress import figures, progress_display, progress_table
from hamiltone.corpus.run import Status, in_process
from hamiltone.errors import InputError

STATUS = Status(total=100, done=30, errors=2, audio=5400.0, elapsed=10.0, new=20, workers=3)


@pytest.fixture
def without_ray(monkeypatch):
    """The same command on the plain loop: Ray is tested in tests/corpus."""

    class Plain:
        def __init__(self, workers, address):
            self.workers = workers

        def __enter__(self):
            print("(raylet) A worker died or was killed")
            return in_process

        def __exit__(self, *_):
            pass

    monkeypatch.setattr("hamiltone.corpus.cluster.RayEngine", Plain)


def run(*arguments):
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


def test_the_command_writes_a_corpus_and_a_summary(without_ray, tmp_path):
    clips.folder(tmp_path / "in", 2, seconds=0.3)
    (tmp_path / "in" / "broken.wav").write_bytes(b"RIFF")
    result = run(tmp_path / "in", "-o", tmp_path / "out", "--model", "toy", "--json", "--format", "wav")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["clips"], summary["enhanced"], summary["errors"], summary["new"]) == (3, 2, 1, 3)
    assert "clips 3 of 3" in result.stderr and "errors 1" in result.stderr
    again = run(tmp_path / "in", "-o", tmp_path / "out", "--model", "toy", "--format", "wav")
    assert "2 of 3 clips" in again.stdout and "1 errors" in again.stdout


def test_when_nothing_could_be_enhanced_the_command_fails(without_ray, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "broken.wav").write_bytes(b"RIFF")
    result = run(tmp_path / "in", "-o", tmp_path / "out", "--model", "toy")
    assert isinstance(result.exception, InputError) and "errors.jsonl" in str(result.exception)


@pytest.mark.parametrize("workers", ["0", "4,2", "a,b", "1,2,3", "", "-1,2"])
def test_workers_that_are_none_are_refused(tmp_path, workers):
    result = run(tmp_path, "-o", tmp_path / "out", "--workers", workers)
    assert isinstance(result.exception, InputError) and "--workers" in str(result.exception)


def test_without_the_extra_one_line_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    result = run(tmp_path, "-o", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == 'hamiltone corpus needs ray: pip install "hamiltone[corpus]"'


def test_the_table_shows_clips_hours_pace_time_left_errors_and_workers():
    shown = figures(STATUS)
    assert shown == {
        "clips": "30 of 100",
        "hours": "1.50",
        "clips/s": "2.00",
        "left": "0:00:35",
        "errors": "2",
        "workers": "3",
    }
    console = Console(file=StringIO(), force_terminal=True, width=80)
    with progress_display(console) as tick:
        tick(STATUS)
    console.print(progress_table(STATUS))
    assert "30 of 100" in console.file.getvalue()


def test_where_there_is_no_terminal_lines_come_now_and_then_and_at_the_end(capsys):
    with progress_display(Console(file=StringIO()), every=1000) as tick:
        tick(STATUS)
        tick(STATUS)
        tick(Status(100, 100, 2, 5400.0, 10.0, 20, 3))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["clips 30 of 100", "clips 100 of 100"]
