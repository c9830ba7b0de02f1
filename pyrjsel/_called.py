"""The user's call, read from the stack: its name for errors, and its line for warnings."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

PACKAGE = __name__.partition(".")[0]
# Frames of libraries that call back into this package are passed over, wherever they are installed.
LIBRARIES = sys.stdlib_module_names | {
    *("arviz", "dask", "distributed", "joblib", "matplotlib", "numpy", "pandas", "patsy"),
    *("scipy", "sklearn", "statsmodels", "threadpoolctl", "tqdm"),
}
CONSTRUCTORS = {"__init__", "__post_init__", "__new__", "from_formula"}

_given: ContextVar[str | None] = ContextVar("_given", default=None)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Context manager: what runs inside goes by this name instead of that of the user's call.

    Parameters
    ----------
    name : str
        Such as ``"sampler='gibbs'"``, for the options that only this sampler has.

    Yields
    ------
    None
        While the name holds.
    """
    token = _given.set(name)
    try:
        yield
    finally:
        _given.reset(token)


def called() -> str:
    """Return the name of the function that the user called.

    It is the outermost function of this package on the stack, up to the first frame of the user's own code.
    A constructor goes by its class, and a method by its own name; methods of a class that has a ``fit`` have
    the class in front. A public dataclass that checks its own fields goes by its class wherever it is made.

    Returns
    -------
    str
        Such as ``"LinearSelection.fit"``, ``"Normal"`` or ``"plot_models"``.
    """
    given = _given.get()
    if given is not None:
        return given
    name = PACKAGE
    for frame in inside(sys._getframe(1)):
        if _is_ours(frame):
            name = _name(frame) or name
            if frame.f_code.co_name == "__post_init__" and hasattr(sys.modules[PACKAGE], name):
                break
    return name


def inside(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and those that led to it, up to the user's own code.

    Parameters
    ----------
    frame : frame or None
        Where the stack begins.

    Yields
    ------
    frame
        Of this package, or of a library that lies between.
    """
    while frame is not None and (_is_ours(frame) or _library(frame) in LIBRARIES):
        yield frame
        frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    """Say whether a frame belongs to this package; constructors of dataclasses have no file."""
    return _library(frame) == PACKAGE


def _library(frame: FrameType) -> str:
    """Return the name of the library whose code runs in a frame, empty if it has none."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _name(frame: FrameType) -> str:
    """Return the name that a frame's function has for users, empty if it has none."""
    name, me = frame.f_code.co_name, frame.f_locals.get("self", frame.f_locals.get("cls"))
    kind = me if isinstance(me, type) else type(me)
    if me is not None and name in CONSTRUCTORS:
        return kind.__name__
    if "<" in frame.f_code.co_qualname or name.startswith("__"):
        return ""  # a comprehension, a function inside another, a descriptor
    return f"{kind.__name__}.{name}" if hasattr(kind, "fit") else name


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the innermost line of the user's own code on the stack.

    Parameters
    ----------
    message : str
        What is to be said.
    category : type
        A class of warnings of :mod:`pyrjsel`.
    """
    warnings.warn(message, category, stacklevel=1 + sum(1 for _ in inside(sys._getframe())))
