"""Live sound: a stream of samples in, the same stream without noise out, a few hundredths of a second later.

The walk of a chunk, file by file:

- `stream` takes chunks of any size and returns as many samples, delayed by a constant;
- `resampling` carries them to the model's sample rate and back;
- `frames` turns every hop into the spectrum of a frame, and the filtered spectrum into a hop;
- `backend` finds the gain of a frame: torch, or anything else that goes from spectrum to gain and remembers;
- `bands` looks after what lies above the model's band;
- `times` counts how long frames took;
- `pipe` and `device` put a stream between standard input and output, or between microphone and loudspeaker.

Beside it, exported models: `description` is what their files say about themselves, `onnx_graph` loads, checks and runs
them with onnxruntime, `onnx_step` remembers the states of one that streams.

Nothing here imports torch before a torch model is asked for.
"""

from hamiltone.runtime.backend import StepBackend
from hamiltone.runtime.stream import Stream

__all__ = ["StepBackend", "Stream"]
