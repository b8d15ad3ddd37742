#!/usr/bin/env bash
# Tries the service of the Debian package under a real systemd, which is the first process of its own namespaces, in an
# overlay of this machine's files. Nothing remains afterwards. A prober requests the instruments while the service
# restarts, reloads and is upgraded: no request may be refused.
#   Deploy/debian/systemd.sh [PACKAGE.deb]     default: the newest of .build-package/dist (Deploy/package.sh)
# Needs root, systemd, dpkg, python3 and permission to mount an overlay; without them it says what is missing and ends
# with 0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() { echo "skipped: $*" >&2; exit 0; }
[ "$(id -u)" = 0 ] || skip "the trial needs root"
for tool in dpkg-deb unshare nsenter pivot_root python3 ip; do
  command -v $tool >/dev/null || skip "the trial needs $tool"
done
[ -x /lib/systemd/systemd ] || skip "the trial needs systemd"
package=${1:-$(ls -t .build-package/dist/tidegate_*.deb 2>/dev/null | head -1)}
[ -f "$package" ] || skip "there is no package: Deploy/package.sh makes one"
package=$(realpath "$package")

if [ "${TRIAL_STAGE:-}" = boot ]; then
  # In the namespaces, as their first process: makes the overlay, and becomes systemd.
  mount -t tmpfs tmpfs "$TRIAL_WORK"
  mkdir -p "$TRIAL_WORK"/{upper,work,root}
  root=$TRIAL_WORK/root
  mount -t overlay overlay -o "lowerdir=/,upperdir=$TRIAL_WORK/upper,workdir=$TRIAL_WORK/work" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  mount -t devtmpfs devtmpfs "$root/dev"
  mount -t tmpfs tmpfs "$root/run"
  mkdir -p "$root/opt/trial" "$root/etc/systemd/system" "$root/old"
  cp "$package" "$root/opt/trial/first.deb"
  # Of the machine's units, only the journal is started.
  units=$root/etc/systemd/system
  rm -f "$units/default.target"
  printf '[Unit]\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n' >"$units/trial.target"
  ln -s trial.target "$units/default.target"
  for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-{control,kernel}.socket tmp.mount \
    systemd-remount-fs.service systemd-sysctl.service systemd-modules-load.service dev-{hugepages,mqueue}.mount \
    sys-kernel-{debug,tracing,config}.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount \
    systemd-random-seed.service systemd-update-utmp.service systemd-logind.service systemd-timesyncd.service \
    systemd-firstboot.service ldconfig.service; do
    ln -sf /dev/null "$units/$unit"
  done
  : >"$root/etc/fstab"
  : >"$root/etc/machine-id"
  cd "$root"
  mount --make-rprivate /
  pivot_root . old
  umount -l /old
  exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --log-target=journal \
    --show-status=false
fi

unshare --mount --net --pid --fork --cgroup --propagation private true 2>/dev/null ||
  skip "this machine does not allow namespaces"
work=$(mktemp -d)
TRIAL_STAGE=boot TRIAL_WORK=$work unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup \
  --propagation private bash "${BASH_SOURCE[0]}" "$package" >"$work.log" 2>&1 </dev/null &
outer=$!
trap 'kill -9 $outer 2>/dev/null || true; wait $outer 2>/dev/null || true; rm -rf "$work" "$work.log"' EXIT
first=
for _ in $(seq 100); do
  first=$(pgrep -P $outer || true)
  [ -n "$first" ] && [ "$(cat "/proc/$first/comm")" = systemd ] && break
  kill -0 $outer 2>/dev/null || { cat "$work.log" >&2; skip "systemd does not start in a namespace of this machine"; }
  sleep 0.1
done
inside() {
  nsenter -t "$first" -m -p -n -u -i -C -r -w \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}
for _ in $(seq 100); do
  case $(inside systemctl is-system-running 2>/dev/null || true) in running | degraded) break ;; esac
  sleep 0.2
done

