"""Rates of the moves of samplers that walk over models."""

from pyrjsel.model_space import ModelSpace

# Dispersed starts have at most so many free terms: a walk leaves wider ones slowly, a column at a time.
WIDEST_START = 50
# Swaps a unit of time: free spaces, and those with a budget or a largest size, where at the limit flips alone
# can only take terms out.
SWAPS_FREE, SWAPS_BOUNDED = 1.0, 5.0
# Trades a unit of time: spaces with heredity alone, and those with bounds. Measured on problems with two
# modes: under bounds, three move three times as often as one at 1.6 times the cost of a fit. On free spaces
# FREE over the number of free terms, MOST_FREE at most: flips and swaps do there, but for columns that nearly
# depend on a few others, and a trade looks at all terms several times. Of 500 and 5,000 terms these take 1 %
# of the time.
TRADES_HEREDITY, TRADES_BOUNDED = 1.0, 3.0
MOST_FREE, FREE = 0.5, 10.0


def default_swaps(space: ModelSpace) -> float:
    """Return the swaps a unit of time where their number is left to us."""
    return SWAPS_BOUNDED if space.bounded else SWAPS_FREE


def default_trades(space: ModelSpace) -> float:
    """Return the trades a unit of time where their number is left to us."""
    if space.bounded:
        return TRADES_BOUNDED
    if space.heredity is not None and len(space.parent):
        return TRADES_HEREDITY
    return min(MOST_FREE, FREE / max(1, int(space.free.sum())))


def counted_moves(blocks: float, trades: float) -> list[int]:
    """Return the numbers of the moves that a chain makes, by the rates of those that it may lack."""
    return [0, 1, *([2] if blocks else []), *([3] if trades else [])]
