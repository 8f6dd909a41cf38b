import json
from pathlib import Path

import pytest

from hamiltone.evaluation import Report, write_report
from hamiltone.evaluation.scoring import FileScores

pytest.importorskip("matplotlib")

from quality_plot import draw, read_points


def report(folder: Path, system: str, pesq: float) -> None:
    files = tuple(FileScores(f"{n}.wav", 2.0, 1.0, {"pesq": pesq}, {}) for n in range(3))
    write_report(folder / f"evaluate-{system}.json", Report(system, ("pesq",), files))


def test_points_have_the_costs_of_their_systems(tmp_path: Path) -> None:
    for system, pesq in (("compact", 3.0), ("gtcrn", 2.8), ("compact-hamilton", 2.9), ("fspen", 2.9)):
        report(tmp_path, system, pesq)
    (tmp_path / "peer-sizes.json").write_text(json.dumps({"gtcrn": {"parameters": 1, "macs_per_second": 26e6}}))
    row = {"system": "gtcrn", "rtf": 0.03, "beside": {"compact": 0.04}}
    (tmp_path / "bench-peer-gtcrn.json").write_text(json.dumps(row))
    points = {point.system: point for point in read_points(tmp_path)}
    assert set(points) == {"compact", "gtcrn", "fspen"}
    assert points["gtcrn"].pesq.mean == pytest.approx(2.8)
    assert (points["gtcrn"].macs_per_second, points["gtcrn"].rtf) == (26e6, 0.03)
    assert points["compact"].rtf == 0.04
    assert points["compact"].macs_per_second > 5e8
    assert (points["fspen"].macs_per_second, points["fspen"].rtf) == (None, None)


def test_the_picture_is_the_same_each_time(tmp_path: Path) -> None:
    report(tmp_path, "compact", 3.0)
    pictures = []
    for name in ("a.png", "b.png"):
        draw(read_points(tmp_path), tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"\x89PNG")
