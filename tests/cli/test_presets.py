import json

from typer.testing import CliRunner

from hamiltone import __version__
from hamiltone.cli import app, main
from hamiltone.models import PRESETS


def test_presets_lists_every_model_with_size_and_cost():
    result = CliRunner().invoke(app, ["presets", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == list(PRESETS)
    assert all(row["params"] > 0 and row["macs_per_second"] > 0 for row in rows)


def test_the_version_is_the_packages():
    assert CliRunner().invoke(app, ["--version"]).stdout == f"hamiltone {__version__}\n"


def test_what_the_user_can_mend_is_one_line_and_exit_code_2(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["hamiltone", "bench", "model", "--preset", "nonsense"])
    try:
        main()
    except SystemExit as leave:
        assert leave.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("hamiltone: there is no preset 'nonsense'") and captured.err.count("\n") == 1


def test_every_command_explains_itself():
    for command in (["enhance"], ["evaluate"], ["presets"], ["bench"], ["bench", "attention"], ["bench", "model"]):
        result = CliRunner().invoke(app, [*command, "--help"])
        assert result.exit_code == 0 and len(result.stdout) > 300, command
