"""Every view of the dashboard in a real browser, over simulated runs of all suites.

With ``GNOMON_SCREENSHOTS=DIR`` the pictures that README and docs show are taken into that folder.
"""

import os
import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from acceptance.browsing import served

from gnomon import score

from .conftest import gnomon

pytestmark = pytest.mark.browser

SUITES = ("labels", "har", "events", "episode", "change", "skeleton")
KINDS = {"events": "timeline", "episode": "timeline", "change": "scene", "skeleton": "motion"}
SHOTS = os.environ.get("GNOMON_SCREENSHOTS", "")
SHOWN = {
    "list-wide": "dashboard-list",
    "two-events": "dashboard-timeline",
    "together-events": "dashboard-scores",
    "case-change-wide": "dashboard-scene",
    "case-skeleton-wide": "dashboard-motion",
    "case-episode-wide": "dashboard-episode",
    "board-har-wide": "dashboard-board",
}
"""Pictures of the documentation by the view that they show; a folder whose name ends in ``all`` gets all of them."""
WAIT = 60_000


def keys_of(page, dashboard, suite, variant=""):
    page.goto(f"{dashboard}/?suite={suite}&variant={variant}&sort=system")
    return page.locator("table.runs input[name=run]").evaluate_all("items => items.map(item => item.value)")


def drawn(page):
    """Bring every figure into sight and wait until it is drawn."""
    hosts = page.locator("[data-figure]")
    for place in range(hosts.count()):
        hosts.nth(place).scroll_into_view_if_needed()
        page.locator(f"[data-figure] >> nth={place}").and_(page.locator("[data-ready=yes]")).wait_for(timeout=WAIT)
    page.evaluate("() => window.scrollTo(0, 0)")


def fits(page):
    width, window = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= window, f"the page is {width} wide in a window of {window}"


def shoot(page, name):
    if SHOTS and (name in SHOWN or SHOTS.endswith("all")):
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SHOTS) / f"{SHOWN.get(name, name)}.png")


def ready(page):
    page.locator("[data-source][data-ready=yes]").wait_for(timeout=WAIT)


def alike(page, dashboard, suite):
    """Return runs of one suite that stand on the same ground, as many as there are."""
    keys = keys_of(page, dashboard, suite, "strict") or keys_of(page, dashboard, suite)
    page.goto(f"{dashboard}/together?like={quote(keys[0])}")
    names = page.locator("ul.names a").evaluate_all("items => items.map(item => item.getAttribute('href'))")
    return [name.removeprefix("/run/") for name in names]


def together(keys):
    return "&".join(f"run={key}" for key in keys)


@pytest.mark.parametrize(("size", "dark"), [("wide", False), ("narrow", True)])
def test_the_list(opened, dashboard, size, dark):
    page = opened(size, dark)
    page.goto(dashboard)
    assert page.locator("table.runs tbody tr").count() > 20
    fits(page)
    shoot(page, f"list-{size}")
    page.keyboard.press("/")
    page.keyboard.type("nearest")
    page.locator("#listed:not([aria-busy])", has_text="nearest").wait_for()
    page.wait_for_url(re.compile("q=nearest"))
    names = page.locator("table.runs tbody th").all_text_contents()
    assert names
    assert all("nearest" in name for name in names)
    page.reload()
    assert page.locator("table.runs tbody th").all_text_contents() == names


def test_a_choice_leads_to_a_comparison(page, dashboard):
    keys = alike(page, dashboard, "labels")
    page.goto(f"{dashboard}/?suite=labels")
    assert page.locator("#compare").is_disabled()
    for key in keys[:2]:
        page.locator(f"input[value='{key}']").check()
    page.locator("#compare").click()
    page.wait_for_url(re.compile("/compare"))
    assert page.locator("h1").inner_text() == "Comparison"


def test_keys_theme_and_skipping(page, dashboard):
    page.goto(dashboard)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("?")
    assert page.locator("dialog#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#keys").is_visible()
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.locator("#theme").click()
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Theme: dark"
    assert page.evaluate(paper) != light
    page.reload()
    assert page.evaluate(paper) != light


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(("size", "dark"), [("wide", False), ("narrow", True)])
def test_one_run(opened, dashboard, suite, size, dark):
    page = opened(size, dark)
    keys = keys_of(page, dashboard, suite)
    page.goto(f"{dashboard}/run/{quote(keys[0])}")
    assert page.locator("#scores table").count()
    drawn(page)
    fits(page)
    assert page.locator(".failure:not(:empty)").count() == 0
    ids = page.locator("[id]").evaluate_all("items => items.map(item => item.id)")
    assert len(ids) == len(set(ids))
    shoot(page, f"run-{suite}-{size}")


