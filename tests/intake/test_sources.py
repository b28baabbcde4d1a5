"""Tables that a user gives, by name or not."""

import pytest

import gnomon
from gnomon.core.errors import InputError
from gnomon.intake.sources import named


def test_a_text_that_no_path_can_be_is_taken_as_it_is():
    long = "x" * 5000
    assert named(f"mine={long}") == ("mine", long)
    assert named("a\0=b") == ("a\0", "b")


@pytest.mark.parametrize("suite", ["change"])
def test_results_in_memory_are_refused_where_only_files_are_read(suite, tmp_path):
    results = {f"r{number}": [{"t1": 0, "t2": 1, "label": "a"}] for number in range(999)}
    with pytest.raises(InputError, match="expected the path of a file or folder for 'p', but got a dict in memory"):
        gnomon.score(suite, str(tmp_path), {"p": results})
