"""The diagrams, which no command makes: where the code says the same."""

from hamiltone.paper.result import Result
from hamiltone.paper.study import Study


def figure1(study: Study) -> Result:
    """A diagram."""
    why = "A diagram of the two attentions; src/hamiltone/nn/scores.py is the same in code."
    return Result("figure1", "Two attentions", (), "not reproduced", why)


def figure6(study: Study) -> Result:
    """A diagram."""
    why = "A diagram of the model; docs/walkthrough.md goes through it with shapes."
    return Result("figure6", "Architecture", (), "not reproduced", why)
