"""Looks: no two methods share one, and a stranger's look does not change."""

from pianobench.algorithms import SOLVERS
from pianobench.plots import style


def test_every_registered_method_has_a_look_of_its_own() -> None:
    looks = [style.look(key) for key in SOLVERS]
    assert style._OTHERS not in {look.colour for look in looks}
    assert len(set(looks)) == len(looks)


def test_no_two_listed_methods_can_be_confused_in_grey() -> None:
    for _, members in style._FAMILIES:
        marks = {(style.look(key).line, style.look(key).marker) for key in members}
        assert len(marks) == len(members)


def test_a_method_that_is_not_ours_is_grey_and_always_the_same() -> None:
    assert style.look("mine.py:Mine") == style.look("mine.py:Mine")
    assert style.look("mine.py:Mine").colour == style._OTHERS
