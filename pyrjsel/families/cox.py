"""The partial likelihood of Cox's proportional hazards."""

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_choice, check_real
from pyrjsel.families._cox import COX
from pyrjsel.families._family import Passes
from pyrjsel.families.family import Values, share
from pyrjsel.families.poisson import LogLink
from pyrjsel.families.statistics import Statistic

TIES = ("efron", "breslow")
# Precision of the intercept, on which the partial likelihood does not depend: draws of it change linear
# predictors by 1e-6.
PRECISION = 1e12
# Fitted log hazard ratios above this may be diverging to infinity: the search for a maximum stops when a step
# gains less than 1e-9, at ratios near exp(20).
SPAN = 15.0
# Times that differ by at most this multiple of the mean time are equal, as in R's `survival`.
CLOSE = 1.5e-8


@dataclass(frozen=True)
class RiskSets:
    """Events with their risk sets, in decreasing order of time.

    Attributes
    ----------
    order : ndarray of int64 (n,)
        Positions of the rows, in decreasing order of time; events last among rows of the same time.
    event : bool array (n,)
        In this order.
    last, first : ndarray of int64 (m,)
        Of each event: the place of the last and the first row of its time.
    share : ndarray (m,)
        Proportion of the events at this time that have left the risk set.
    """

    order: IntArray
    event: BoolArray
    last: IntArray
    first: IntArray
    share: FloatArray

    @classmethod
    def of(cls, y: FloatArray, efron: bool) -> "RiskSets":
        """Return those of a response."""
        order = in_order(y)
        time, event = -np.abs(y[order]), y[order] > 0
        first, end = (np.searchsorted(time, time[event], side=side) for side in ("left", "right"))
        before = np.cumsum(event)[end - 1]  # events up to and at this time
        _, count = np.unique(end, return_counts=True)
        d = np.repeat(count, count)
        rank = np.arange(d.size) - (before - d)
        return cls(order, event, end - 1, first, rank / d if efron else np.zeros(d.size))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return sums (m, ...) of `values` (n, ...), in order, over the risk set of each event."""
        total = np.cumsum(values, axis=0)[self.last]
        if not self.share.any():
            return total
        own = np.cumsum(np.where(self._column(self.event, values), values, 0.0), axis=0)
        tied = own[self.last] - np.where(self._column(self.first > 0, values), own[self.first - 1], 0.0)
        return total - self._column(self.share, values) * tied

    def log_sums(self, eta: FloatArray) -> FloatArray:
        """Return logarithms (m, k) of sums of exp(eta) (n, k), in order, over the risk set of each event."""
        # mathematics: selection-cox
        total = np.logaddexp.accumulate(eta, axis=0)[self.last]
        if not self.share.any():
            return total
        begin = np.flatnonzero(np.diff(self.last, prepend=-1))  # the first event of each time
        tied = np.logaddexp.reduceat(eta[self.event], begin, axis=0)
        own = np.repeat(tied, np.diff(begin, append=self.last.size), axis=0)
        return np.asarray(total + np.log1p(-self.share[:, None] * np.exp(own - total)))

    def since(self, values: FloatArray) -> FloatArray:
        """Return, by row in order, sums (n,) of `values` (m,) over the risk sets, by the row's share."""
        at, less = np.zeros((2, self.event.size))
        np.add.at(at, self.last, values)
        np.add.at(less, self.last, self.share * values)
        total = np.cumsum(at[::-1])[::-1]
        total[self.event] -= less[self.last]
        return total

    @staticmethod
    def _column(each: np.ndarray, values: FloatArray) -> np.ndarray:
        return each.reshape(-1, *[1] * (values.ndim - 1))


def in_order(y: FloatArray) -> IntArray:
    """Return the order of :class:`RiskSets` (n,)."""
    return np.lexsort((y > 0, -np.abs(y)))


def tied_times(time: FloatArray) -> FloatArray:
    """Return times (n,) with those that are equal up to rounding made equal: the smallest of them.

    Two whole numbers are never made equal: they are counts of days or the like, and have no rounding errors.
    """
    known, place = np.unique(time, return_inverse=True)
    apart = np.diff(known) > CLOSE * np.mean(np.abs(time))
    whole = known == np.floor(known)
    first = np.concatenate([[True], apart | (whole[1:] & whole[:-1])])
    return np.asarray(known[first][np.cumsum(first) - 1][place])


