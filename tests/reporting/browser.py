"""A headless Chromium, controlled by its DevTools protocol over a pipe."""

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
)
TIMEOUT = 60.0  # seconds for an answer


def find_browser():
    """Return the path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One tab. Events of the page (console, exceptions, requests) are collected in `events`."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        browser_input, self.writer = os.pipe()
        self.reader, browser_output = os.pipe()
        command = [
            find_browser(),
            *FLAGS,
            "--remote-debugging-pipe",
            f"--user-data-dir={self.folder.name}",
            "about:blank",
        ]
        # The protocol's pipes are the file descriptors 3 and 4.
        script = f'exec "$@" 3<&{browser_input} 4>&{browser_output}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command],
            pass_fds=(browser_input, browser_output),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(browser_input)
        os.close(browser_output)
        self.numbers, self.events, self.buffer, self.session = itertools.count(1), [], b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *failure):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        finally:
            os.close(self.writer)
            os.close(self.reader)
            self.folder.cleanup()

    def call(self, method, **parameters):
        """Send a command, wait for its answer and return it."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self.buffer:
            ready, _, _ = select.select(
                [self.reader], [], [], max(deadline - time.monotonic(), 0.0)
            )
            chunk = os.read(self.reader, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, *, width=1280, height=900, scheme="light", scale=1, mobile=False):
        """Load a file at a width and in a theme, and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def ask(self, expression):
        """Return the value of a JavaScript expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(
                answer["exceptionDetails"]["exception"].get("description", expression)
            )
        return answer["result"].get("value")

    def complaints(self):
        """Return the errors and console messages of the page, refused requests included."""
        return [
            event
            for event in self.events
            if event["method"]
            in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        ]

    def requests(self):
        """Return the addresses that the page requested."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
