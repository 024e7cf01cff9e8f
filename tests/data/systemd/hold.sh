# What tandem-hold@.service and tandem-observe@.service promise, on the broker of tandem-up@held.
. /try/common.sh

# A host that holds a member up for two seconds takes no role from it.
sed -i 's/hold: 500ms/&, session: 4s/' /etc/tandem/held.yaml
sed 's/^NAME=a/NAME=b/' /etc/tandem/hold/a.env >/etc/tandem/hold/b.env
printf '#!/bin/bash\nexec -a nightly sleep 1000\n' >/usr/local/bin/nightly.sh
chmod 755 /usr/local/bin/nightly.sh

commands() { pgrep -x -f 'nightly 1000'; }
one() { [ "$(commands | wc -l)" = 1 ]; }
# The unit that runs the command, in a cgroup of its own.
unit_of() { sed -n 's|.*/\(tandem-hold@.\)\.service/tandem-hold-[0-9-]*$|\1|p' "/proc/$1/cgroup"; }
observed() {
    tandem status --pid "$(main_of tandem-observe@held)" --wait "$1" --within 1m >/dev/null
}
# Who leads a partition, as the observer said last.
leader() {
    grep " leaders group=p1 partition=$1 " /run/tandem-observe@held.service.log \
        | tail -n 1 | sed 's/.* leaders=\([^ ]*\) .*/\1/'
}
# Each of the two members leads one of the two partitions: no rebalance is to come.
shared() {
    [ -n "$(leader 0)" ] && [ -n "$(leader 1)" ] && [ "$(leader 0)" != "$(leader 1)" ] && one
}

step "two programs, one leads"
systemctl start tandem-up@held tandem-observe@held || fail "the broker or the observer"
systemctl start tandem-hold@a tandem-hold@b || fail "the programs"
eventually "that each leads a role" shared
observed led || fail "the observer does not see it led"

step "the leader is killed: its command ends at once, another leads, the unit starts again"
# A host that holds its member up for the hold ends the command, and another begins.
found() {
    pid=$(commands) && first=$(unit_of "$pid") && [ -n "$first" ] \
        && main=$(main_of "$first") && [ "$main" != 0 ]
}
eventually "a command in a unit" found
kill -KILL "$main"
gone() { [ ! -e "/proc/$pid" ]; }
eventually "the end of the command" gone
eventually "one command" one
again() { runs "$first" && [ "$(main_of "$first")" != "$main" ] && is "$first" active; }
eventually "the unit again" again
eventually "that each leads a role" shared
observed led || fail "the observer does not see it led again"
known() { grep -q " died life=p1-${first#*@}.1" /run/tandem-observe@held.service.log; }
eventually "that the observer knows of the death" known

step "the observer is killed, and observes again"
main=$(main_of tandem-observe@held) first=tandem-observe@held
kill -KILL "$main"
eventually "the observer again" again
eventually "that it is led" observed led

step "stops leave nothing"
systemctl stop tandem-hold@a tandem-hold@b || fail "they do not stop"
[ -z "$(commands)" ] || fail "a command runs"
eventually "the end of keepers and witnesses" none held
observed down || fail "the observer does not see it down"
systemctl stop tandem-observe@held tandem-up@held || fail "they do not stop"
eventually "the end of what was kept up" none kept
left() { pgrep -u tandem; }
eventually "the end of the user's last process" none left
