"""What the paper says about attention, measured: pure functions that return frozen dataclasses.

- `capture` records queries, keys, values, scores, maps and outputs of every attention in a model.
- `agreement` asks whether the maps of the four components point at the same places (Eq. 20).
- `similarity` compares outputs: of two models, and of both formulas on the same queries, keys and values.
- `gradients` follows the loss back to the scores (Theorem C.3).
- `subspace` checks Theorem C.1, Corollary C.2 and Theorem C.3 in float64.
- `cost` counts multiplications, softmaxes, multiply-accumulates and parameters.
- `plots` draws, with matplotlib.
"""
