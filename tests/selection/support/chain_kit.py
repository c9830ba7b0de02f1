"""Chains that are started, advanced in blocks and compared."""

import numpy as np


def start(job, chain=1):
    """The chain of that number at its first state."""
    return job.start(np.random.SeedSequence(5), chain)


def advance(runner, blocks):
    """The chain after iterations in blocks of these lengths."""
    for n in blocks:
        runner.advance(n)
    return runner


def draws_of(*parts):
    """The draws of one chain that several runners made one after another."""
    found = [part.finish(True) for part in parts]
    return {
        "words": np.concatenate([part.words[part.index] for part in found]),
        "log_posterior": np.concatenate([part.log_posterior for part in found]),
        "coefficients": np.concatenate([part.coefficients for part in found]),
    }


def check_equal(one, other):
    """Hold draws against others, to the bit."""
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)
