"""Trains the tiny task in a process of its own, which tests kill or start twice."""

import signal
import sys
import time
from pathlib import Path

from hamiltone.training.device import make_fabric
from hamiltone.training.loop import train
from hamiltone.training.speech import SpeechTask
from tasks import KILL, TinyTask, signal_at, small_recipe, speech_recipe, tiny_recipe


def apart(folder: Path) -> None:
    """One run without interruption and one with, whose batch norms do not see the other process."""
    stopped = TinyTask(before=signal_at(signal.SIGTERM, (1, 5)))
    for name, task in (("whole", TinyTask()), ("cut", stopped), ("cut", TinyTask())):
        recipe = tiny_recipe(folder / name, batches__synchronise=False)
        train(task, recipe, make_fabric(recipe.run))


if __name__ == "__main__":
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    if mode == "apart":
        apart(folder)
        sys.exit()
    if mode == "killed":
        recipe, task = tiny_recipe(folder), TinyTask(dropout=0.2, before=signal_at(KILL, (2, 5)))
    elif mode == "slow":  # from the second epoch on, so that there is a state to resume from, and time to be killed
        recipe, task = tiny_recipe(folder), TinyTask(before=lambda key: time.sleep(0.5 * (key[0] > 0)))
    elif mode == "two":
        recipe, task = tiny_recipe(folder), TinyTask()
    elif mode == "speech":
        recipe = speech_recipe(folder)
        task = SpeechTask(recipe)
    else:
        recipe = small_recipe(folder, "run.precision=bfloat16", "budget={steps=2}")
        task = SpeechTask(recipe)
    train(task, recipe, make_fabric(recipe.run))
