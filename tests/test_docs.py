"""The examples in docs/ run."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", ["vision", "text"])
def test_the_examples_of_a_page_run(name):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{name}.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    exec(compile("\n".join(blocks), f"docs/{name}.md", "exec"), {})
