"""The page of a campaign (`nocturne report html`), as a browser shows it: drawn without an error, without a request to any network,
whatever a campaign has in it. Where there is no browser, what can be seen without one."""

import base64
import email
import email.policy
import gzip
import hashlib
import html.parser
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

from workspace import PATIENCE, Workspace, campaign, wait_until

BROWSER = next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"])), None)
MAIL_REPORT = pathlib.Path(__file__).resolve().parents[2] / "examples/mail-report.sh"
LARGE_CAMPAIGN = os.environ.get("LARGE_CAMPAIGN", "")
HOSTILE = "</script><img src=http://127.0.0.1:9/x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


class Elements(html.parser.HTMLParser):
    """Counts elements, and remembers attributes of each name."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


class Listener:
    """Counts who connects."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.heard = []
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def listen(self):
        try:
            while True:
                connection, _ = self.socket.accept()
                self.heard.append(connection.recv(200))
                connection.close()
        except OSError:
            pass

    def __exit__(self, *_):
        self.socket.close()


def browse(folder, page, width=1280):
    """The page after its scripts have run, what the console said, and what was asked of the network."""
    with Listener() as listener:
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
             "--disable-background-networking", "--disable-component-update", "--no-first-run", f"--proxy-server=127.0.0.1:{listener.port}",
             f"--window-size={width},900", "--enable-logging=stderr", "--v=0", "--virtual-time-budget=2000", "--dump-dom", f"file://{page}"],
            capture_output=True, text=True, timeout=4 * PATIENCE)
        heard = [each for each in listener.heard if b"127.0.0.1:9" in each]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console, heard


class Report(unittest.TestCase):
    def test_tune_writes_it_while_it_runs_and_at_its_end(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=30))
            page = workspace.data / "reports/fake.html"
            tuner = workspace.start("tune", file)
            self.assertTrue(wait_until(page.exists))
            first = page.read_text()
            self.assertIn("<body class=\"running\">", first)
            tuner.communicate(timeout=4 * PATIENCE)
            self.assertEqual(tuner.returncode, 0)
            last = page.read_text()
            self.assertNotIn("<body class=\"running\">", last)
            self.assertIn("times as fast as the default", last)
            self.assertFalse([each for each in page.parent.iterdir() if each != page], "half a page is left")
            library = gzip.decompress(base64.b64decode(re.search(r'id="chart-library">(.*?)</script>', last)[1]))
            self.assertIn(b"Chart.js v3.", library)
            self.assertIn("'sha256-%s'" % base64.b64encode(hashlib.sha256(library).digest()).decode(), last[:1000])
            again = workspace.run("tune", file, check=0)
            self.assertIn(f"Report    {page}", again.stdout)
            self.assertEqual(workspace.json("tune", file)["report"], str(page))

    def test_a_session_that_is_ended_leaves_a_page_that_does_not_run(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=4000))
            tuner = workspace.start("tune", file)
            self.assertTrue(wait_until(lambda: workspace.trials_done() > 3))
            tuner.terminate()
            tuner.communicate(timeout=4 * PATIENCE)
            page = (workspace.data / "reports/fake.html").read_text()
            self.assertNotIn("<body class=\"running\">", page)
            self.assertIn("Not finished; nobody tunes it now", page)

    def test_the_example_mails_the_page(self):
        with Workspace() as workspace:
            programs, sent = workspace.folder / "bin", workspace.folder / "sent"
            programs.mkdir()
            (programs / "sendmail").write_text(f"#!/bin/sh\ncat >'{sent}'\n")
            (programs / "sendmail").chmod(0o755)
            workspace.run("tune", workspace.write(campaign(trials=30)), "--on-finish", MAIL_REPORT, "--on-finish-arg", "you@example.org",
                          env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, check=0)
            mail = email.message_from_bytes(sent.read_bytes(), policy=email.policy.default)
            self.assertEqual(mail.defects, [])
            self.assertEqual(mail["To"], "you@example.org")
            self.assertRegex(mail["Subject"], r"^fake: faster, gain \d+")
            text, page = mail.iter_parts()
            self.assertIn("The session ended: complete.", text.get_content())
            self.assertEqual(page.get_payload(decode=True), (workspace.data / "reports/fake.html").read_bytes())

    def test_five_hundred_trials_are_a_page_soon(self):
        with Workspace() as workspace:
            workspace.data.mkdir()
            database = workspace.data / "nocturne.db"
            subprocess.check_call([LARGE_CAMPAIGN, database, "500"], stdout=subprocess.DEVNULL)
            workspace.run("best", check=0)  # what the model says is kept
            began = time.monotonic()
            workspace.run("report", "html", check=0)
            took = time.monotonic() - began
            page, = (workspace.data / "reports").iterdir()
            print(f"500 trials: {took:.2f} s, {page.stat().st_size / 1000:.0f} kB", file=sys.stderr)
            self.assertLess(took, 20)  # a second, on a machine that does nothing else
            self.assertLess(page.stat().st_size, 300_000)


