"""Columns are told apart exactly, whether their digits fit one integer or not."""

import numpy as np
import pytest

from compilemask.lowering.tables import _distinct_columns


@pytest.mark.parametrize("largest", [1, 3, 2**40, 2**58])
@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_columns_are_given_back(largest: int, always: bool, rows: int) -> None:
    rng = np.random.default_rng(rows)
    few = rng.integers(-largest, largest, (rows, 7), endpoint=True)
    for table in (few[:, rng.integers(0, 7, 300)], rng.integers(-largest, largest, (rows, 300), endpoint=True)):
        columns, number = _distinct_columns(table, always)
        np.testing.assert_array_equal(columns[:, number], table)
        if always:
            assert columns.shape[1] == len({tuple(column) for column in table.T.tolist()})
