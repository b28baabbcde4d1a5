"""The watch that fails every browser test on an error of a page."""

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("setTimeout(() => { throw new Error('thrown') })", "thrown"),
        ("Promise.reject(new Error('rejected')) && undefined", "rejected"),
        ("console.error('told')", "told"),
        ("console.warn('warned')", "warned"),
        ("fetch('/nothing').then(() => undefined)", "404"),
    ],
)
def test_errors_of_a_page_fail_a_test(page, dashboard, script, said):
    page.goto(dashboard)
    page.evaluate(script)
    page.wait_for_timeout(200)
    with pytest.raises(AssertionError, match=said):
        page.watch.check()
    page.watch.expected = (said,)
