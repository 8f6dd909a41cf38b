"""The examples in README and docs/ run, and the generated pages are up to date."""

import importlib.util
import math
import re
import shlex
import shutil
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import soundfile
import torch
from typer.testing import CliRunner

import hamiltone
import hamiltone.runtime
from corpora import reviews
from hamiltone.audio import upper_band
from hamiltone.cli import app
from hamiltone.corpus import cluster
from hamiltone.corpus import run as corpus_run
from hamiltone.data.synthetic import speech
from hamiltone.export import check
from hamiltone.models import TextConfig, VisionConfig
from hamiltone.nn import SharedScore
from hamiltone.runtime import enhancement, passages, preview, stream, survey
from hamiltone.training import load_recipe, speech_recipe
from streams import Counting
from videos import make_video

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE_LIMITS = ROOT / "web" / "src" / "files" / "limits.ts"
WORDS = {2: "two", 4: "four", 8: "eight"}
TOY = [
    "budget={steps=1}",
    "model={family='compact', channels=[2, 2], dilations=[1, 1], heads=1, layers=1, kernel_size=3}",
    "data.segment=4000",
    "data.held_out_segment=4000",
    "data.held_out_length=1",
    "run.accelerator=cpu",
]


def blocks(page: Path, language: str) -> list[str]:
    """The code of all fenced blocks of a language; "" are those that name none."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [code for name, code in fences if name == language]


def commands(text: str) -> list[list[str]]:
    """The commands of hamiltone in a block, as arguments."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [line[1:] for line in lines if line and line[0] == "hamiltone"]


