"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from pianobench import MultinomialLogisticRegression, MultinomialLogisticRegressionCV

# Checks that an estimator is exempt from, each with its reason. There is none.
EXEMPT: dict[str, str] = {}

CHECKED = [
    MultinomialLogisticRegression(),
    MultinomialLogisticRegression("l1"),
    MultinomialLogisticRegressionCV(lams=[10.0, 1.0], cv=2),
]


def name_of(check: Any) -> str:
    return str(getattr(check, "func", check).__name__)


@pytest.mark.filterwarnings("ignore:Skipping check")
@pytest.mark.parametrize("estimator", CHECKED, ids=["l2", "l1", "cv"])
def test_the_checks_of_scikit_learn(estimator: Any) -> None:
    passed, left_out = 0, []
    for own, check in estimator_checks_generator(estimator, expected_failed_checks=EXEMPT, mark="skip"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some checks provoke scikit-learn's own
            try:
                check(own)
            except pytest.skip.Exception:
                raise
            except Exception as error:
                if type(error).__name__ != "SkipTest":
                    raise AssertionError(f"{name_of(check)}: {error}") from error
                left_out.append(name_of(check))
            else:
                passed += 1
    assert left_out in ([], ["check_array_api_input"])  # asks for SCIPY_ARRAY_API=1
    assert passed >= 60
