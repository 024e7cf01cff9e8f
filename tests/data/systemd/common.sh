# What the scripts of this folder share. They run under the systemd of `deploy/systemd/try`.
set -uo pipefail

fail() {
    echo "FAILED: $*"
    systemctl status --no-pager --full --lines=0 'tandem-*'
    tail -n 20 /run/*.log
    exit 1
}

step() { echo "== $*"; }

# eventually WHAT COMMAND...: waits until the command succeeds.
eventually() {
    local what=$1
    shift
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    fail "$what: not within a minute"
}

same() { [ "$2" = "$3" ] || fail "$1: it was $2, and is $3"; }
other() { [ "$2" != "$3" ] || fail "$1: it is $2, as before"; }

# As the user of the units: its home says where their state is.
tandem() { runuser -u tandem -- env -i HOME=/var/lib/tandem /usr/local/bin/tandem "$@"; }
main_of() { systemctl show --property MainPID --value "$1"; }
# A unit that waits to start its main process again has none.
runs() { [ "$(main_of "$1")" != 0 ]; }
is() { [ "$(systemctl is-active "$1")" = "$2" ]; }
# The processes below `tandem up`, and below or beside `tandem hold`.
kept() { pgrep -f '^(/usr/local/bin/)?tandem (supervisor|guard|broker|member)' | paste -sd' '; }
held() { pgrep -f '^((/usr/local/bin/)?tandem (hold|keeper|witness)|nightly)' | paste -sd' '; }
none() { [ -z "$("$1")" ]; }