@pytest.fixture
def workplace(tmp_path, monkeypatch) -> Path:
    """A folder with a recording, and with clean speech and noise of eight names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hamiltone.training.tune_cpu", lambda: None)  # it would outlive the test
    rng = np.random.default_rng(0)
    for number, name in enumerate(("anna", "ben", "carl", "dora", "emil", "fay", "gus", "hana")):
        for kind, sound in (("clean", speech(rng, 16_000)), ("noise", 0.1 * rng.standard_normal(16_000))):
            path = tmp_path / "mydata" / kind / f"{name}_{number:02}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, sound, 16_000)
    shutil.copy(tmp_path / "mydata" / "clean" / "anna_00.wav", tmp_path / "noisy.wav")
    return tmp_path


def test_the_commands_and_the_code_of_the_training_page_run(workplace):
    page = DOCS / "training.md"
    (recipe,) = blocks(page, "toml")
    (workplace / "my.toml").write_text(recipe)
    (console,) = blocks(page, "console")
    assert len(commands(console)) == 3
    for arguments in commands(console):
        run(arguments, *(TOY if arguments[0] == "train" else []))
    (code,) = blocks(page, "python")
    names: dict[str, Any] = {}
    exec(compile(code, "docs/training.md", "exec"), names)
    assert hamiltone.enhance(np.zeros(8000, np.float32), 16_000, model=names["model"]).shape == (8000,)


def test_the_recipe_reference_is_up_to_date():
    path = ROOT / "tools" / "recipe_reference.py"
    spec = importlib.util.spec_from_file_location("recipe_reference", path)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (DOCS / "recipes.md").read_text() == tool.page(), "run python tools/recipe_reference.py"
    union, _ = get_args(speech_recipe.Data)
    listed = {table for _, _, tables in tool.SECTIONS for _, table in tables}
    assert set(get_args(union)) <= listed, "SECTIONS of tools/recipe_reference.py lacks a kind of data"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_a_row_of_a_table_is_one_line(page):
    """Markdown would show the rest of a broken row as text below the table."""
    assert [line for line in page.read_text().splitlines() if line.startswith("|") and not line.endswith("|")] == []


def test_the_api_pages_have_every_module():
    source = Path(hamiltone.__file__).parent
    pages = "\n".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    rooms = [path.name for path in source.iterdir() if (path / "__init__.py").exists() and path.name != "cli"]
    assert {path.stem for path in (DOCS / "api").glob("*.md")} == {*rooms, "algebra", "index"}
    for room in rooms:
        for path in (source / room).rglob("*.py"):
            parts = path.relative_to(source.parent).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            assert f"::: {name}\n" in pages, name


def test_the_python_of_the_readme_runs():
    silence = np.zeros(8000, np.float32)
    names: dict[str, Any] = {"waveform": silence, "chunk": silence, "sample_rate": 16_000}
    found = blocks(ROOT / "README.md", "python")
    assert len(found) >= 2
    for block in found:
        exec(compile(block, "README.md", "exec"), names)
    assert names["clean"].shape == (8000,)
    assert names["y"].shape == (2, 100, 4, 64)


def readme(*verbs: str) -> list[list[str]]:
    """The commands of the README with these verbs."""
    return [line for block in blocks(ROOT / "README.md", "") for line in commands(block) if line[0] in verbs]


def run(arguments: list[str], *more: str) -> None:
    result = CliRunner().invoke(app, [*arguments, *more])
    assert result.exit_code == 0, (arguments, result.output)


def test_the_enhance_commands_of_the_readme_run(workplace):
    (workplace / "takes").mkdir()
    shutil.copy("noisy.wav", "takes/first.wav")
    signal, rate = soundfile.read("noisy.wav")
    soundfile.write("talk.mp3", signal, rate)
    make_video(workplace / "talk.mp4")
    lines = readme("enhance")
    assert len(lines) == 4
    for arguments in lines:
        run(arguments)
    assert Path("noisy.enhanced.wav").is_file() and Path("less.wav").is_file() and Path("clean/first.wav").is_file()
    assert all(Path(f"talk.enhanced.{suffix}").is_file() for suffix in ("mp4", "preview.wav", "png"))


def test_the_training_commands_of_the_readme_run(workplace):
    (workplace / "recipes").symlink_to(ROOT / "recipes")
    reviews(workplace / "SST-2")
    small = ["budget.epochs=1", "model={dim=4, heads=1, layers=1, feed_forward=4}", "run.accelerator=cpu"]
    lines = readme("train", "accuracy")
    assert [line[0] for line in lines] == ["train", "accuracy"]
    for arguments in lines:
        run(arguments, *(small if arguments[0] == "train" else []))


def test_the_long_commands_of_the_readme_are_understood():
    lines = readme("reproduce", "analyse", "live", "page")
    assert len(lines) >= 3
    for arguments in lines:
        run(arguments, "--help")  # a verb or an option that is not there fails before the help is printed
    known = {"enhance", "live", "page", "train", "accuracy", "reproduce", "analyse"}
    every = [line for block in blocks(ROOT / "README.md", "") for line in commands(block)]
    assert {line[0] for line in every} == known, "a new command of the README needs a test"


def test_the_commands_of_the_corpus_page_are_understood():
    lines = [line for block in blocks(DOCS / "corpus.md", "") for line in commands(block)]
    assert len(lines) == 4
    for arguments in lines:
        run(arguments, "--help")


def test_the_targets_that_the_readme_names_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", (ROOT / "README.md").read_text()):
        assert f"\n{target}:" in makefile, target


@pytest.mark.parametrize("name", ["vision", "text"])
def test_the_examples_of_a_page_run(name):
    found = blocks(DOCS / f"{name}.md", "python")
    assert len(found) >= 2
    exec(compile("\n".join(found), f"docs/{name}.md", "exec"), {})


def test_the_page_on_live_sound_runs_and_tells_the_true_latencies():
    page = (DOCS / "live.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/live.md", "exec"), {})
    rows = re.findall(r"\| ([\d.]+) kHz \| (\d+) \| ([\d.]+) \|", page)
    assert len(rows) == 4
    for rate, samples, ms in rows:
        stream = hamiltone.Stream(round(1000 * float(rate)), Counting())
        assert stream.latency == int(samples)
        assert float(ms) == pytest.approx(stream.latency / float(rate), abs=0.05)


def stated_limits() -> dict[str, list[str]]:
    """What the guides say about limits, constants and defaults, by page, with the values of the code."""
    live = hamiltone.runtime.resolve_model("live")
    frame, step = (round(1000 * samples / live.sample_rate) for samples in (live.n_fft, live.hop))
    faint, loud = (round(20 * math.log10(level)) for level in enhancement._USUAL_LEVELS)
    classifier = VisionConfig()
    grid = classifier.size // 2 ** (len(classifier.channels) - 1)
    page_samples = float(found[1]) if (found := re.search(r"MOST_SAMPLES = (\S+);", PAGE_LIMITS.read_text())) else 0.0
    page_minutes = int(page_samples / 48_000 / 60)
    return {
        "formats.md": [
            f"at most {survey._MOST_CHANNELS} channels, {survey._HIGHEST_RATE:,} samples per second in each",
            f"and {survey._MOST_PER_SECOND:,} in all",
            f"the {1000 * passages.FADE_SECONDS:g} ms around it",
            f"in bands of {upper_band._BAND_HZ / 1000:g} kHz",
            f"the last {upper_band._MEMORY_SECONDS:g} seconds",
            f"{preview._GAP:g} s of silence",
        ],
        "live.md": [
            f"a frame of {frame} ms every {step} ms",
            f"from {stream.LOWEST_RATE // 1000} to {stream.HIGHEST_RATE // 1000} kHz",
            f"below {faint} dB or above +{loud} dB of full scale",
        ],
        "page.md": [f"{page_samples / 1e6:g} million samples ({page_minutes} minutes at 48 kHz in mono"],
        "corpus.md": [
            f"hands {corpus_run.ROUND:,} clips to Ray at a time, or {corpus_run.SHARE:,} per worker",
            f"at most {WORDS[cluster._IN_FLIGHT]} batches of {WORDS[corpus_run.BATCH]} clips",
        ],
        "export.md": [f"onnxruntime and torch agree to {check.TOLERANCE:.0e}".replace("e-0", "e-")],
        "vision.md": [
            f"ResNet of {WORDS[len(classifier.channels)]} stages makes a {grid} × {grid} grid of tokens",
            f"Transformer of {WORDS[classifier.layers]} layers",
            f"# {load_recipe(ROOT / 'recipes' / 'cifar100_reduced.toml').budget.epochs} epochs of a narrower network",
        ],
        "text.md": [f"up to {TextConfig().limit} words"],
    }


def test_the_limits_that_the_guides_state_are_those_of_the_code():
    for name, phrases in stated_limits().items():
        text = " ".join((DOCS / name).read_text().split())
        assert [phrase for phrase in phrases if phrase not in text] == [], name


def test_the_rule_in_contributing_scores_as_it_says():
    (block,) = re.findall(
        r"```python\n# my_rules.py\n(.*?)```", (DOCS.parent / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(compile(block, "CONTRIBUTING.md", "exec"), names)
    q, k = torch.randn(2, 1, 2, 5, 4, 3)
    scores = names["Conjugated"]().scores(q, k)
    assert scores.shape == (1, 2, 4, 5, 5)
    torch.testing.assert_close(scores[:, :, :1] / 2, SharedScore().scores(q, k))
