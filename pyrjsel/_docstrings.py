"""Shared docstring text, filled into placeholders at definition time."""

import inspect
import re
import textwrap
from collections.abc import Mapping
from types import FunctionType
from typing import TypeVar

Class = TypeVar("Class", bound=type)

# The text of entries whose text is that of the class.
AS_CLASS = "    As for the class."


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


def repeat_parameters(cls: Class) -> Class:
    """Repeat the parameters of a class in its other constructors, where they are "As for the class.".

    Parameters
    ----------
    cls : type
        The class. Constructors that it inherits are wrapped.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> @repeat_parameters
    ... class Line:
    ...     '''A line.
    ...
    ...     Parameters
    ...     ----------
    ...     slope : float
    ...         Its slope.
    ...     '''
    ...
    ...     @classmethod
    ...     def steep(cls, slope):
    ...         '''Make a line.
    ...
    ...         Parameters
    ...         ----------
    ...         slope : optional
    ...             As for the class.
    ...         '''
    >>> Line.steep.__doc__.split()[-3:]
    ['float', 'Its', 'slope.']
    """
    told = _entries(inspect.cleandoc(cls.__doc__ or ""))
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        text = method.__func__.__doc__ if isinstance(method, classmethod) else None
        if told and text and AS_CLASS in text:
            function = _copy(method.__func__, f"{_repeated(inspect.cleandoc(text), told)}\n")
            setattr(cls, name, classmethod(function))
    return cls


def _entries(text: str) -> dict[str, str]:
    """Return the entries of the parameters and errors of a docstring, by name."""
    found: dict[str, str] = {}
    for section in re.findall(r"^(?:Parameters|Raises)\n-+\n((?:.+\n?)*)", text, re.MULTILINE):
        for entry in re.findall(r"^\S.*(?:\n +.*)*", section, re.MULTILINE):
            found.update((name, entry) for name in _names(entry))
    return found


def _names(entry: str) -> list[str]:
    return re.split(r", ", re.split(r" : |\n", entry, maxsplit=1)[0])


def _repeated(text: str, told: Mapping[str, str]) -> str:
    """Return a docstring in which each entry "As for the class." is that of the class."""

    def entry(found: re.Match[str]) -> str:
        names = _names(found[0])
        return "\n".join(dict.fromkeys(told.get(name, f"{name}\n{AS_CLASS}") for name in names))

    return re.sub(rf"^\S.*\n{re.escape(AS_CLASS)}$", entry, text, flags=re.MULTILINE)


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
