"""Every change runs a part of these tests. `.ci/nightly` sets REMAT_ALL_TESTS, which runs all of them."""

import os

AT_NIGHT = bool(os.environ.get("REMAT_ALL_TESTS"))


def at_night(test):
    """A test that only the night runs. It does not exist by day, so that it does not count as a test that passed."""
    return test if AT_NIGHT else None


def sampled(cases, n):
    """Every n-th of these cases, and all of them at night."""
    return list(cases) if AT_NIGHT else list(cases)[::n]
