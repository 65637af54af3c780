"""Quantities in the server's sentences read as those of the page do."""

import pytest
from compilemask_studio.services.quantities import duration, percent


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0.00642, "6.42 µs"), (0.0999, "99.9 µs"), (0.1, "0.1 ms"), (12.345, "12.3 ms")]
)
def test_durations_have_three_digits_and_the_unit_that_needs_no_zeros(milliseconds: float, text: str) -> None:
    assert duration(milliseconds) == text


@pytest.mark.parametrize(
    ("share", "sign", "text"), [(0.347, "", "35 %"), (3.41, "", "341 %"), (0.12, "+", "+12 %"), (-0.3, "+", "-30 %")]
)
def test_percent_stands_behind_a_space(share: float, sign: str, text: str) -> None:
    assert percent(share, sign) == text
