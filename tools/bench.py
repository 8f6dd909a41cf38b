"""``make bench``: measure this machine, write docs/BENCH.md and the summary in README.md of this clone."""

import sys
from pathlib import Path

from hamiltone import markdown
from hamiltone.benchmark.attention import AttentionRow, bench_attention
from hamiltone.benchmark.machine import this_machine
from hamiltone.benchmark.model import ModelRow, bench_model, executions
from hamiltone.benchmark.runtime import RuntimeRow, bench_runtime, ways
from hamiltone.benchmark.tables import ATTENTION, MODEL, RUNTIME, markdown_table

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run every benchmark (about ten minutes) and write the pages."""
    note = f"Measured by `make bench` on {this_machine()}.\n"
    attention = list(bench_attention((512, 1024, 2048, 4096), tick=_say))
    models = [
        *bench_model(executions("qconformer-dns", ("shared", "hamilton")), (4, 10), tick=_say),
        *bench_model(executions("qconformer", ("shared", "hamilton"))[:1], (4,), tick=_say),
        *bench_model(executions("qconformer-dns", ("shared",))[:1], (60,), rounds=(1, 3), tick=_say),
        *bench_model(executions("compact", ("shared", "hamilton"))[:2], (10, 60), tick=_say),
    ]
    backends = list(bench_runtime(ways(("compact", "live"), (1, 2)), tick=_say))
    (ROOT / "docs" / "BENCH.md").write_text(_page(note, attention, models, backends))
    readme = ROOT / "README.md"
    longest = [row for row in attention if row.length == max(row.length for row in attention)]
    block = f"{markdown_table(ATTENTION, longest)}\n{note}"
    readme.write_text(markdown.fill_blocks(readme.read_text(), {"attention": block}))


def _page(note: str, attention: list[AttentionRow], models: list[ModelRow], backends: list[RuntimeRow]) -> str:
    return f"""# Benchmarks

{note}
All methods of a table take turns in one run, so that load on the machine affects them alike; times are medians after
warm-up. Peak memory is what one call adds to a fresh process.

## One attention layer

The setting of the paper's Table 9: 64 quaternions (256 reals), 8 heads, batch 1, forward pass, folded layers. MACs
count scores and values, as the table does. *Fused* runs through `scaled_dot_product_attention`; *explicit* forms
scores and maps by batched matrix products. *Real* is ordinary attention of the same width.

{markdown_table(ATTENTION, attention)}
## Whole models

Waveform to waveform, STFT included, random weights. RTF is seconds of computing per second of audio. Audio longer than
9.6 seconds goes through the windows of `hamiltone enhance`.

{markdown_table(MODEL, models)}
## onnxruntime and torch

The bundled models as `hamiltone enhance` and `hamiltone live` run them, by both back ends: ten seconds as a recording,
and frame by frame as a stream. `hamiltone bench runtime` measures these alone.

{markdown_table(RUNTIME, backends)}"""


def _say(message: str) -> None:
    sys.stderr.write(f"\r\033[K{message}")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
