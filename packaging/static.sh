#!/bin/sh
# Makes a static program for Linux with musl: target/TARGET/release/dshkit. It takes the target of the toolchain
# and a C compiler for musl (on Debian the package musl-tools), because SQLite and zstd are C.
set -eu
cd "$(dirname "$0")/.."
target="${1:-$(uname -m)-unknown-linux-musl}"
library="$(rustc --print target-libdir --target "$target" 2>/dev/null || true)"
if [ -z "$library" ] || [ ! -d "$library" ]; then
    echo "the toolchain has no target $target; add it with: rustup target add $target" >&2
    exit 1
fi
if ! command -v musl-gcc >/dev/null; then
    echo "there is no musl-gcc; on Debian it is in the package musl-tools" >&2
    exit 1
fi
CC=musl-gcc RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --target "$target"
echo "target/$target/release/dshkit"
