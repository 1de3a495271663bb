"""A real browser without a window: Chromium drawing in software, cut off from every machine but this one.

The fixture `browser` (in `conftest.py`) is one browser for all tests of a process. Without Chromium its tests are
skipped (see `programs`).
"""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from programs import find_program

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)


class Browser:
    """One tab: opens pages, asks them in JavaScript, takes pictures of them, and hears what they complain about."""

    def __init__(self, driver: Any):
        self.driver = driver

    def open(self, page: str | Path, size: tuple[int, int] = (1000, 700), dark: bool = False) -> None:
        """Show a file or an address in a window of a size in pixels; what was said before is forgotten."""
        self.driver.get("about:blank")
        self.resize(*size)
        self.prefer("dark" if dark else "light")
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(page.resolve().as_uri() if isinstance(page, Path) else page)

    def resize(self, width: int, height: int) -> None:
        """The size of the page in pixels, one for each of the style sheet's."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """What the user likes: light or dark pages."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def ask(self, expression: str, *given: Any) -> Any:
        """The value of an expression in JavaScript; what is given is in `arguments`."""
        return self.driver.execute_script(f"return ({expression})", *given)

    def do(self, statements: str, *given: Any) -> Any:
        """Run statements in JavaScript; what is given is in `arguments`."""
        return self.driver.execute_script(statements, *given)

    def wait(self, expression: str, seconds: float = 30.0) -> Any:
        """The value of an expression as soon as it is true; a failure with what the page said if it never is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.ask(expression):
                return value
            time.sleep(0.02)
        pytest.fail(f"'{expression}' was not true within {seconds} s; the page said {self.complaints()}")

    def ready(self, seconds: float = 60.0) -> None:
        """Wait until the page of a scene has drawn its first frame."""
        self.wait("window.appell && window.appell.ready", seconds)

    def settled(self) -> None:
        """Wait until everything that is to be drawn is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)))"
        )

    def picture(self) -> np.ndarray:
        """What is on the screen: (height, width, 3), uint8."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert("RGB"))

    def save(self, path: Path) -> None:
        """What is on the screen, as a PNG file."""
        path.write_bytes(self.driver.get_screenshot_as_png())

    def element(self, selector: str) -> Any:
        """The first element of a selector of the style sheet, to click and to type into."""
        return self.driver.find_element("css selector", selector)

    def fill(self, selector: str, value: Any, event: str = "input") -> None:
        """Set an input or a choice as a user does: its value, and the event that tells of it."""
        self.do(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event(arguments[2], {bubbles: true}))",
            selector,
            value,
            event,
        )
        self.settled()

    def press(self, keys: str, selector: str = "body") -> None:
        """Type keys (of selenium's `Keys`) into an element."""
        self.element(selector).send_keys(keys)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A real event of the mouse at a place of the page: mousePressed, mouseMoved, mouseReleased, mouseWheel."""
        event = {
            "type": kind,
            "x": float(x),
            "y": float(y),
            "button": "none" if kind == "mouseWheel" else "left",
            **more,
        }
        event.setdefault("buttons", 0 if kind in ("mouseWheel", "mouseReleased") else 1)
        event.setdefault("clickCount", 1 if kind in ("mousePressed", "mouseReleased") else 0)
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    def drag(self, start: tuple[float, float], end: tuple[float, float], **more: Any) -> None:
        """Press at one place of the page, move in three steps, release at another."""
        self.mouse("mouseMoved", *start, buttons=0)
        self.mouse("mousePressed", *start, **more)
        for part in (1 / 3, 2 / 3, 1.0):
            self.mouse("mouseMoved", *(a + part * (b - a) for a, b in zip(start, end, strict=True)), **more)
        self.mouse("mouseReleased", *end, **more)

    def complaints(self) -> list[str]:
        """Errors and warnings of the page since it was opened or asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """The addresses that the page asked for since it was opened or asked last, itself included, inline data not."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("data:", "about:"))]


def start_browser(folder: Path) -> Browser:
    """A browser that keeps its things in a folder; a skip or a failure if there is none on this machine."""
    chromium, chromedriver = find_program("chromium"), find_program("chromedriver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    driver.set_script_timeout(60)
    return Browser(driver)
