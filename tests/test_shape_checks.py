"""The checks of shapes and types that the import hook puts around the package, made cheap."""

from dataclasses import dataclass

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from tests.shape_checks import jaxtyped, shapes_checked
from viz_encoder.model.attention import attention_weights
from viz_encoder.trace.intercept import Interceptor

LATER = "Later"


def checked(function):
    return jaxtyped(typechecker=beartype)(function)


def wrong(call, *given, **named):
    with pytest.raises(TypeCheckError):
        call(*given, **named)


def of_one_size(x: Float[Tensor, "row col"], y: Float[Tensor, " col"], n: int = 2) -> Tensor:
    return x + y + n


def transposed(x: Float[Tensor, "row col"], *, wrong: bool = False) -> Float[Tensor, "col row"]:
    return x if wrong else x.mT


def of_later(x: "NotYet | None", n: int) -> "LATER":  # noqa: F821
    return x


def by_size(n: int) -> Float[Tensor, "{n}"]:  # noqa: F821
    return torch.zeros(3)


def rows(x: Float[Tensor, "row col"], n: int):
    yield from x[:n]


@dataclass(frozen=True)
class Held:
    x: Float[Tensor, "row col"]
    y: Float[Tensor, "row col"]


X = torch.zeros(3, 4)


def test_sizes_must_agree_among_arguments_and_with_the_result():
    found = checked(of_one_size)
    assert found(X, torch.ones(4), n=1).eq(2).all() and found(X, y=torch.ones(4)).shape == (3, 4)
    for given in ((X, torch.ones(3)), (X[0], torch.ones(4)), (X.long(), torch.ones(4))):
        wrong(found, *given)
    wrong(found, X, torch.ones(4), n="2")
    assert checked(transposed)(X).shape == (4, 3)
    wrong(checked(transposed), X, wrong=True)


def test_hints_of_every_kind():
    assert checked(of_later)("anything", 1) == "anything"
    wrong(checked(of_later), None, "1")
    assert checked(by_size)(3).shape == (3,)
    wrong(checked(by_size), 4)
    assert len(list(checked(rows)(X, 2))) == 2
    with pytest.raises(TypeCheckError):
        list(checked(rows)(X[0], 2))


def test_the_fields_of_a_dataclass():
    kind = checked(Held)
    assert kind(X, y=X).x is X
    for given in (X.mT, X[0], None):
        wrong(kind, X, given)


def test_checks_are_off_where_they_are_switched_off():
    with shapes_checked(False):
        assert checked(transposed)(X, wrong=True) is X
    wrong(checked(transposed), X, wrong=True)


def test_the_package_is_checked_so():
    assert Interceptor.tell.__code__.co_filename == jaxtyped.__code__.co_filename
    q = torch.zeros(1, 2, 3, 4)
    wrong(attention_weights, q, q[..., :3], None, 1.0)


def test_a_function_inside_another_is_checked_each_time_and_keeps_its_own_values():
    def made(factor):
        def scaled(x: Float[Tensor, "row col"], n: int = 2) -> Float[Tensor, "row col"]:
            return factor * n * x if factor else x.mT

        return checked(scaled)

    twice, thrice, turned = made(2), made(3), made(0)
    assert twice(X + 1).eq(4).all() and thrice(X + 1, n=1).eq(3).all()
    for function, given in ((twice, (X[0],)), (thrice, (X, "n")), (turned, (X,))):
        wrong(function, *given)
