# What tandem-up@.service promises: `systemctl` restarts `tandem up` alone, and stops everything.
. /try/common.sh
unit=tandem-up@solo

led() { tandem status --wait led --within 1m >/dev/null || fail "solo is not led"; }

step "a start waits until the status answers"
systemctl start $unit || fail "it does not start"
tandem status >/dev/null
[ $? != 1 ] || fail "it was called ready, and its status does not answer"
led
members=$(kept) main=$(main_of $unit)
[ -n "$members" ] || fail "nothing is kept up"

step "tandem up is killed: members go on, and another watches them"
kill -KILL "$main"
again() { runs $unit && [ "$(main_of $unit)" != "$main" ] && is $unit active; }
eventually "another tandem up" again
led
same "what is kept up" "$members" "$(kept)"

step "a restart: as well"
main=$(main_of $unit)
systemctl restart $unit || fail "it does not restart"
other "the main process" "$main" "$(main_of $unit)"
led
same "what is kept up" "$members" "$(kept)"

step "the supervisor is killed: the unit starts anew"
main=$(main_of $unit)
pkill -KILL -f '^(/usr/local/bin/)?tandem supervisor'
eventually "another tandem up" again
led
for pid in $members; do
    gone() { [ ! -e "/proc/$pid" ]; }
    eventually "the end of process $pid of the first supervisor" gone
done

step "a stop ends everything"
systemctl stop $unit || fail "it does not stop"
eventually "the end of what was kept up" none kept
is $unit inactive || fail "it is $(systemctl is-active $unit)"
eventually "the end of tandem-end@" is tandem-end@solo inactive

step "a stop between two starts ends everything, too"
systemctl start $unit
led
# Kills it. Half a second later it is started again: a busy host may see it no sooner than that.
dies() {
    systemctl kill --signal KILL --kill-whom main $unit
    for _ in $(seq 10); do
        runs $unit || return 0
        sleep 0.02
    done
    return 1
}
eventually "the end of tandem up before its next start" dies
[ -n "$(kept)" ] || fail "nothing was left to end"
systemctl stop $unit
eventually "the end of what was kept up" none kept

step "a restart with an invalid file: members go on, until a stop"
systemctl start $unit
led
members=$(kept)
echo 'roles: [}' >/etc/tandem/solo.yaml
systemctl restart $unit 2>/dev/null && fail "an invalid file is started"
sleep 1 # Nothing says that systemd has done all that it does.
same "what is kept up" "$members" "$(kept)"
systemctl stop $unit
eventually "the end of what was kept up" none kept
eventually "the end of tandem-end@" is tandem-end@solo inactive
