"""What tests of pages in a browser do: wait, press keys, change the theme, look for violations of WCAG."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from typing import Any

LIMIT = 20.0  # seconds until a page has to be there
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
DESK = {"width": 1100, "height": 800, "deviceScaleFactor": 1, "mobile": False}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: %s}).then(found => done(found.violations.map(one =>
    one.id + ": " + one.nodes.map(node => node.html).join(" | ").slice(0, 300))));
"""


def theme(browser: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def wait(browser: Any, condition: str) -> Any:
    """Wait until a condition of the page holds, across loads of pages."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        try:
            if found := browser.execute_script(f"return {condition}"):
                return found
        except Exception:  # the page is just being left
            pass
        time.sleep(0.02)
    raise AssertionError(f"{condition} did not come true: {browser.page_source[:3000]}")


def violations(browser: Any) -> list[str]:
    """What axe-core finds on the page, with colours that have changed to their last."""
    browser.execute_script("document.getAnimations().forEach(one => one.finish())")
    browser.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found: list[str] = browser.execute_async_script(AXE % json.dumps(WCAG))
    return found


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()
