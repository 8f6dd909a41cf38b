"""The paper's tables and figures beside ours, in four rooms.

- `measure` runs and counts. Its functions return the dataclasses of `results`; what they were made with is read from
  the headers of checkpoints and from the command that was given.
- `store` keeps results as JSON and reads them back as the same types.
- `judge` tests the paper's claims (`claims`, each by one of the `criteria`) on results: supported, contradicted,
  undecided or not tested.
- `pages` sets results beside what the paper prints, on the terminal and, when asked to, in docs/.

`reference` has the numbers that the paper prints and the margins for judging claims, `pair` the models and the data
that the analyses look at.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401
