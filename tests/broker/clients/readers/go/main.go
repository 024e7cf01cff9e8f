// One member of a consumer group, or a producer, on franz-go. What it says on standard output is in
// tests/support/foreign/log.rs; each line is one write, so that lines of several members do not mix.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if os.Args[1] == "produce" {
		produce(os.Args[2], os.Args[3], number(os.Args[4]))
	} else {
		consume(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6], number(os.Args[7]))
	}
}

func number(text string) int {
	number, err := strconv.Atoi(text)
	must(err)
	return number
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func say(words ...string) {
	_, err := os.Stdout.WriteString(strings.Join(words, " ") + "\n")
	must(err)
}

// Reads how many messages are wanted next, a line each.
func produce(bootstrap, topic string, width int) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	must(err)
	sent := 0
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		for end := sent + number(orders.Text()); sent < end; sent++ {
			value := fmt.Sprintf("%d-%d", sent%width, sent/width)
			record := &kgo.Record{Partition: int32(sent % width), Value: []byte(value)}
			client.Produce(context.Background(), record, func(_ *kgo.Record, err error) { must(err) })
		}
		must(client.Flush(context.Background()))
		say("produced", strconv.Itoa(sent))
	}
}

// The partitions that a member holds.
type held struct {
	name    string
	guard   sync.Mutex
	all     map[int32]bool
	unsaved map[int32]int64
}

func (h *held) change(gained, lost []int32) {
	h.guard.Lock()
	defer h.guard.Unlock()
	for _, partition := range gained {
		h.all[partition] = true
	}
	for _, partition := range lost {
		delete(h.all, partition)
		delete(h.unsaved, partition)
	}
	var all []int
	for partition := range h.all {
		all = append(all, int(partition))
	}
	sort.Ints(all)
	words := []string{h.name, "assigned"}
	for _, partition := range all {
		words = append(words, strconv.Itoa(partition))
	}
	say(words...)
}

func consume(bootstrap, topic, group, name, protocol string, sessionMs int) {
	holds := &held{name: name, all: map[int32]bool{}, unsaved: map[int32]int64{}}
	session := time.Duration(sessionMs) * time.Millisecond
	lost := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
		holds.change(nil, gone[topic])
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(session / 20),
		kgo.FetchMaxWait(50 * time.Millisecond),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, new map[string][]int32) {
			holds.change(new[topic], nil)
		}),
		kgo.OnPartitionsRevoked(lost),
		kgo.OnPartitionsLost(lost),
	}
	if protocol == "range" {
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	client, err := kgo.NewClient(options...)
	must(err)
	stop, done := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer done()
	for stop.Err() == nil {
		turn(client, stop, holds)
	}
	client.CloseAllowingRebalance()
}

// Hears some messages and commits them, before partitions may move.
func turn(client *kgo.Client, stop context.Context, holds *held) {
	waited, end := context.WithTimeout(stop, 100*time.Millisecond)
	defer end()
	defer client.AllowRebalance()
	fetches := client.PollRecords(waited, 500)
	heard := []string{holds.name, "heard"}
	holds.guard.Lock()
	defer holds.guard.Unlock()
	fetches.EachPartition(func(of kgo.FetchTopicPartition) {
		if len(of.Records) == 0 {
			return
		}
		for _, record := range of.Records {
			if wanted := fmt.Sprintf("%d-%d", record.Partition, record.Offset); len(record.Value) != 0 &&
				string(record.Value) != wanted {
				must(fmt.Errorf("%s instead of %s", record.Value, wanted))
			}
		}
		first, last := of.Records[0].Offset, of.Records[len(of.Records)-1].Offset
		if last-first+1 != int64(len(of.Records)) {
			must(fmt.Errorf("a hole between %d and %d of %d", first, last, of.Partition))
		}
		heard = append(heard, fmt.Sprintf("%d:%d-%d", of.Partition, first, last))
		holds.unsaved[of.Partition] = last + 1
	})
	if len(heard) > 2 {
		say(heard...)
	}
	if len(holds.unsaved) == 0 {
		return
	}
	if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "not committed:", err)
		return
	}
	commits := []string{holds.name, "committed"}
	for partition, end := range holds.unsaved {
		commits = append(commits, fmt.Sprintf("%d:%d", partition, end))
	}
	say(commits...)
	holds.unsaved = map[int32]int64{}
}
