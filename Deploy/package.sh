#!/usr/bin/env bash
# Makes a tarball and a Debian package of a release. They need no Swift on the machine.
#   Deploy/package.sh [FOLDER]         default: .build-package/dist
# The Swift runtime is linked in. The output ends with the libraries of the system that are still needed; the package
# depends on them.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

version=$(sed -n 's/.*current = "\([0-9][^"]*\)".*/\1/p' Sources/Build/TidegateVersion.swift)
[ -n "$version" ] || fail "Sources/Build/TidegateVersion.swift has no version"
folder=${1:-.build-package/dist}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || true)
[ -z "$commit" ] || git diff --quiet HEAD -- || commit+="-changed"
machine=$(uname -m)

say "Building $version ${commit:+($commit)}, the Swift runtime linked in"
export TIDEGATE_COMMIT=$commit TIDEGATE_BUILD_DATE=${SOURCE_DATE_EPOCH:+$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)}
[ -n "$TIDEGATE_BUILD_DATE" ] || TIDEGATE_BUILD_DATE=$(date -u +%F)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The C++ runtime, which Swift's Foundation needs, is linked in, too: the linker takes the archive if its folder has no
# shared library.
mkdir "$work/archives"
archive=$(cc -print-file-name=libstdc++.a)
[ -e "$archive" ] || fail "libstdc++.a is missing: install g++, as root: apt-get install g++"
ln -s "$archive" "$work/archives/"
build=(-c release --scratch-path .build-package --product tidegate --static-swift-stdlib -Xlinker -s
  -Xlinker "-L$work/archives" -Xswiftc -Xclang-linker -Xswiftc -static-libgcc)
swift build "${build[@]}"
binary="$(swift build "${build[@]}" --show-bin-path)/tidegate"

tree="$work/tidegate-$version-$machine"
mkdir -p "$tree/bin" "$tree/etc" "$tree/share/bash-completion" "$tree/share/zsh" "$tree/share/fish" "$tree/systemd"
install -m 755 "$binary" "$tree/bin/tidegate"
install -m 644 Deploy/tidegate.example.yaml "$tree/etc/tidegate.yaml"
install -m 644 Deploy/systemd/tidegate.service "$tree/systemd/tidegate.service"
"$binary" --generate-completion-script bash >"$tree/share/bash-completion/tidegate"
"$binary" --generate-completion-script zsh >"$tree/share/zsh/_tidegate"
"$binary" --generate-completion-script fish >"$tree/share/fish/tidegate.fish"
python3 Deploy/debian/manual.py "$binary" "$version" | gzip -9n >"$tree/share/tidegate.1.gz"
"$tree/bin/tidegate" --version >/dev/null || fail "the stripped executable does not start"

say "Making the tarball"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="$TIDEGATE_BUILD_DATE" -C "$work" \
  -czf "$folder/tidegate-$version-$machine.tar.gz" "tidegate-$version-$machine"

if command -v dpkg-deb >/dev/null; then
  say "Making the Debian package"
  # The packages of the libraries that the executable needs.
  depends=$(ldd "$binary" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
    dpkg -S "$(readlink -f "$library")" 2>/dev/null || dpkg -S "*/$(basename "$(readlink -f "$library")")"
  done | sed 's/:.*//' | sort -u | paste -sd, | sed 's/,/, /g')
  root="$work/debian"
  install -D -m 755 "$binary" "$root/usr/bin/tidegate"
  install -D -m 644 Deploy/systemd/tidegate.service "$root/lib/systemd/system/tidegate.service"
  install -D -m 644 Deploy/debian/tidegate.yaml "$root/etc/tidegate/tidegate.yaml"
  install -D -m 644 Deploy/tidegate.example.yaml "$root/usr/share/doc/tidegate/tidegate.example.yaml"
  install -D -m 644 "$tree/share/tidegate.1.gz" "$root/usr/share/man/man1/tidegate.1.gz"
  install -D -m 644 "$tree/share/bash-completion/tidegate" "$root/usr/share/bash-completion/completions/tidegate"
  install -D -m 644 "$tree/share/zsh/_tidegate" "$root/usr/share/zsh/vendor-completions/_tidegate"
  install -D -m 644 "$tree/share/fish/tidegate.fish" "$root/usr/share/fish/vendor_completions.d/tidegate.fish"
  install -d "$root/DEBIAN"
  architecture=$(dpkg --print-architecture)
  cat >"$root/DEBIAN/control" <<END
Package: tidegate
Version: $version
Architecture: $architecture
Maintainer: Tidegate <root@localhost>
Depends: $depends, adduser, ca-certificates
Section: net
Priority: optional
Installed-Size: $(du -sk "$root" | cut -f1)
Description: WebSocket gateway for market data
 Tidegate holds a few connections to each exchange, keeps exact order books,
 trades and sparklines in memory, and sends them to any number of WebSocket
 clients at the rate that each can take.
END
  echo /etc/tidegate/tidegate.yaml >"$root/DEBIAN/conffiles"
  for script in postinst prerm postrm; do install -m 755 "Deploy/debian/$script" "$root/DEBIAN/$script"; done
  dpkg-deb --root-owner-group --build "$root" "$folder/tidegate_${version}_$architecture.deb" >/dev/null
fi

if ldd "$binary" | grep -E 'libswift|libFoundation|libstdc|libgcc_s' >&2; then
  fail "the executable needs the libraries above, which should have been linked in"
fi
say "Needed from the system"
ldd "$binary" | sed 's/ (0x.*//; s/^\t/  /' >&2
ls -l "$folder" >&2
