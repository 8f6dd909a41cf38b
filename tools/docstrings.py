"""Our docstrings for mkdocstrings: shapes as lists, doctests as code, and full names as links that must resolve."""

import re
from typing import Any

import griffe

_FULL_NAME = re.compile(r"(?<!`)`(hamiltone(?:\.\w+)+)`(?!`)")


def to_markdown(text: str) -> str:
    """A docstring as Markdown that the Google parser understands.

    >>> print(to_markdown("Shape:\\n    x: ``(B, N)``,\\n        N > 0\\n    returns: ``()``\\n\\n>>> 1 + 1\\n2"))
    Shape:
        - x: ``(B, N)``, N > 0
        - returns: ``()``
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    blocks = [_block(block) for block in re.split(r"\n[ ]*\n", text)]
    return _FULL_NAME.sub(r"[`\1`][\1]", "\n\n".join(blocks))


def _block(block: str) -> str:
    first, *rest = block.split("\n")
    if first.strip() == "Shape:":
        return "\n".join([first, *_items(rest)])
    if first.lstrip().startswith(">>>"):
        return f"```pycon\n{block}\n```"
    return re.sub(r"::$", ":", block)


def _items(lines: list[str]) -> list[str]:
    """Indented lines as list items; a line that is indented further continues the one before it."""
    items: list[str] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if indent > 4 and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(f"    - {line.strip()}")
    return items


class Docstrings(griffe.Extension):
    """Rewrites every docstring of the package before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
