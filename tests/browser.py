"""A real browser without a window: Chromium with software rendering and no network except this machine.

The fixture `browser` (in `conftest.py`) is one browser for all tests of a process; after the last test of a module it
shows an empty page. Without Chromium, tests that use it are skipped (see `programs`).
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
    """One tab that opens pages, evaluates JavaScript, takes screenshots, and collects errors and requests."""

    def __init__(self, driver: Any):
        self.driver = driver

    def open(self, page: str | Path, size: tuple[int, int] = (1000, 700), dark: bool = False) -> None:
        """Show a file or an address in a window of a given size in pixels, and clear the logs."""
        self.driver.get("about:blank")
        self.resize(*size)
        self.prefer("dark" if dark else "light")
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(page.resolve().as_uri() if isinstance(page, Path) else page)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in pixels, with a device pixel ratio of 1."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """Set the preferred colour scheme: light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def ask(self, expression: str, *arguments: Any) -> Any:
        """Return the value of a JavaScript expression; further arguments are in `arguments`."""
        return self.driver.execute_script(f"return ({expression})", *arguments)

    def do(self, statements: str, *arguments: Any) -> Any:
        """Run JavaScript statements; further arguments are in `arguments`."""
        return self.driver.execute_script(statements, *arguments)

    def wait(self, expression: str, seconds: float = 30.0) -> Any:
        """Wait until an expression is true and return its value; fail with the log of the page if it never is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.ask(expression):
                return value
            time.sleep(0.02)
        pytest.fail(f"'{expression}' was not true within {seconds} s; log of the page: {self.complaints()}")

    def ready(self, seconds: float = 60.0) -> None:
        """Wait until the page of a scene has drawn its first frame."""
        self.wait("window.appell && window.appell.ready", seconds)

    def settled(self) -> None:
        """Wait until all pending frames are drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)))"
        )

    def picture(self) -> np.ndarray:
        """Return a screenshot: (height, width, 3), uint8."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert("RGB"))

    def save(self, path: Path) -> None:
        """Write a screenshot as a PNG file."""
        path.write_bytes(self.driver.get_screenshot_as_png())

    def element(self, selector: str) -> Any:
        """Return the first element of a CSS selector."""
        return self.driver.find_element("css selector", selector)

    def fill(self, selector: str, value: Any, event: str = "input") -> None:
        """Set the value of an input or select element and dispatch the event."""
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
        """Dispatch a mouse event at a position of the page: mousePressed, mouseMoved, mouseReleased or mouseWheel."""
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
        """Press at one position of the page, move in three steps, and release at another."""
        self.mouse("mouseMoved", *start, buttons=0)
        self.mouse("mousePressed", *start, **more)
        for part in (1 / 3, 2 / 3, 1.0):
            self.mouse("mouseMoved", *(a + part * (b - a) for a, b in zip(start, end, strict=True)), **more)
        self.mouse("mouseReleased", *end, **more)

    def complaints(self) -> list[str]:
        """Return the errors and warnings of the page since the last call or opening."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Return the addresses requested since the last call or opening, with the page itself, without inline data."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("data:", "about:"))]


def start_browser(folder: Path) -> Browser:
    """Start a browser with its profile in a folder; skip or fail the test if Chromium is not installed."""
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
