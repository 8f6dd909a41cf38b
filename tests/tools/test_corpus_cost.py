import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import corpus_cost
from hamiltone.corpus import Clip, CorpusJob, Result

FIGURES = {
    **{
        "machine": "here",
        "clips": 96,
        "turns": 2,
        "seconds": 5.0,
        "ledger_sync": 0.001,
        "ledger_bytes": 1,
        "id_bytes": 1,
    },
    **{"plain": 40.0, "plain_pace": 25.0, "size": 32_000.0, "read": 96_000.0, "written": 4_000.0},
}
RAY = {"ray": 50.0, "ray_pace": 20.0, "driver": 0.005}
SCORE = {"score": 450.0, "score_read": 100_000.0}


def rows(figures: dict[str, object]) -> dict[str, str]:
    lines = corpus_cost._block(figures).splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return dict(cells)


def test_the_driver_limits_the_workers_and_a_large_plan_has_several() -> None:
    """A worker makes 20 times real time: two clips of 10 s a second, of which a driver knows 200."""
    found = rows({**FIGURES, **RAY})
    assert found["so: the driver is the limit"] == (
        "at 200 clips a second: 50 workers with these clips, 100 with clips of 10 s"
    )
    assert "50,000 core-hours, 2.1 days of 1,000 cores and 10 drivers" in found["so: a million hours"]
    assert "a million hours, rated" not in "".join(found)


def test_the_page_says_what_was_measured() -> None:
    measured = json.loads(corpus_cost.RESULT.read_text("utf-8"))
    assert "dirty" not in measured["machine"]
    assert corpus_cost._block(measured) in corpus_cost.PAGE.read_text("utf-8"), "run make pages"


def test_a_plan_that_is_filtered_by_ratings_pays_for_them() -> None:
    plan = rows({**FIGURES, **RAY, **SCORE})["so: a million hours, rated to be filtered"]
    assert plan.startswith("500,000 core-hours, 20.8 days of 1,000 cores and 1 driver, if clips")
    assert plan.endswith("; 720 TB read and written")


def test_without_ray_nothing_is_said_of_its_driver() -> None:
    assert not any("driver is the limit" in what for what in rows({**FIGURES, **SCORE}))


def test_a_clip_that_is_read_three_times_counts_three_times() -> None:
    assert rows(FIGURES)["read"] == "345.6 GB per 1,000 hours: each clip 3.0 times"


def test_the_start_of_a_pool_is_no_part_of_the_time_per_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)

    class Engine:
        stage = None

        def __call__(self, clips: list[Clip], job: CorpusJob, batch: int) -> list[list[Result]]:
            clock.now += 100 + 0.25 * len(clips)
            return [[Result(clip.id) for clip in clips]]

    monkeypatch.setattr(corpus_cost.time, "process_time", lambda: clock.now)
    assert corpus_cost._null(Engine(), CorpusJob(Path("in"), Path("out"))) == pytest.approx(0.25)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="there is no /proc")
def test_what_is_read_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100_000))
    before = corpus_cost._bytes_read()
    path.read_bytes()
    path.read_bytes()
    assert 200_000 <= corpus_cost._bytes_read() - before < 210_000
