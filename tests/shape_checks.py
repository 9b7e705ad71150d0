"""What jaxtyping's import hook puts around each function, at a tenth of its cost a call.

jaxtyping binds the arguments to the signature and checks them by one function, then all again with
the result by another. Here beartype's one wrapper checks arguments and result, in a context of
axis sizes of its own as well. Import this before the package.
"""

import functools
import inspect
import io
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import TypeCheckError
from torch.compiler import is_dynamo_compiling

theirs = jaxtyping.jaxtyped
AXES = theirs("context")
config = jaxtyping.config
CONF = BeartypeConf(violation_type=TypeCheckError)
INNER: dict[Any, Callable[..., Any]] = {}  # by code and hints
CALLED = "__beartype_func"  # the argument by which beartype's code knows the function it calls


def jaxtyped(given: Any = None, *, typechecker: Any = None) -> Any:
    """The decorator: a function's own check; what is no plain function is left to jaxtyping."""
    if given is None:
        return functools.partial(jaxtyped, typechecker=typechecker)
    if given == "context":
        return AXES
    if inspect.isclass(given):
        return _of_class(given)
    generator = inspect.isgeneratorfunction(given)  # beartype would look at what it yields
    hints = getattr(given, "__annotations__", {})
    if generator and hints.keys() <= {"return"}:
        return given  # an iterator it is, and nothing else is said
    by_argument = any("{" in str(hint) for hint in hints.values())  # an axis such as {n_heads}
    if not inspect.isfunction(given) or generator or by_argument:
        return theirs(given, typechecker=typechecker)
    return _of_function(given)


@contextmanager
def shapes_checked(wanted: bool) -> Iterator[None]:
    """Whether shapes and types are checked inside a with block."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", not wanted)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)


def _of_class(given: type) -> type:
    if "__dataclass_fields__" in vars(given) and "__init__" in vars(given):
        given.__init__ = _of_function(given.__init__)
    return given


def _of_function(given: Callable[..., Any]) -> Callable[..., Any]:
    checked = _checked(given)

    @functools.wraps(given)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        # Dynamo traces what it compiles, and cannot enter a context of jaxtyping.
        if config.jaxtyping_disable or is_dynamo_compiling():
            return given(*args, **kwargs)
        with AXES:
            try:
                return checked(*args, **kwargs)
            except TypeCheckError as fault:
                _note_axes(fault)
                raise

    return wrapped


def _checked(given: Callable[..., Any]) -> Callable[..., Any]:
    """What beartype makes of it; of a function inside another, what it made of it the first time.

    It writes and compiles code, which takes milliseconds, and such a function is made at each call.
    """
    if "<locals>" not in given.__qualname__:
        return beartype(_with_known_hints(given), conf=CONF)
    key = given.__code__, str(given.__annotations__)
    if key not in INNER:
        INNER[key] = beartype(_with_known_hints(_hollow(given)), conf=CONF)
    first = INNER[key]
    if CALLED not in (first.__kwdefaults__ or {}):  # nothing to check
        return given
    again = types.FunctionType(first.__code__, first.__globals__, first.__name__)
    again.__kwdefaults__ = {**first.__kwdefaults__, CALLED: given}
    return again


def _hollow(given: Callable[..., Any]) -> Callable[..., Any]:
    """The function without what it holds, which is not to be kept."""
    cells = tuple(types.CellType() for _ in given.__closure__ or ())
    empty = types.FunctionType(given.__code__, given.__globals__, given.__name__, None, cells)
    empty.__qualname__, empty.__module__ = given.__qualname__, given.__module__
    empty.__annotations__ = given.__annotations__
    return empty


def _with_known_hints(given: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its hints as objects; a name that is not defined yet becomes Any."""
    copied = types.FunctionType(
        given.__code__, given.__globals__, given.__name__, given.__defaults__, given.__closure__
    )
    copied.__kwdefaults__, copied.__qualname__ = given.__kwdefaults__, given.__qualname__
    copied.__module__ = given.__module__
    hints = given.__annotations__
    copied.__annotations__ = {name: _known(hint, given) for name, hint in hints.items()}
    return copied


def _known(hint: Any, given: Callable[..., Any]) -> Any:
    def stub(value: hint) -> None: ...

    try:
        return get_type_hints(stub, given.__globals__, include_extras=True)["value"]
    except Exception:  # jaxtyping's rule, too
        return Any


def _note_axes(fault: TypeCheckError) -> None:
    with redirect_stdout(io.StringIO()) as said:
        jaxtyping.print_bindings()
    if said.getvalue().strip() and not hasattr(fault, "__notes__"):
        fault.add_note(said.getvalue())


jaxtyping.jaxtyped = jaxtyped
