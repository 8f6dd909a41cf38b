"""The examples in docs/ run."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from hamiltone.nn import SharedScore

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", ["vision", "text"])
def test_the_examples_of_a_page_run(name):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{name}.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), f"docs/{name}.md", "exec"), {})


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
