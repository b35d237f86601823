#!/bin/sh
# Makes a Debian package: target/debian/dshkit_*.deb. It takes cargo-deb (`cargo install cargo-deb --locked`).
set -eu
cd "$(dirname "$0")/.."
if ! cargo deb --version >/dev/null 2>&1; then
    echo "cargo-deb is not there; install it with: cargo install cargo-deb --locked" >&2
    exit 1
fi
exec cargo deb --locked "$@"