@pytest.mark.parametrize("suite", SUITES)
def test_runs_together_and_compared(page, dashboard, suite):
    keys = alike(page, dashboard, suite)
    if len(keys) < 2:
        pytest.skip(f"the demonstration makes one run of {suite} on a ground")
    page.goto(f"{dashboard}/together?{together(keys)}")
    drawn(page)
    fits(page)
    shoot(page, f"together-{suite}")
    page.goto(f"{dashboard}/compare?{together(keys)}")
    assert page.locator("#comparison table").count() >= 2
    drawn(page)
    fits(page)
    shoot(page, f"compare-{suite}")
    page.set_viewport_size({"width": 360, "height": 800})
    for address in ("compare", "together"):
        page.goto(f"{dashboard}/{address}?{together(keys)}")
        drawn(page)
        fits(page)


def test_long_names_make_no_page_wider_than_a_narrow_window(opened, tmp_path):
    """Choices of systems and metrics are as wide as their longest name, unless they are kept inside the window."""
    ids, groups = [str(row) for row in range(60)], [str(row // 10) for row in range(60)]
    truth = {"id": ids, "label": ["ab"[row % 2] for row in range(60)], "group": groups}
    given = {
        f"{word} system with a hard gate, several sensors and a name of many words": {
            "id": ids,
            "label": ["ab"[row % 2] if row % step else "a" for row in range(60)],
        }
        for word, step in (("strong", 7), ("weak", 3), ("weakest", 2))
    }
    score("labels", truth, given, out=os.fspath(tmp_path))
    page = opened("narrow", False)
    page.set_viewport_size({"width": 360, "height": 800})
    with served(tmp_path) as server:
        keys = keys_of(page, server.address, "labels")
        for address in (f"compare?{together(keys)}", f"together?{together(keys)}", f"run/{quote(keys[0])}", ""):
            page.goto(f"{server.address}/{address}")
            drawn(page)
            fits(page)
        page.goto("about:blank")  # nothing is listened to when the server ends


def test_tables_can_be_downloaded(page, dashboard):
    keys = keys_of(page, dashboard, "labels")
    page.goto(f"{dashboard}/run/{quote(keys[0])}")
    for word, start in {"JSON": b"[", "CSV": b"system", "LaTeX": b"\\"}.items():
        with page.expect_download() as got:
            page.locator("#scores .links a", has_text=word).first.click()
        content = Path(got.value.path()).read_bytes()
        assert content.lstrip()[:6].startswith(start[:6]) or (word != "CSV" and content.lstrip()[:1] in b"[{\\%")


def test_a_table_is_sorted_by_its_heading(page, dashboard):
    keys = alike(page, dashboard, "labels")
    page.goto(f"{dashboard}/together?{together(keys)}")
    table = page.locator("#cases table, #worst table").first
    heading = table.locator("thead th").nth(0).locator("button, [role=button], a").first
    heading.click()
    first = table.locator("tbody tr > :first-child").all_inner_texts()
    assert first == sorted(first) or first == sorted(first, reverse=True)


@pytest.mark.parametrize(("size", "dark"), [("wide", False), ("narrow", True)])
def test_the_board_of_har(opened, dashboard, size, dark):
    page = opened(size, dark)
    keys = alike(page, dashboard, "har")
    page.goto(f"{dashboard}/board?{together(keys)}")
    drawn(page)
    page.locator("select[name=task]").select_option("sup-10")
    page.wait_for_url(re.compile("task=sup-10"))
    page.locator("select[name=dataset]").select_option("realworld")
    page.wait_for_url(re.compile("dataset=realworld"))
    text = page.locator("main").inner_text()
    assert "classes of realworld, sup-10" in text
    assert "coverage of labels" in text
    drawn(page)
    fits(page)
    shoot(page, f"board-har-{size}")
    address = page.url
    page.goto(address)
    assert page.locator("select[name=task]").input_value() == "sup-10"


@pytest.mark.parametrize("suite", KINDS)
@pytest.mark.parametrize(("size", "dark"), [("wide", False), ("narrow", True)])
def test_single_cases(opened, dashboard, suite, size, dark):
    page = opened(size, dark)
    keys = alike(page, dashboard, suite)
    page.goto(f"{dashboard}/run/{quote(keys[0])}")
    page.locator("a", has_text="Look at the worst case").click()
    ready(page)
    assert page.locator(f".view.{KINDS[suite]} canvas").count() >= 1
    fits(page)
    shoot(page, f"case-{suite}-{size}")
    page.reload()
    ready(page)
    less = page.locator("a[rel=next]")
    if less.count():
        less.click()
        ready(page)


@pytest.mark.parametrize("suite", KINDS)
def test_two_systems_on_one_case(page, dashboard, suite):
    keys = alike(page, dashboard, suite)
    page.goto(f"{dashboard}/case?run={keys[0]}")
    ready(page)
    beside = page.locator("section ul.cases a", has_text="+ beside")
    if not beside.count():
        pytest.skip(f"the demonstration makes one run of {suite} on a ground")
    beside.first.click()
    page.wait_for_url(lambda url: len(parse_qs(urlsplit(url).query)["run"]) == 2)
    ready(page)
    shoot(page, f"two-{suite}")


def test_results_of_perfboard_open(page, dashboard, runs):
    folder = runs / "perfboard"
    gnomon("template", "events", folder / "files", cwd=runs)
    truth = ["--truth", folder / "files" / "morning.json", "--truth", folder / "files" / "noon.json"]
    answers = ["--predictions", folder / "files" / "results.json"]
    gnomon("score", "events", *truth, *answers, "--export-perfboard", folder / "scores.json", "--out", "none", cwd=runs)
    page.goto(dashboard)
    page.locator("a", has_text="perfboard/scores.json").click()
    ready(page)
    assert page.locator(".view.timeline canvas").count() >= 1
    assert page.locator("ul.cases a").count() >= 2


def test_what_is_not_there(page, dashboard):
    page.watch.expected = ("404", "400")
    for path, said in {"/run/nothing": "Not here", "/compare": "This cannot be shown", "/nothing": "Not here"}.items():
        page.goto(dashboard + path)
        assert page.locator("h1").inner_text() == said
        assert page.locator("a", has_text="To the list of runs").is_visible()
    keys = keys_of(page, dashboard, "events")
    page.goto(f"{dashboard}/case?run={keys[0]}&case=nothing")
    page.locator("[role=alert]", has_text="This view cannot be shown").wait_for()
    assert page.locator("button", has_text="Try again").is_visible()


def test_runs_appear_while_the_list_is_open(opened, tmp_path):
    """An empty folder, looked at while its first run is published; and many pages at once."""
    from acceptance.browsing import served

    folder = tmp_path / "runs"
    folder.mkdir()
    gnomon("template", "labels", tmp_path / "files", cwd=tmp_path)
    files = tmp_path / "files"
    with served(folder) as server:
        page = opened()
        page.watch.expected = ("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_REFUSED")  # when the server ends
        page.goto(server.address)
        assert page.locator("h1", has_text="No runs here yet").is_visible()
        for name in ("pagehide", "pageshow"):  # left, kept by the browser, and shown again
            page.evaluate(f"window.dispatchEvent(new PageTransitionEvent('{name}', {{ persisted: true }}))")
        truth, answers = files / "truth.csv", files / "predictions.csv"
        gnomon("score", "labels", "--truth", truth, "--predictions", answers, "--out", folder, cwd=tmp_path)
        page.locator("table.runs tbody tr").wait_for(timeout=WAIT)
        assert page.locator(".count").text_content() == "1 of 1 runs"
        others = [page.context.new_page() for _ in range(8)]
        for other in others:
            other.goto(server.address, timeout=20_000)
            assert other.locator("table.runs tbody tr").count() == 1


def test_what_was_chosen_stays_chosen(page, dashboard):
    page.goto(f"{dashboard}/?suite=labels")
    for place in range(2):
        page.locator("table.runs input[name=run]").nth(place).check()
    page.locator("#search").fill("nothing like this")
    page.locator(".count", has_text="0 of").wait_for()
    assert page.locator("#chosen").inner_text() == "2 chosen"
    page.locator("#search").fill("")
    page.locator("table.runs tbody tr").nth(2).wait_for()
    assert page.locator("table.runs input[name=run]:checked").count() == 2
    page.locator("#compare").click()
    page.wait_for_url(re.compile("/compare"))
    assert len(parse_qs(urlsplit(page.url).query)["run"]) == 2
