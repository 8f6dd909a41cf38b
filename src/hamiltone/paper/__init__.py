"""The paper's tables and figures beside ours, from one command.

`reference.toml` holds what the paper prints. A function for each table and figure measures ours and returns a `Result`,
which is kept as JSON; `render` turns all that is kept into docs/RESULTS.md. What cannot be run keeps its rows.
"""