def nearest_times(at: FloatArray, time: FloatArray) -> FloatArray:
    """Return times `at` (k,); those equal to one of the data, `time` (n,), up to rounding, are that one."""
    known = np.unique(time)
    middle = 0.5 * (known[1:] + known[:-1])
    nearest = known[np.searchsorted(middle, at)]
    close = np.abs(nearest - at) <= CLOSE * np.mean(np.abs(time))
    whole = (at == np.floor(at)) & (nearest == np.floor(nearest))
    return np.where(close & ~whole, nearest, at)


def survival_response(time: FloatArray, event: FloatArray, response: str) -> FloatArray:
    """Return the response of the family: the time of an event, and minus the time of a censored row.

    Times that are equal up to rounding are made equal.

    Raises
    ------
    DataError
        If times are not positive, `event` is not 0 or 1, or there is no event.
    """
    if time.size == 0:
        raise DataError("There are no rows to fit: the data are empty.")
    low = time <= 0
    if low.any():
        raise DataError(
            f"The times {response!r} must be above 0. Got {time[low][0]:g} "
            f"({low.sum():,} value(s) like this)."
        )
    odd = (event != 0) & (event != 1)
    if odd.any():
        raise DataError(
            f"The 'event' of {called()} must be 1 for events and 0 for censored times. Got {event[odd][0]:g} "
            f"({odd.sum():,} value(s) like this); write the events as a comparison, such as "
            f"event=data['status'] == {event.max():g}."
        )
    if not event.any():
        raise DataError(f"The 'event' of {called()} must be 1 in at least one row. Got only censored times.")
    time = tied_times(time)
    return np.where(event == 1, time, -time)


def _no_response(what: str) -> NoReturn:
    raise NotAvailableError(
        f"A partial likelihood has no distribution of times: {called()} has no {what} for Cox models. Their "
        "predictions have survival curves: get_prediction(new).survival(times)."
    )


