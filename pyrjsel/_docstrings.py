"""Shared docstring text, filled into placeholders at definition time."""

import textwrap
from collections.abc import Mapping
from types import FunctionType


def filled(text: str, texts: Mapping[str, str]) -> str:
    r"""Replace each line ``<name>`` of a docstring by the text of that name, with the same indentation.

    Parameters
    ----------
    text : str
        The docstring.
    texts : mapping of str to str
        Replacement text by placeholder name; a line whose text is empty is removed.

    Returns
    -------
    str
        The docstring without placeholders.

    Raises
    ------
    KeyError
        If a placeholder has no text.

    Examples
    --------
    >>> filled("Fit.\n\n    <what>", {"what": "A model.\nIts rows."})
    'Fit.\n\n    A model.\n    Its rows.'
    """
    lines = []
    for line in text.split("\n"):
        word = line.strip()
        if not (word.startswith("<") and word.endswith(">")):
            lines.append(line)
        elif texts[word[1:-1]]:
            indent = line[: len(line) - len(line.lstrip())]
            lines += textwrap.indent(texts[word[1:-1]], indent).split("\n")
    return "\n".join(lines)


def fill_inherited(cls: type, base: type, texts: Mapping[str, str]) -> None:
    """Give a class its own docstrings for the public methods that it inherits from a base.

    The methods are wrappers of those of the base, with filled-in docstrings.

    Parameters
    ----------
    cls : type
        The class.
    base : type
        Methods of this class and of the classes between the two are documented.
    texts : mapping of str to str
        As for :func:`filled`.

    Examples
    --------
    >>> class Base:
    ...     def fit(self):
    ...         '''<what>'''
    >>> class Line(Base):
    ...     pass
    >>> fill_inherited(Line, Base, {"what": "Fit a line."})
    >>> Line.fit.__doc__
    'Fit a line.'
    """
    for parent in cls.__mro__[1:]:
        for name, method in vars(parent).items() if issubclass(parent, base) else ():
            function = method.fget if isinstance(method, property) else method
            text = getattr(function, "__doc__", None)  # removed by python -OO
            if (
                name.startswith("_")
                or name in vars(cls)
                or not isinstance(function, FunctionType)
                or not text
            ):
                continue
            told = filled(text, texts)
            if told != text:
                own = _copy(function, told)
                setattr(cls, name, property(own) if isinstance(method, property) else own)


def _copy(function: FunctionType, text: str) -> FunctionType:
    """Return a wrapper of a function with another docstring."""
    found = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    found.__dict__.update(function.__dict__)
    found.__kwdefaults__, found.__annotations__ = function.__kwdefaults__, function.__annotations__
    found.__module__, found.__qualname__, found.__doc__ = function.__module__, function.__qualname__, text
    return found