@unittest.skipUnless(BROWSER, "no browser: chromium-headless-shell")
class InABrowser(unittest.TestCase):
    def check(self, workspace, page, width):
        text, console, heard = browse(workspace.folder, page, width)
        self.assertEqual(console, [], page)
        self.assertEqual(heard, [])
        elements = Elements(text)
        self.assertEqual(elements.of("html")[0].get("class"), "scripts charts")
        canvases = elements.of("canvas")
        for canvas in canvases:
            self.assertGreater(int(canvas["width"]), width // 3, canvas["id"])  # drawn
            for said in canvas["aria-labelledby"].split():
                self.assertEqual(text.count(f'id="{said}"'), 1)
        self.assertFalse([each for each in elements.of("details") if "open" in each])
        self.assertNotIn("<title>owned", text)
        return text, canvases

    def test_it_is_drawn_without_an_error_and_asks_no_network(self):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(trials=12)), check=0)
            page = workspace.data / "reports/fake.html"
            for width in (1280, 500):
                text, canvases = self.check(workspace, page, width)
                drawn = {canvas["id"] for canvas in canvases}
                self.assertLessEqual({"chart-timeline", "chart-convergence"}, drawn)
            trials = [row for row in re.findall(r"<tr>(.*?)</tr>", text) if "<td>" in row]
            self.assertGreater(len(trials), 5)

    def test_a_page_that_nobody_renews_any_more_says_that_its_campaign_may_have_ended(self):
        with Workspace() as workspace:
            tuner = workspace.start("tune", workspace.write(campaign(trials=4000)))
            self.assertTrue(wait_until(lambda: workspace.trials_done() > 3))
            running = (workspace.data / "reports/fake.html").read_text()
            tuner.terminate()
            tuner.communicate(timeout=4 * PATIENCE)
            page = workspace.folder / "left.html"
            for age, stale in ((0, False), (3600, True)):  # seconds
                page.write_text(re.sub(r'(data-written=")(\d+)', lambda found: found[1] + str(int(found[2]) - age), running))
                text, _ = self.check(workspace, page, 1280)
                self.assertEqual('<p class="stale">' in text, stale)
                self.assertEqual(" minutes ago, while a campaign was running that may have ended since." in text.split("<main>")[0], stale)

    def test_hostile_names_and_reasons_stay_text(self):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(trials=12)), check=0)
            with workspace.database() as connection:
                connection.execute("UPDATE trials SET outcome = 'failed', reason = ?, objective_s = NULL WHERE number > 6", (HOSTILE,))
                connection.execute("UPDATE events SET what = ?, level = 'warning'", (HOSTILE,))
                connection.execute("UPDATE campaigns SET name = ?", (HOSTILE,))
                connection.commit()
            page = workspace.folder / "hostile.html"
            workspace.run("report", "html", "--output", page, check=0)
            text, _ = self.check(workspace, page, 1280)
            self.assertIn("onerror", text)  # as text
            self.assertFalse(Elements(text).of("img"))


if __name__ == "__main__":
    unittest.main()
