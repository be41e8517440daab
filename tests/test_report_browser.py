"""The HTML report in a real browser: it loads alone, plays, scrubs, switches, obeys keys."""

import re
import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import spatialindex as si
from spatialindex.comparison.curves import Curve, CurvePoint

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")

POINTS = (
    CurvePoint(2.0, 0.004, 30, 400, 35, 7, 20),
    CurvePoint(4.0, 0.001, 60, 200, 70, 9, 20),
    CurvePoint(8.0, 0.00105, 120, 100, 150, 11, 20),
)
OWN = CurvePoint(4.5, 0.00102, 70, 180, 80, 9, 20)
NOTES = ("measured on 3 of 5 frames",)
CURVE = Curve(
    "hash-grid", "cell_size", POINTS, POINTS[1], (1.5, 2.0), (4.0, 8.0), own=OWN, notes=NOTES
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return reports of a scene in 2D and in 3D."""
    written = {}
    for ndim in (2, 3):
        rec = si.generate("brownian", n=60, ndim=ndim, frames=6, seed=5)
        # half a second a frame: a click finds it still playing
        boxes = rec.boxes.copy()
        boxes[:, 0] = np.repeat((0.0, 900.0), ndim)  # the ground: it meets everybody
        rec = si.Recording(boxes, np.arange(60) < 1, dt=0.5, name="crowd")
        result = si.compare(rec, ["brute-force", "hash-grid"], budget=600.0, plays=1)
        written[ndim] = tmp_path_factory.mktemp("report") / f"report{ndim}.html"
        replace(result, curves=(CURVE,)).write_html(written[ndim], rec)
    return written


@pytest.fixture(scope="module")
def driver():
    with sync_api.sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="module")
def browser(driver):
    browser = launched(driver, "--enable-unsafe-swiftshader")
    yield browser
    browser.close()


def launched(driver, *options):
    return driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *options])


@pytest.fixture(params=[2, 3], ids=["2D", "3D"])
def opened(browser, pages, request):
    """Open a report offline; nothing may go wrong in it, and nothing may be asked for."""
    with shown(browser, pages[request.param].as_uri()) as page:
        yield page


@contextmanager
def shown(browser, url):
    wrong = []
    context = browser.new_context(offline=True, viewport={"width": 380, "height": 700})
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: wrong.append(asked.url) if asked.url != url else None)
    page.goto(url)
    page.wait_for_selector("body[data-ready=yes]")
    drawn(page, 0)
    yield page
    assert wrong == []
    context.close()


def drawn(page, frame):
    page.wait_for_selector(f"#stage[data-drawn='{frame}']")
    assert page.input_value("#scrub") == str(frame)


def until(page, condition):
    """Wait for an expression to be true; the page itself may evaluate none."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(10)
    pytest.fail(f"it has not come to {condition}")


def picture(page):
    return page.locator("#canvas").screenshot()


def test_keys_step_jump_and_play(opened):
    opened.focus("#stage")
    before = picture(opened)
    for key, frame in (("ArrowRight", 1), ("End", 5), ("ArrowLeft", 4), ("Home", 0)):
        opened.keyboard.press(key)
        drawn(opened, frame)
    assert picture(opened) == before
    opened.keyboard.press("End")
    drawn(opened, 5)
    assert picture(opened) != before
    opened.keyboard.press("ArrowLeft")
    opened.keyboard.press("Space")
    drawn(opened, 5)  # it has played to the end, and stopped
    sync_api.expect(opened.locator("#play")).to_have_text("Play")


def test_playing_pauses_and_scrubbing_shows_a_frame(opened):
    opened.click("#play")
    assert opened.inner_text("#play") == "Pause"
    opened.click("#play")
    assert opened.inner_text("#play") == "Play"
    opened.fill("#scrub", "3")
    drawn(opened, 3)
    assert opened.inner_text("#frame") == "frame 3 of 5"


def test_pairs_are_marked_when_asked_and_the_ground_never_is(opened):
    legend = opened.locator("#legend")
    ground = "; static ones keep their colour"
    sync_api.expect(legend).to_contain_text(re.compile(rf"\d+ of them in \d+ pairs{ground}"))
    assert opened.evaluate("player.kinds[0]") == 1
    assert opened.evaluate("player.kinds.slice(1).includes(5)")
    before = picture(opened)
    opened.uncheck("#highlight")
    sync_api.expect(legend).not_to_contain_text("of them in")
    assert not opened.evaluate("player.kinds.includes(5)")
    assert picture(opened) != before


def test_switching_structures_draws_their_parts(opened):
    counts = {}
    for label in ("none", "brute-force", "hash-grid"):
        opened.select_option("#structure", label=label)
        said = re.compile("^$" if label == "none" else f"^{label} in frame 0")
        sync_api.expect(opened.locator("#look")).to_have_text(said)
        counts[label] = (int(opened.get_attribute("#stage", "data-parts")), picture(opened))
    assert counts["none"][0] == 0
    assert counts["brute-force"][0] == 1
    assert counts["hash-grid"][0] > 1
    assert len({seen for _, seen in counts.values()}) == 3


def test_a_scene_in_3d_turns_has_another_axis_up_and_is_drawn_only_when_something_changes(
    browser, pages
):
    with shown(browser, pages[3].as_uri()) as page:
        count = "player.view.renderer.info.render.frame"
        seen = {picture(page)}
        page.focus("#stage")
        for key in "dw+":
            before = page.evaluate(count)
            page.keyboard.press(key)
            until(page, f"{count} > {before}")
            seen.add(picture(page))
        page.click("#up")
        assert page.inner_text("#up") == "Up: z"
        seen.add(picture(page))
        assert len(seen) == 5
        page.wait_for_timeout(50)  # until what was asked for is drawn
        before = page.evaluate(count)
        page.wait_for_timeout(150)
        assert page.evaluate(count) == before


def test_the_wheel_scrolls_the_page_until_the_scene_is_clicked(opened):
    opened.locator("#canvas").scroll_into_view_if_needed()
    before = picture(opened)
    opened.hover("#canvas")
    at = opened.evaluate("scrollY")
    opened.mouse.wheel(0, 40)
    until(opened, f"scrollY > {at}")
    opened.click("#canvas")
    at = opened.evaluate("scrollY")
    opened.mouse.wheel(0, 40)
    opened.wait_for_timeout(50)
    assert opened.evaluate("scrollY") == at
    assert picture(opened) != before


def test_without_webgl_a_scene_in_3d_is_drawn_from_above_and_it_is_said(driver, pages):
    browser = launched(driver, "--disable-3d-apis")
    with shown(browser, pages[3].as_uri()) as page:
        assert "has no WebGL" in page.inner_text("[role=alert]")
        before = picture(page)
        page.focus("#stage")
        page.keyboard.press("End")
        drawn(page, 5)
        assert picture(page) != before
        assert page.locator("#times tbody tr").count() == 3
        assert page.locator("#lines canvas").count() == 1
    browser.close()


def test_a_worst_frame_can_be_seen(opened):
    button = opened.locator("#worst button").first
    frame = int(button.inner_text().split()[-1])
    opened.locator("#stage[data-drawn='0']").wait_for()
    button.click()
    drawn(opened, frame)
    opened.keyboard.press("Home")  # the scene has the focus
    drawn(opened, 0)


def test_tables_sort_both_ways_by_their_headings(opened):
    button = opened.locator("#work th button", has_text="structure")
    names = opened.locator("#work tbody td:first-child")
    button.press("Enter")
    assert names.all_inner_texts() == ["brute-force", "hash-grid"]
    button.press("Enter")
    assert names.all_inner_texts() == ["hash-grid", "brute-force"]


def test_a_curve_is_drawn_with_its_valley_and_marks_in_both_schemes(opened):
    said = opened.locator("#curves .legend").inner_text()
    for words in ("best: 4", "valley, within a tenth of the best: 4 to 8", "1.5 to 2", "4.5"):
        assert words in said
    assert "measured on 3 of 5 frames" in opened.inner_text("#curves")
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        until(opened, MARKED)


MARKED = """(() => {
  const canvas = document.querySelector("#curves canvas"), seen = new Set();
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 4).join());
  const pen = document.createElement("canvas").getContext("2d");
  return ["good", "ink", "mark"].every((name) => {
    pen.fillStyle = ink(name);
    pen.fillRect(0, 0, 1, 1);
    return seen.has(pen.getImageData(0, 0, 1, 1).data.join());
  });
})()"""
"""Whether the star, the diamond and the line are in the plot, by their colours."""


def test_the_page_fits_a_narrow_window_and_both_schemes(opened):
    colors = []
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
        colors.append(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colors == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]
    assert opened.locator("#lines canvas").count() == 1
