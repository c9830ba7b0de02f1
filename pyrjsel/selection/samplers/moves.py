"""Rates of the moves of samplers that walk over models."""

from pyrjsel.model_space import ModelSpace

# Dispersed starts have at most so many free terms: a walk leaves wider ones slowly, a column at a time.
WIDEST_START = 50
# Slot moves a unit of time: free spaces, and those with a budget or a largest size, where at the limit
# flips alone can only take terms out.
SLOTS_FREE, SLOTS_BOUNDED = 1.0, 5.0
# Trades a unit of time: free spaces, those with heredity alone, and those with bounds. Measured on problems
# with two modes: under bounds, three move three times as often as one at 1.6 times the cost of a fit.
TRADES_FREE, TRADES_HEREDITY, TRADES_BOUNDED = 0.0, 1.0, 3.0


def default_trades(space: ModelSpace) -> float:
    """Return the trades a unit of time where their number is left to us."""
    if space.bounded:
        return TRADES_BOUNDED
    return TRADES_HEREDITY if space.heredity is not None and len(space.parent) else TRADES_FREE


def counted_moves(families: float, trades: float) -> list[int]:
    """Return the numbers of the moves that a walk makes, by the rates of those that it may lack."""
    return [0, 1, *([2] if families else []), *([3] if trades else [])]
