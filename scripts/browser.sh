#!/bin/sh
# Sees to a Chromium for the page tests: installs Debian's where that is possible, else says what is missing.
set -u

for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium for the page tests"
    if DEBIAN_FRONTEND=noninteractive apt-get update -qq \
        && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; then
        exit 0
    fi
fi

echo "No Chromium here: the page tests will be skipped. Install the package \"chromium\" to run them."
exit 0
