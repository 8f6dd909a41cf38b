"""The examples in docs/ run."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import hamiltone.models
from hamiltone.models import Header, save_checkpoint
from hamiltone.nn import SharedScore
from streams import SMALL, Counting, untrained

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", ["vision", "text"])
def test_the_examples_of_a_page_run(name):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{name}.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), f"docs/{name}.md", "exec"), {})


def test_the_page_on_live_sound_runs_and_tells_the_true_latencies(monkeypatch, tmp_path):
    path = tmp_path / "live.safetensors"
    save_checkpoint(path, untrained(), Header(SMALL))
    monkeypatch.setattr(hamiltone.models, "bundled", lambda: {"live": path})
    page = (DOCS / "live.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/live.md", "exec"), {})
    rows = re.findall(r"\| ([\d.]+) kHz \| (\d+) \| ([\d.]+) \|", page)
    assert len(rows) == 4
    for rate, samples, ms in rows:
        stream = hamiltone.Stream(round(1000 * float(rate)), Counting())
        assert stream.latency == int(samples)
        assert float(ms) == pytest.approx(stream.latency / float(rate), abs=0.05)


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
