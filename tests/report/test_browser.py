"""A report in a browser, from a file: nothing is loaded, the policy holds, tables sort, downloads arrive.

Expected values: the scores of the runs; by hand.
"""

import csv
import re

import pytest

import gnomon
from gnomon.report import page as reporting

pytestmark = pytest.mark.browser
pytest.importorskip("vl_convert")
ORDER = "() => [...document.querySelectorAll('#scores-scores tbody tr')].map(row => row.cells[0].textContent)"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    ids = list(range(60))
    truth = {"id": ids, "label": [("sit", "walk", "run")[n % 3] for n in ids], "group": [f"p{n % 10}" for n in ids]}
    systems = {
        "best <b>": {"id": ids, "label": truth["label"]},
        "good": {"id": ids, "label": [x if n % 7 else "sit" for n, x in enumerate(truth["label"])]},
        "poor": {"id": ids, "label": [x if n % 2 else "run" for n, x in enumerate(truth["label"])]},
    }
    folder = tmp_path_factory.mktemp("report")
    result = gnomon.score("labels", truth, systems)
    reporting.write(result, folder / "one.html")
    reporting.write(result, folder / "many")
    return folder, result


@pytest.fixture
def shown(opened):
    """A function that opens a file at a width in a colour scheme; a report asks no host, not even this one."""
    pages = []

    def show(path, width=1280, scheme="light"):
        page = opened(width, dark=scheme == "dark")
        pages.append(page)
        page.goto(path.resolve().as_uri())
        return page

    yield show
    for page in pages:
        assert page.watch.hosts <= {None, ""}


@pytest.mark.parametrize("name", ["one.html", "many/index.html"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways_and_follows_the_scheme(shown, written, name, width, scheme):
    page = shown(written[0] / name, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.querySelector('.figure svg text')).fill")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert ink == page.evaluate("getComputedStyle(document.body).color")


def test_a_table_sorts_by_click_and_by_keyboard(shown, written):
    folder, result = written
    page = shown(folder / "one.html")
    scores = {name: own["accuracy"] for name, own in result.scores.items()}
    rising = sorted(scores, key=scores.get)
    heading = page.locator("#scores-scores thead th", has_text="accuracy").first
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(ORDER) == rising
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.evaluate(ORDER) == rising[::-1]


def test_the_button_changes_colours_and_says_so(shown, written):
    page = shown(written[0] / "one.html")
    page.evaluate("document.addEventListener('gnomon-theme', () => { document.title = 'heard'; })")
    page.get_by_role("button", name="Use dark colours").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert page.title() == "heard"
    assert page.get_by_role("button", name="Use light colours").is_visible()


@pytest.mark.parametrize("name", ["one.html", "many/index.html"])
def test_downloads_arrive_whole(shown, written, tmp_path, name):
    folder, result = written
    page = shown(folder / name)
    with page.expect_download() as caught:
        page.locator("#scores-scores a", has_text="CSV").click()
    caught.value.save_as(tmp_path / "got.csv")
    assert caught.value.suggested_filename == "scores.csv"
    with (tmp_path / "got.csv").open(newline="") as stream:
        rows = {row["system"]: float(row["accuracy"]) for row in csv.DictReader(stream)}
    assert rows == {name: own["accuracy"] for name, own in result.scores.items()}


def test_the_keyboard_reaches_the_scores_first(shown, written):
    page = shown(written[0] / "one.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the scores"
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("#main$"))


def test_a_script_that_is_not_of_the_page_does_not_run(shown, written, tmp_path):
    source = (written[0] / "one.html").read_text(encoding="utf-8")
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(source.replace("</main>", "<script>document.title = 'ran'</script></main>"), encoding="utf-8")
    page = shown(spoiled)
    page.watch.expected = ("Content Security Policy",)
    assert page.title() == "Report: labels"
    assert page.watch.errors


def test_without_a_script_the_button_that_needs_one_is_not_seen(opened, written):
    page = opened(java_script_enabled=False)
    page.goto((written[0] / "one.html").resolve().as_uri())
    assert page.locator("button[data-action=theme]").is_hidden()
    assert page.locator("#scores-scores").is_visible()
