"""Methods of a franchise that later rooms offer are there as soon as users have the class."""

import subprocess
import sys

PROGRAM = """
import hdpkit as hk
for name in ("fold_in", "simulate", "transitions", "start", "state_probabilities", "draw_sequences"):
    assert hasattr(hk.Franchise, name), name
"""


def test_methods_of_later_rooms_come_with_the_class():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
