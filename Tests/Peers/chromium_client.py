"""Runs checker.mjs in a headless Chromium: serves it a page, and takes the page's report.

Usage: chromium_client.py CHROMIUM URL
"""

import http.server
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

browser, url = sys.argv[1], sys.argv[2]
seconds = float(os.environ.get("PEER_SECONDS", "4"))
symbols = os.environ["PEER_SYMBOLS"].split(",")
folder = pathlib.Path(__file__).parent
reports = queue.Queue()
PAGE = f"""<!doctype html><script type="module">
import {{ watch }} from "./checker.mjs";
const report = (text) => fetch("/report", {{ method: "POST", body: text }});
watch({json.dumps(url)}, {json.dumps(symbols)}, {seconds}).then(
  ({{ counts, extensions }}) => report("ok " + extensions + ": " + JSON.stringify(counts)),
  (error) => report(error.message));
</script>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_script = self.path == "/checker.mjs"
        body = (folder / "checker.mjs").read_bytes() if is_script else PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        reports.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
version = subprocess.run([browser, "--version", "--no-sandbox"], capture_output=True, text=True).stdout.strip()
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    process = subprocess.Popen(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--ignore-certificate-errors", f"--user-data-dir={profile}", "--remote-debugging-port=0",
            f"http://127.0.0.1:{server.server_port}/",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        report = reports.get(timeout=seconds + 60)
    except queue.Empty:
        report = "the page did not report"
    process.terminate()
    process.wait()
if report.startswith("ok ") and "permessage-deflate" not in report:
    report = f"permessage-deflate was not agreed: {report}"
print(f"  {version}, {report.removeprefix('ok ')}")
sys.exit(0 if report.startswith("ok ") else 1)
