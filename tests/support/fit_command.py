"""The command that most tests of runs begin with."""

FIT = ("fit", "--for", "prediction")  # one chain of a number of sweeps, without bursts