cat >"/proc/$first/root/opt/trial/inside.sh" <<'END'
set -eu
cd /opt/trial
say() { echo "  $*"; }
fail() {
  echo "failed: $*" >&2
  systemctl status tidegate --no-pager | head -20 >&2 || true
  journalctl -u tidegate --no-pager -n 30 | cut -c1-240 >&2 || true
  exit 1
}
of() { systemctl show tidegate -p "$1" --value; }
is() { [ "$(of "$1")" = "$2" ] || fail "$1 is $(of "$1"), not $2"; }
until_true() { # what, seconds, command…
  local what=$1 end=$(($(date +%s) + $2))
  shift 2
  until "$@" 2>/dev/null; do
    [ "$(date +%s)" -lt $end ] || fail "not within the time limit: $what"
    sleep 0.1
  done
}
ready() { curl -sf http://127.0.0.1:9090/readyz >/dev/null; }
begin_probing() { python3 probe.py & prober=$!; sleep 1; }
end_probing() { sleep 2; kill -TERM $prober; wait $prober || fail "$1: clients were turned away"; }
ip link set lo up

cat >probe.py <<'PROBE'
import json, signal, socket, sys, time
ended = False
def end(*_):
    global ended
    ended = True
signal.signal(signal.SIGTERM, end)
good, bad, slowest = 0, [], 0
while not ended:
    began = time.monotonic()
    try:
        peer = socket.create_connection(("127.0.0.1", 8080), 20)
        peer.sendall(b"GET /v1/instruments HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        data = b""
        while part := peer.recv(65536):
            data += part
        peer.close()
        head, _, body = data.partition(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 200") and json.loads(body)["instruments"]:
            good += 1
        else:
            bad.append(data[:300])
    except (OSError, ValueError, KeyError) as error:
        bad.append(repr(error))
    slowest = max(slowest, time.monotonic() - began)
    time.sleep(0.02)
print(f"    {good} requests answered, {len(bad)} refused or without an answer; the slowest took {slowest:.2f} s")
if bad:
    print(*bad[:3], sep="\n", file=sys.stderr)
sys.exit(1 if bad or good < 20 else 0)
PROBE

dpkg -i first.deb >dpkg.log 2>&1 || { cat dpkg.log; fail "it cannot be installed"; }
tidegate simulate --venue kraken --listen 127.0.0.1:9001 --rate 20 >/dev/null 2>&1 &
cat >/etc/tidegate/tidegate.yaml <<'YAML'
listen: 127.0.0.1:8080
internal-listen: 127.0.0.1:9090
feeds:
  kraken: {symbols: [BTC-USD, ETH-USD], endpoint: "ws://127.0.0.1:9001/v2"}
drain: {seconds: 2}
upgrade: {drain-seconds: 2}
YAML
mkdir -p /etc/systemd/system/tidegate.service.d
printf '[Service]\nWatchdogSec=4\n' >/etc/systemd/system/tidegate.service.d/trial.conf
systemctl daemon-reload
systemctl reset-failed tidegate 2>/dev/null || true
systemctl restart tidegate
until_true "it is ready" 20 ready
[ "$(ps -o user= -p "$(of MainPID)")" = tidegate ] || fail "it does not run as its user"
until_true "systemd keeps its sockets" 5 sh -c '[ "$(systemctl show tidegate -p NFileDescriptorStore --value)" = 2 ]'
say "started as its user: $(of StatusText); systemd keeps $(of NFileDescriptorStore) sockets"
systemd-analyze security --no-pager --threshold=20 tidegate >security 2>&1 || fail "$(tail -1 security)"
say "$(tail -1 security | sed 's/^[^O]*//; s/ *:-.*//')"

begin_probing
systemctl restart tidegate
until_true "it is ready again" 20 ready
end_probing restart
say "restarted: no request was refused"

before=$(of MainPID)
sed -i 's/ETH-USD/ETH-USD, SOL-USD/' /etc/tidegate/tidegate.yaml
begin_probing
systemctl reload tidegate
until_true "the new symbol is there" 10 sh -c 'curl -s http://127.0.0.1:8080/v1/instruments | grep -q SOL-USD'
end_probing reload
is MainPID "$before"
say "reloaded: the same process follows one more symbol"

begin_probing
systemctl kill --kill-whom=main --signal=SIGUSR2 tidegate
until_true "another process is the main one" 20 sh -c "[ \$(systemctl show tidegate -p MainPID --value) != $before ]"
until_true "the one before has ended" 20 sh -c "! kill -0 $before"
until_true "it is ready" 5 ready
end_probing SIGUSR2
is NRestarts 0
is SubState running
say "taken over after SIGUSR2: $(of StatusText)"

dpkg-deb -R first.deb newer
sed -i 's/^Version: .*/&+trial/' newer/DEBIAN/control
dpkg-deb -Zgzip -z1 --root-owner-group --build newer second.deb >/dev/null
before=$(of MainPID)
begin_probing
dpkg -i --force-confold second.deb >dpkg.log 2>&1 || { cat dpkg.log; fail "it cannot be upgraded"; }
until_true "the new program is the main one" 20 sh -c "[ \$(systemctl show tidegate -p MainPID --value) != $before ]"
until_true "the one before has ended" 20 sh -c "! kill -0 $before"
end_probing "the upgrade of the package"
is NRestarts 0
say "the package was upgraded under its clients"

kill -STOP "$(of MainPID)"
until_true "the watchdog restarts it" 30 sh -c '[ "$(systemctl show tidegate -p NRestarts --value)" = 1 ]'
until_true "it is ready after that" 20 ready
say "suspended: the watchdog restarted it"

# If this machine does not allow raising the limit, libdispatch logs a complaint about its first thread's priority.
allowed="Failed to set thread priority.*errno=13"
grep -q "Max nice priority *24" "/proc/$(of MainPID)/limits" && allowed="(nothing)"
! journalctl -u tidegate --no-pager | grep -i "failed to\|fatal" | grep -v "$allowed" ||
  fail "the journal has complaints"
systemctl stop tidegate
is Result success
is SubState dead
say "stopped: $(journalctl -u tidegate --no-pager -g drained -o cat -n 1 | sed 's/.*msg=//' | head -c 60)"
dpkg -P tidegate >dpkg.log 2>&1 || { cat dpkg.log; fail "it cannot be purged"; }
say "purged"
END
inside bash /opt/trial/inside.sh
echo "the service passed its trial under $(/lib/systemd/systemd --version | head -1)"
