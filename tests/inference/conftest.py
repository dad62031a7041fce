"""Studies, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from browsing import DESK, theme
from fakes.studies import towns, write_study

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.ledger import Ledger
from conjury.inference.study import ItemStudy, Study, load_any_study, load_study


@pytest.fixture
def study(tmp_path):
    """The folder of a small conjoint study."""
    return write_study(tmp_path / "towns", towns())


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


@pytest.fixture(scope="session")
def moderation() -> Study:
    return load_study("moderation")


@pytest.fixture(scope="session")
def profiles(moderation: Study) -> pd.DataFrame:
    """All profiles of the moderation study."""
    return enumerate_profiles(moderation)


@pytest.fixture(scope="session")
def oogiri() -> ItemStudy:
    return load_any_study("oogiri")


@pytest.fixture(scope="session")
def multiturn() -> ItemStudy:
    return load_any_study("multiturn")


@pytest.fixture(scope="session")
def harm_or_humor() -> ItemStudy:
    return load_any_study("harm_or_humor")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from hostile import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.set_script_timeout(120)  # of axe-core on a busy machine
        yield opened


@pytest.fixture
def fresh(browser: Any) -> Any:
    """The browser as a desktop in light colours, without cookies and messages."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", DESK)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    theme(browser, "light")
    browser.get_log("browser")
    browser.get_log("performance")
    return browser
