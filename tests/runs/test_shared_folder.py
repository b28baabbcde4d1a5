"""Folders of runs that several containers share, and publishers that are killed: ``acceptance/shared_folder.py``."""

import pytest
from acceptance.shared_folder import (
    COMMON,
    EACH,
    KILLS,
    NAMESPACES,
    PUBLISHERS,
    REPLACED,
    RUNS,
    count_after_kills,
    count_whole,
    publish_from_namespaces,
    why_not,
)


@pytest.mark.slow
@pytest.mark.parametrize("common", [False, True], ids=["different names", "the same names"])
def test_every_run_that_containers_publish_is_there_and_whole(tmp_path, common):
    if why := why_not():
        pytest.skip(why)
    reported = publish_from_namespaces(tmp_path, common=common)
    assert len(reported) == NAMESPACES * PUBLISHERS * (COMMON if common else EACH)
    assert count_whole(tmp_path) == (COMMON if common else RUNS, 0)
    assert {path.name for path in tmp_path.iterdir()} == {*reported}


@pytest.mark.kill
def test_publishers_killed_at_any_moment_damage_nothing(tmp_path):
    left, harmed = count_after_kills(tmp_path)
    assert left, f"none of {KILLS} kills left a draft: nothing was tested"
    assert harmed == 0
    assert count_whole(tmp_path) == (REPLACED + 1, 0)
