"""What the paper says about attention, measured: pure functions that return frozen dataclasses.

- `capture` records queries, keys, values, scores, maps and outputs of every attention in a model.
- `agreement` asks whether the maps of the four components point at the same places (Eq. 20).
- `maps` asks how flat those maps are, how far apart, and how often they agree by chance.
- `similarity` compares outputs: of two models, and of both formulas on the same queries, keys and values.
- `gradients` follows the loss back to the scores (Theorem C.3).
- `settings` sweeps what the paper leaves open about its gradient norms.
- `subspace` checks Theorem C.1, Corollary C.2 and Theorem C.3 in float64, `bilinear` whether trained layers meet their
  assumption.
- `movement` measures how far training has moved the weights of queries and keys.
- `cost` counts multiplications, softmaxes, multiply-accumulates and parameters.
- `statistics` computes means with confidence intervals.
- `plots` and `diagrams` draw, with matplotlib.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401
