"""Finds the groups of patterns."""

from pyrjsel.patterns.features import Features
from pyrjsel.patterns.groups import Groups
from pyrjsel.patterns.reference import enumerate_groups


def find_groups(features: Features, compress: bool = True) -> Groups:
    """Return the groups of the patterns that the cases express.

    Parameters
    ----------
    features : Features
        n cases.
    compress : bool, default True
        Whether patterns with the same cases share a group.

    Returns
    -------
    Groups
        Group 0 has all the cases.
    """
    return enumerate_groups(features, compress)
