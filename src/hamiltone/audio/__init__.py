"""Waveforms, files and spectra."""