@dataclass(frozen=True)
class Cox(LogLink):
    """Times to events, possibly censored, with proportional hazards: Cox's partial likelihood.

    The response is the time of an event, and minus the time of a censored row. With x_i the columns of the
    row with the i-th event and R_i the rows at risk then, the log-likelihood is the sum of ``eta_i - log(sum
    of exp(eta) over R_i)``. It does not depend on the intercept, which is 0 up to 1e-6 and is not shown.

    Parameters
    ----------
    ties : {"efron", "breslow"}
        Approximation for events at the same time.
    centre : float
        Mean offset of the rows, on which the likelihood does not depend: predictions are relative to it.
    """

    ties: str = "efron"
    centre: float = field(default=0.0, compare=False, repr=False)

    name: ClassVar[str] = "cox"
    passes: ClassVar[Passes] = COX
    apart: ClassVar[str] = "The order of events is predicted perfectly"
    error_name: ClassVar[str] = "concordance"
    combines: ClassVar[bool] = False
    whole: ClassVar[str] = (
        "the partial likelihood is not a sum over rows, since each event is compared with the rows at risk "
        "of all chunks"
    )
    independent: ClassVar[bool] = False
    has_intercept: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choice(self.ties, "ties", TIES)
        check_real(self.centre, "centre")

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) is usable."""
        survival_response(np.abs(y), (y > 0).astype(float), response)

    def observations(self, y: FloatArray, weights: FloatArray | None) -> float:
        """Return the number of events."""
        return float(np.sum(y > 0))

    def order(self, y: FloatArray) -> IntArray:
        """Return the order of rows (n,) that the passes need."""
        return in_order(y)

    def _sets(self, y: FloatArray) -> RiskSets:
        return RiskSets.of(y, self.ties == "efron")

    def rows(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Return indicators of events, weights with the times of events behind them, and the centred offset.

        Rows are in order.
        """
        last, events = np.unique(self._sets(y).last, return_counts=True)
        head = [last.size, float(self.ties == "efron"), PRECISION]
        w = np.concatenate([np.ones(y.size), head, last + 1, events]).astype(float)
        return (y > 0).astype(float), w, offset - offset.mean()

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the relative hazard, the information on eta for a unit of cumulative baseline hazard."""
        return mean

    def null_intercept(self, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None) -> float:
        """Return that of a mean linear predictor of 0."""
        return 0.0 if offset is None else -float(offset.mean())

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return 0, the start of mode searches."""
        return 0.0

    def working(self, y: FloatArray, eta: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return martingale residuals and expected numbers of events (n,)."""
        sets = self._sets(y)
        e = np.exp(eta[sets.order] - eta.max())
        expected = np.empty(y.size)
        expected[sets.order] = e * sets.since(1.0 / sets.sums(e))
        return (y > 0) - expected, expected

    def pooled(self, columns: FloatArray, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Return means of `columns` (D, n) over the risk set of each event, (D, events)."""
        sets = self._sets(y)
        e = np.exp(eta[sets.order] - eta.max())
        return np.asarray((sets.sums(e[:, None] * columns[:, sets.order].T) / sets.sums(e)[:, None]).T)

    def information(
        self, columns: FloatArray, y: FloatArray, eta: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return the information (D, D), with that of the prior of the mean linear predictor."""
        mean = columns.mean(axis=1)
        return super().information(columns, y, eta, weights) + PRECISION * np.outer(mean, mean)

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log partial likelihood."""
        return float(self.log_density(y, eta[:, None], np.ones(y.size), {}).sum())

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return 0, the log-likelihood of events whose order is certain."""
        return 0.0

    def log_constant(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return that of the density of the intercept."""
        return 0.5 * float(np.log(PRECISION / (2.0 * np.pi)))

    def recession(self, y: FloatArray) -> FloatArray:
        """Return zeros: eta of a single row cannot go to infinity by itself."""
        return np.zeros(y.size)

    def recession_rows(self, y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return differences between the row of an event and those at risk, which need not be larger.

        An event must have the largest linear predictor of its risk set. It is compared with the event of the
        last time before, in decreasing order, and the rows that joined the risk set since; events at one time
        are equal.
        """
        sets = self._sets(y)
        x = x[sets.order]
        place = np.flatnonzero(sets.event)
        ends = np.unique(sets.last)
        own = np.searchsorted(ends, np.arange(int(ends[-1]) + 1))  # the time at which a row joins
        lead = place[np.searchsorted(sets.last, ends)]  # an event of each time
        tied = place[place != lead[own[place]]]
        joined = np.setdiff1d(np.arange(own.size), place)
        outer = [x[lead[own[joined]]] - x[joined], x[lead[1:]] - x[lead[:-1]]]
        return np.concatenate(outer), x[lead[own[tied]]] - x[tied]

    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether the largest fitted log hazard ratio may be diverging to infinity."""
        return largest - smallest > SPAN

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Raise :class:`NotAvailableError`."""
        _no_response("intervals of responses")

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Raise :class:`NotAvailableError`."""
        _no_response("simulated responses")

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log probabilities (rows, m) that of rows at risk this one has the event; 0 if censored."""
        sets, out = self._sets(y), np.zeros(eta.shape)
        rows = sets.order[sets.event]
        if rows.size:
            out[rows] = eta[rows] - sets.log_sums(eta[sets.order])
        return out

    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Raise :class:`NotAvailableError`."""
        _no_response("predictive checks")

    def error(self, y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
        """Return Harrell's concordance index of hazards `mean` (rows,); NaN without comparable pairs.

        The proportion of pairs of an event and a row at risk after it in which the event has the larger
        hazard.
        """
        time, event = np.abs(y), y > 0
        right = pairs = 0.0
        for i in np.flatnonzero(event):
            after = (time > time[i]) | ((time == time[i]) & ~event)
            pairs += float(after.sum())
            right += float((mean[after] < mean[i]).sum()) + 0.5 * float((mean[after] == mean[i]).sum())
        return right / pairs if pairs else float("nan")

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the numbers of events and of distinct times of events."""
        times = y[y > 0]
        distinct = np.unique(times).size
        found = [("Events", share(times.size, y.size))]
        return [*found, ("Ties", self.ties)] if distinct < times.size else found
