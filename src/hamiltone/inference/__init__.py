"""Speech enhancement of waveforms, files and folders in bounded memory; every front end goes through here.

The walk of a recording, file by file:

- `files` opens source and target and turns whole folders into jobs (`jobs`);
- `survey` is a first pass over the `recording`: its length, its level and which channels share a gain;
- `windows` cuts it into overlapping windows and cross-fades their results;
- `bands` carries a window to the model's sample rate and back, and looks after the band above it;
- `stream` puts these around the model that `settings` hands in, or the exported `graph` of one;
- `keep` leaves passages as they are; `preview` and `picture` show before and after;
- `waveform` is the entrance for an array or a tensor.
"""

from hamiltone.inference.files import FileReport, enhance_file, enhance_paths
from hamiltone.inference.waveform import enhance

__all__ = ["FileReport", "enhance", "enhance_file", "enhance_paths"]
