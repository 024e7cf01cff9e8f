// One member of a consumer group, or a producer, on kafkajs. What it says on standard output is in
// tests/support/foreign/log.rs; each line is one write, so that lines of several members do not mix.
"use strict";

const fs = require("node:fs");
const readline = require("node:readline");
const { CompressionTypes, Kafka, Partitioners, logLevel } = require("kafkajs");

// Never through process.stdout: it would make the pipe non-blocking for all who share it.
const say = (...words) => fs.writeSync(1, words.join(" ") + "\n");

const complain = (what) => fs.writeSync(2, `${what?.stack ?? what}\n`);

function client(bootstrap) {
  const logCreator = () => (entry) => complain(JSON.stringify(entry));
  const retry = { initialRetryTime: 50, maxRetryTime: 500, retries: 30 };
  return new Kafka({ brokers: [bootstrap], logLevel: logLevel.WARN, logCreator, retry });
}

// Reads how many messages are wanted next, a line each.
async function produce(bootstrap, topic, widthText) {
  const width = Number(widthText);
  const producer = client(bootstrap).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  let sent = 0;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    for (const end = sent + Number(line); sent < end; ) {
      const messages = [];
      for (; sent < end && messages.length < 500; sent += 1) {
        const partition = sent % width;
        messages.push({ partition, value: `${partition}-${Math.floor(sent / width)}` });
      }
      await producer.send({ topic, messages, acks: -1, compression: CompressionTypes.GZIP });
    }
    say("produced", sent);
  }
  await producer.disconnect();
}

async function consume(bootstrap, topic, groupId, name, _protocol, sessionMs) {
  const sessionTimeout = Number(sessionMs);
  const heartbeatInterval = sessionTimeout / 20;
  const consumer = client(bootstrap).consumer({
    groupId,
    sessionTimeout,
    heartbeatInterval,
    maxWaitTimeInMs: 50,
  });
  const { CRASH, GROUP_JOIN, REBALANCING } = consumer.events;
  const holds = (partitions) => say(name, "assigned", ...partitions.sort((a, b) => a - b));
  consumer.on(GROUP_JOIN, ({ payload }) => holds(payload.memberAssignment[topic] ?? []));
  consumer.on(REBALANCING, () => holds([]));
  consumer.on(CRASH, ({ payload }) => {
    complain(payload.error);
    if (!payload.restart) process.exit(1);
  });
  process.on("SIGTERM", () => consumer.disconnect().then(() => process.exit(0)));
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const eachBatch = async ({ batch }) => {
    const { messages, partition } = batch;
    if (messages.length === 0) return;
    const first = Number(messages[0].offset);
    messages.forEach(({ offset, value }, at) => {
      const wanted = `${partition}-${first + at}`;
      if (Number(offset) !== first + at || (value?.length && value.toString() !== wanted)) {
        complain(`${value} at ${offset} instead of ${wanted}`);
        process.exit(1);
      }
    });
    const end = first + messages.length;
    say(name, "heard", `${partition}:${first}-${end - 1}`);
    await consumer.commitOffsets([{ topic, partition, offset: String(end) }]);
    say(name, "committed", `${partition}:${end}`);
  };
  await consumer.run({ autoCommit: false, eachBatch });
}

const [what, ...rest] = process.argv.slice(2);
(what === "produce" ? produce : consume)(...rest).catch((error) => {
  complain(error);
  process.exit(1);
});
