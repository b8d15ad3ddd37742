#!/usr/bin/env bash
# Installs the Debian package, runs it as its user, upgrades it, removes and purges it, in an overlay of this machine's
# files and its own network. Nothing remains afterwards.
#   Deploy/debian/trial.sh [PACKAGE.deb]      default: the newest of .build-package/dist (Deploy/package.sh)
# Needs root, dpkg and permission to mount an overlay; without them it says what is missing and ends with 0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() { echo "skipped: $*" >&2; exit 0; }
[ "$(id -u)" = 0 ] || skip "the trial needs root"
for tool in dpkg-deb unshare mount chroot; do command -v $tool >/dev/null || skip "the trial needs $tool"; done
package=${1:-$(ls -t .build-package/dist/tidegate_*.deb 2>/dev/null | head -1)}
[ -f "$package" ] || skip "there is no package: Deploy/package.sh makes one"
package=$(realpath "$package")

if [ "${TRIAL_STAGE:-}" != inside ]; then
  unshare --mount --net --propagation private true 2>/dev/null || skip "this machine does not allow namespaces"
  TRIAL_STAGE=inside exec unshare --mount --net --propagation private bash "${BASH_SOURCE[0]}" "$package"
fi

work=$(mktemp -d)
mount -t tmpfs tmpfs "$work"
mkdir -p "$work"/{upper,work,root,newer}
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root" 2>/dev/null ||
  skip "this machine does not allow mounting an overlay"
mount -t proc proc "$work/root/proc"
mount --bind /dev "$work/root/dev"
mount -t tmpfs tmpfs "$work/root/tmp"
cp "$package" "$work/root/tmp/first.deb"
dpkg-deb -R "$package" "$work/newer"
version=$(sed -n 's/^Version: //p' "$work/newer/DEBIAN/control")
sed -i "s/^Version: .*/Version: $version+trial/" "$work/newer/DEBIAN/control"
dpkg-deb -Zgzip -z1 --root-owner-group --build "$work/newer" "$work/root/tmp/second.deb" >/dev/null

cat >"$work/root/tmp/inside.sh" <<'END'
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
say() { echo "  $*"; }
fail() { echo "failed: $*" >&2; exit 1; }
ip link set lo up 2>/dev/null || true

dpkg -i /tmp/first.deb >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log; fail "it cannot be installed"; }
id tidegate >/dev/null || fail "the user tidegate does not exist"
tidegate --version >/dev/null || fail "the executable does not start"
as() { su tidegate -s /bin/sh -c "$1"; }
as "tidegate check-config /etc/tidegate/tidegate.yaml" | tail -1 | grep -q ^OK || fail "its configuration is refused"
test -s /usr/share/man/man1/tidegate.1.gz || fail "it has no manual page"
say "installed $(dpkg-query -W -f '${Version}' tidegate), its configuration is valid"

as "STATE_DIRECTORY=/var/lib/tidegate exec tidegate serve --demo --listen 127.0.0.1:18080 --internal-listen 127.0.0.1:19090" \
  >/tmp/serve.log 2>&1 &
for _ in $(seq 100); do
  answer=$(curl -s http://127.0.0.1:19090/healthz || true)
  case $answer in *'"status":"ok"'*) break ;; esac
  sleep 0.2
done
case $answer in *'"status":"ok"'*) ;; *) tail -5 /tmp/serve.log; fail "it is not healthy: $answer" ;; esac
child=$(pgrep -u tidegate -x tidegate | head -1)
test "$(stat -c %U /proc/"$child")" = tidegate || fail "it does not run as its user"
kill -INT "$child"
wait || true
test -d /var/lib/tidegate || fail "it has no folder for its data"
say "ran as its user and was healthy"

echo "# of the operator" >>/etc/tidegate/tidegate.yaml
dpkg -i --force-confold /tmp/second.deb >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log; fail "it cannot be upgraded"; }
tail -1 /etc/tidegate/tidegate.yaml | grep -q operator || fail "the upgrade lost the operator's configuration"
say "upgraded to $(dpkg-query -W -f '${Version}' tidegate), the operator's configuration was kept"

dpkg -r tidegate >/dev/null 2>&1 || fail "it cannot be removed"
test -f /etc/tidegate/tidegate.yaml || fail "the removal deleted the configuration"
test ! -e /usr/bin/tidegate || fail "the executable is still there"
dpkg -P tidegate >/dev/null 2>&1 || fail "it cannot be purged"
test ! -e /etc/tidegate/tidegate.yaml || fail "the purge did not delete the configuration"
say "removed and purged"
END
chroot "$work/root" bash /tmp/inside.sh
echo "the package passed its trial"
