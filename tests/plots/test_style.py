"""Looks: no two methods share one, and a stranger's look does not change."""

from pianobench.algorithms import SOLVERS
from pianobench.plots import style

GREYS = {style._DARK, style._LIGHT}


def test_every_registered_method_has_a_look_of_its_own() -> None:
    looks = [style.look(key) for key in SOLVERS]
    assert not {look.colour for look in looks} & GREYS
    assert len(set(looks)) == len(looks)


def test_peers_are_grey_and_each_has_a_look_of_its_own() -> None:
    looks = [style.look(name + ending) for name in style._PEERS for ending in ("", style._AT_ITS_BEST)]
    assert {look.colour for look in looks} == GREYS
    assert len(set(looks)) == len(looks)
    assert len({(look.line, look.marker) for look in looks}) == len(style._PEERS)


def test_no_two_listed_methods_can_be_confused_in_grey() -> None:
    for _, members in style._FAMILIES:
        marks = {(style.look(key).line, style.look(key).marker) for key in members}
        assert len(marks) == len(members)


def test_a_method_that_is_not_ours_is_grey_and_always_the_same() -> None:
    assert style.look("mine.py:Mine") == style.look("mine.py:Mine")
    assert style.look("mine.py:Mine").colour in GREYS


def test_variants_of_a_method_differ_in_their_line_alone() -> None:
    looks = [style.look("lbfgs", variant) for variant in range(4)]
    assert len({look.line for look in looks}) == 4
    assert {(look.colour, look.marker) for look in looks} == {(looks[0].colour, looks[0].marker)}


def test_legends_keep_families_together_and_strangers_last() -> None:
    keys = sorted(["mine.py:Mine", "cyanure", "sklearn-lbfgs", "owl-qn", "piano", "lbfgs"], key=style.position)
    assert keys == ["piano", "lbfgs", "owl-qn", "sklearn-lbfgs", "cyanure", "mine.py:Mine"]
