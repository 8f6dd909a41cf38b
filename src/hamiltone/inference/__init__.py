"""Speech enhancement of waveforms, files and folders in bounded memory; every front end goes through here.

The model is a back end (`hamiltone.runtime.backend`): spectrum in, gain out. All else is numpy.

The walk of a recording, file by file:

- `files` opens source and target and turns whole folders into jobs (`jobs`);
- `survey` is a first pass over the `recording`: its length, its level and which channels share a gain;
- `windows` cuts it into overlapping windows and cross-fades their results;
- `stream` puts resampling, the STFT and the band above the model's around the back end that `settings` hands in;
- `keep` leaves passages as they are; `preview` and `picture` show before and after;
- `waveform` is the entrance for an array or a tensor.
"""

from hamiltone.inference.files import FileReport, enhance_file, enhance_paths
from hamiltone.inference.settings import resolve_model
from hamiltone.inference.waveform import enhance

__all__ = ["FileReport", "enhance", "enhance_file", "enhance_paths", "resolve_model"]
