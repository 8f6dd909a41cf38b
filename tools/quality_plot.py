"""Draw docs/figures/quality.png: quality on the test set against multiplications and against time, from results/.

python tools/quality_plot.py
"""

import json
from dataclasses import dataclass
from pathlib import Path

import matplotlib

from hamiltone.analysis.cost import model_costs
from hamiltone.metrics import Interval
from hamiltone.paper.measure.speech import read_reports

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

_OURS = ("compact", "live")
_LABELS = {
    "fastenhancer_t": "FastEnhancer-T",
    "fastenhancer_b": "FastEnhancer-B",
    "fastenhancer_s": "FastEnhancer-S",
    "lisennet": "LiSenNet",
    "fspen": "FSPEN",
    "gtcrn": "GTCRN",
}


@dataclass(frozen=True)
class Point:
    """A system: its PESQ with the 95 % interval, and its cost if known."""

    system: str
    pesq: Interval
    macs_per_second: float | None
    rtf: float | None


def read_points(results: Path) -> list[Point]:
    """Every system of ours and of others that was scored on the test set."""
    macs = {cost.preset: cost.macs_per_second for cost in model_costs(_OURS, ["shared"])}
    sizes = results / "peer-sizes.json"
    if sizes.exists():
        macs |= {name: size["macs_per_second"] for name, size in json.loads(sizes.read_text("utf-8")).items()}
    rtf: dict[str, float] = {}
    for path in sorted(results.glob("bench-peer-*.json")):
        row = json.loads(path.read_text("utf-8"))
        rtf |= {row["system"]: row["rtf"], **row.get("beside", {})}
    points = []
    for system, report in read_reports(results):
        pesq = report.summary().get("pesq")
        if pesq is not None and system in (*_OURS, *_LABELS):
            points.append(Point(system, pesq, macs.get(system), rtf.get(system)))
    return points


def draw(points: list[Point], path: Path) -> None:
    """Both panels side by side; ours are filled."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    by_macs = [(point, point.macs_per_second / 1e9) for point in points if point.macs_per_second]
    by_time = [(point, point.rtf) for point in points if point.rtf]
    _panel(left, by_macs)
    _panel(right, by_time)
    left.set_xlabel("multiply-accumulates, billions for a second of sound")
    right.set_xlabel("seconds of one core for a second of sound")
    left.set_ylabel("PESQ, 824 test pairs of VoiceBank+DEMAND")
    _label(left, by_macs)
    _label(right, by_time)
    figure.savefig(path, dpi=140, metadata={"Software": None})
    plt.close(figure)


def _panel(axes: Axes, points: list[tuple[Point, float]]) -> None:
    for point, x in points:
        ours = point.system in _OURS
        middle, low, high = point.pesq.mean, point.pesq.low, point.pesq.high
        axes.errorbar(
            x,
            middle,
            [[middle - low], [high - middle]],
            fmt="o",
            color="#b0413e" if ours else "#4a5a6a",
            markerfacecolor=None if ours else "white",
            markersize=7,
            elinewidth=1,
            capsize=2,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.18)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _label(axes: Axes, points: list[tuple[Point, float]]) -> None:
    """Name every point beside it, in the first of seven places where the name covers no other."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    lows = axes.transData.transform([(x, point.pesq.low) for point, x in points])
    highs = axes.transData.transform([(x, point.pesq.high) for point, x in points])
    taken = [Bbox.from_extents(x - 6, low, x + 6, high) for (x, low), (_, high) in zip(lows, highs, strict=True)]
    for point, x in points:
        ours = point.system in _OURS
        name = axes.annotate(
            point.system if ours else _LABELS[point.system],
            (x, point.pesq.mean),
            xytext=(7, 5),
            textcoords="offset points",
            fontsize=9,
            fontweight="bold" if ours else "normal",
        )
        for side, height in ((7, 5), (7, -12), (-7, 5), (-7, -12), (7, 16), (7, 26), (7, -23)):
            name.set(position=(side, height), horizontalalignment="left" if side > 0 else "right")
            place = name.get_window_extent()
            if not place.count_overlaps(taken) and place.x1 < axes.bbox.x1 + 40:
                break
        taken.append(place)


def main() -> None:
    """Draw the picture of this clone."""
    root = Path(__file__).parents[1]
    draw(read_points(root / "results"), root / "docs" / "figures" / "quality.png")


if __name__ == "__main__":
    main()
