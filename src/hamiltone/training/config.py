"""The tables of a recipe that all tasks share: frozen, without unknown keys. A task's recipe adds further tables."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)


class Table(BaseModel):
    """A table of a recipe: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Budget(Table):
    """How long to train; the run ends at the first limit that it reaches. Limits may change when a run is resumed."""

    epochs: PositiveInt | None = None
    """Passes over the training data."""
    steps: PositiveInt | None = None
    """Optimiser steps."""
    minutes: PositiveFloat | None = None
    """Minutes of the run."""

    @model_validator(mode="after")
    def _is_limited(self) -> Self:
        if self.epochs is None and self.steps is None and self.minutes is None:
            raise ValueError("expected at least one of epochs, steps and minutes")
        return self


class Batches(Table):
    """Samples of one optimiser step, over all processes; `accumulate` cuts them into parts that fit into memory.

    Batch norms then normalise each part separately.
    """

    size: PositiveInt
    """Samples of one optimiser step, over all processes."""
    accumulate: PositiveInt = 1
    """The number of parts into which a batch is cut to fit into memory."""
    workers: NonNegativeInt = 0
    """Processes that prepare samples; 0 prepares them in the training process."""
    synchronise: bool = True
    """Whether batch norms normalise over all processes. If not, each process normalises its own share of a batch, so
    that processes wait for each other once per step only; the running statistics are those of the first process."""


class Optimiser(Table):
    """AdamW or SOAP, the norm to which gradients are clipped, and the decay of the average of the weights (0: none).

    SOAP (Vyas et al. 2024) is Adam in the eigenbasis of Shampoo's Kronecker factors, which are renewed every
    `precondition_steps`: for small models it costs next to nothing and learns more from every step. It works best with
    a higher rate than AdamW, and betas of 0.95.
    """

    kind: Literal["adamw", "soap"] = "adamw"
    """AdamW or SOAP."""
    lr: PositiveFloat = Field(le=1000)
    """The highest learning rate, up to 1000."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Decay of the first and second moment of the gradient, each from 0 to less than 1."""
    weight_decay: NonNegativeFloat = Field(default=0.01, le=1000)
    """Decoupled weight decay, up to 1000."""
    clip: PositiveFloat = 1.0
    """The norm to which gradients are clipped."""
    ema: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the average of the weights, which is what is validated and kept; 0 keeps the weights themselves."""
    precondition_steps: PositiveInt = 10
    """Steps between two updates of SOAP's bases."""

    @model_validator(mode="after")
    def _decays(self) -> Self:
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"expected betas from 0 to less than 1, got {list(self.betas)}")
        return self


class Schedule(Table):
    """The learning rate: rising for `warmup` steps, then a cosine down to the share `final`, or constant."""

    kind: Literal["cosine", "constant"] = "cosine"
    """A cosine down to the share `final`, or constant after the warm-up."""
    warmup: NonNegativeInt = 0
    """Steps over which the rate rises to `optimiser.lr`."""
    final: float = Field(default=0.0, ge=0, le=1)
    """The share of the rate that is left at the end of the cosine."""


class Run(Table):
    """Where and how to run: settings that are not part of the experiment itself."""

    folder: Path
    """Where checkpoints and logs go."""
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """The device."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """All in float32, or mixed with bfloat16."""
    compile: bool = False
    """Whether to use torch.compile."""
    log_steps: PositiveInt = 50
    """Steps between two lines of the log."""
    validate_epochs: PositiveInt = 1
    """Epochs between two validations."""
    save_minutes: PositiveFloat = 10.0
    """Minutes between two saves of the state to resume from."""

    @field_validator("folder", mode="before")
    @classmethod
    def _has_a_name(cls, folder: Any) -> Any:
        if folder == "":  # which would be the current folder
            raise ValueError("expected the name of a folder")
        return folder


class Recipe(Table):
    """Everything that determines a run."""

    task: str
    """What is trained: speech, vision or text."""
    seed: NonNegativeInt = 0
    """Determines weights, order and mixtures."""
    init: str | None = Field(default=None, description="a checkpoint or a bundled model to start from")
    budget: Budget
    batches: Batches
    optimiser: Optimiser
    schedule: Schedule = Schedule()
    run: Run

    def experiment(self) -> dict[str, Any]:
        """What was trained and how, without paths of files, for the header of checkpoints."""
        content: dict[str, Any] = _without_paths(self.model_dump(exclude={"run"}))
        return content | {"init": self.init and Path(self.init).stem}


def _without_paths(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_paths(entry) for key, entry in value.items() if not isinstance(entry, Path)}
    if isinstance(value, tuple):
        return [_without_paths(entry) for entry in value if not isinstance(entry, Path)]
    return value


MAY_CHANGE = frozenset(
    {
        "budget.epochs",
        "budget.steps",
        "budget.minutes",
        "batches.workers",
        "run.folder",
        "run.log_steps",
        "run.save_minutes",
        "run.validate_epochs",
    }
)
"""Keys that may differ when a run is resumed: they move its end, or do not affect the computation."""
