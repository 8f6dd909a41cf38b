"""``make bench``: measure this machine, keep it in results/, and fill docs/BENCH.md and the summary in README.md.

python tools/bench.py           # all of it, about ten minutes
python tools/bench.py runtime   # only this; any of attention, networks and runtime
python tools/bench.py --pages   # measures nothing: fills the pages from results/
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hamiltone import markdown
from hamiltone.benchmark.attention import bench_attention
from hamiltone.benchmark.machine import this_machine
from hamiltone.benchmark.model import bench_model, executions
from hamiltone.benchmark.runtime import bench_runtime, ways
from hamiltone.benchmark.tables import ATTENTION, MODEL, RUNTIME, markdown_table

ROOT = Path(__file__).parents[1]
COLUMNS = {"attention": ATTENTION, "networks": MODEL, "runtime": RUNTIME}


def measure(name: str) -> Iterable[Any]:
    """The rows of one benchmark."""
    if name == "attention":
        return bench_attention((512, 1024, 2048, 4096), tick=_say)
    if name == "runtime":
        return bench_runtime(ways(("compact", "live"), (1, 2)), tick=_say)
    return chain(
        bench_model(executions("qconformer-dns", ("shared", "hamilton")), (4, 10), tick=_say),
        bench_model(executions("qconformer", ("shared", "hamilton"))[:1], (4,), tick=_say),
        bench_model(executions("qconformer-dns", ("shared",))[:1], (60,), rounds=(1, 3), tick=_say),
        bench_model(executions("compact", ("shared", "hamilton"))[:2], (10, 60), tick=_say),
    )


def store(results: Path, name: str, rows: Iterable[Any]) -> None:
    """Keep the rows of a benchmark with the machine."""
    content = {"machine": str(this_machine()), "rows": [asdict(row) for row in rows]}
    (results / f"bench-{name}.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def fill(page: str, results: Path, choose: Callable[[list[Any]], list[Any]] = lambda rows: rows) -> str:
    """The page with its blocks filled from what is stored; `choose` picks from a table's rows.

    A block whose result is not stored stays as it is.
    """
    blocks = {}
    for name in set(markdown.block_names(page)) & {*COLUMNS, "install"}:
        path = results / ("install.json" if name == "install" else f"bench-{name}.json")
        if path.exists():
            content = json.loads(path.read_text("utf-8"))
            rows = choose([SimpleNamespace(**row) for row in content.get("rows", [])])
            table = _install(content) if name == "install" else markdown_table(COLUMNS[name], rows)
            command = "tools/install_cost.py" if name == "install" else "make bench"
            blocks[name] = f"{table}\nMeasured by `{command}` on {content['machine']}.\n"
    return markdown.fill_blocks(page, blocks)


def longest(rows: list[Any]) -> list[Any]:
    """Those of the longest sequence, for the README."""
    return [row for row in rows if row.length == max(row.length for row in rows)]


def _install(content: dict[str, Any]) -> str:
    rows = [
        ["packages", str(content["packages"])],
        ["download", f"{content['download_mb']:.0f} MB"],
        ["on disk", f"{content['disk_mb']:.0f} MB"],
        ["`hamiltone --version`", _seconds(content["version_s"])],
        ["`hamiltone enhance` of 3 s", _seconds(content["enhance_s"])],
    ]
    return markdown.table(["what", "measured"], rows)


def _seconds(times: dict[str, float]) -> str:
    return f"{times['median']:.2f} s ({times['least']:.2f} to {times['most']:.2f}; {times['first']:.2f} the first time)"


def main() -> None:
    """Measure what is named, or everything, and fill the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COLUMNS))
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if unknown := set(given.names) - COLUMNS.keys():
        parser.error(f"expected {', '.join(COLUMNS)}, got {', '.join(sorted(unknown))}")
    for name in [] if given.pages else given.names or COLUMNS:
        store(ROOT / "results", name, measure(name))
    for place, choose in (("docs/BENCH.md", list), ("README.md", longest)):
        page = ROOT / place
        page.write_text(fill(page.read_text("utf-8"), ROOT / "results", choose), "utf-8")


def _say(message: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{message}")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
