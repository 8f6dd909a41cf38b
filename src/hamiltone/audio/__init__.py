"""Waveforms, files and spectra.

`io` opens files: those of libsndfile (`sound_file`, with the tags of `mp3` and the `metadata` of other formats), and
media that PyAV reads and writes (`media_reader`, `media_writer`, and `media_copy` for what is not sound); `formats` has
their names, and `partial` writes them atomically. `soxr_resampling` changes the sample rate. `stft` (in torch) and
`spectra` (in numpy) compute spectra, `features` turns them into quaternions, and `upper_band` handles the band above
the model's.
"""
