#!/bin/sh
# Make sure the browser tests find a Chromium: its headless shell where apt may install it, else the
# system's, else Playwright's, else apt's.
set -u
python=$1

command -v chromium-headless-shell >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20 >/dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell >/dev/null 2>&1 && exit 0
fi
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
starts='from playwright.sync_api import sync_playwright as s
with s() as p: p.chromium.launch(args=["--no-sandbox"]).close()'
"$python" -m playwright install chromium >/dev/null 2>&1
"$python" -c "$starts" >/dev/null 2>&1 && exit 0  # a download may lack system libraries
if command -v apt-get >/dev/null 2>&1; then
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo="sudo"
    $sudo apt-get update -qq &&
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null && exit 0
fi
echo "No Chromium was found and none could be installed; install one and run make test again." >&2
exit 1
