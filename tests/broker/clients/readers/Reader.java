// One member of a consumer group, or a producer, on Apache Kafka's own client. What it says on
// standard output is in tests/support/foreign/log.rs; each line is one write, so that lines of
// several members do not mix.

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Reader {
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    public static void main(String[] words) throws Exception {
        if (words[0].equals("produce")) {
            produce(words[1], words[2], Integer.parseInt(words[3]));
        } else {
            new Reader(words[2], words[4]).consume(words[1], words[3], words[5], words[6]);
        }
    }

    private static synchronized void say(String line) {
        try {
            OUT.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Reads how many messages are wanted next, a line each. */
    private static void produce(String bootstrap, String topic, int width) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("compression.type", "zstd");
        var text = new StringSerializer();
        var orders = new BufferedReader(new InputStreamReader(System.in));
        try (var producer = new KafkaProducer<>(properties, text, text)) {
            int sent = 0;
            for (String line = orders.readLine(); line != null; line = orders.readLine()) {
                List<Future<?>> acknowledged = new ArrayList<>();
                for (int end = sent + Integer.parseInt(line); sent < end; sent++) {
                    String value = sent % width + "-" + sent / width;
                    var record = new ProducerRecord<>(topic, sent % width, "key", value);
                    acknowledged.add(producer.send(record));
                }
                for (Future<?> one : acknowledged) {
                    one.get();
                }
                say("produced " + sent);
            }
        }
    }

    private final String topic;
    private final String name;
    private final TreeSet<Integer> held = new TreeSet<>();
    private final TreeMap<Integer, Long> unsaved = new TreeMap<>();

    private Reader(String topic, String name) {
        this.topic = topic;
        this.name = name;
    }

    private void consume(String bootstrap, String group, String protocol, String session) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("client.id", name);
        properties.put("group.id", group);
        properties.put("fetch.max.wait.ms", "50");
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("reconnect.backoff.ms", "20");
        if (protocol.equals("consumer")) {
            properties.put("group.protocol", "consumer");
        } else {
            properties.put("session.timeout.ms", session);
            properties.put("heartbeat.interval.ms", Integer.parseInt(session) / 20);
        }
        if (protocol.equals("range")) {
            String range = "org.apache.kafka.clients.consumer.RangeAssignor";
            properties.put("partition.assignment.strategy", range);
        }
        var text = new StringDeserializer();
        var consumer = new KafkaConsumer<>(properties, text, text);
        var main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }));
        if (topic.startsWith("^")) {
            consumer.subscribe(new SubscriptionPattern(topic), listener());
        } else {
            consumer.subscribe(List.of(topic), listener());
        }
        try {
            while (true) {
                turn(consumer);
            }
        } catch (WakeupException asked) {
            consumer.close();
        }
    }

    private ConsumerRebalanceListener listener() {
        return new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> gained) {
                gained.forEach(it -> held.add(it.partition()));
                sayHeld();
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> lost) {
                held.removeAll(lost.stream().map(TopicPartition::partition).toList());
                unsaved.keySet().retainAll(held);
                sayHeld();
            }
        };
    }

    private void sayHeld() {
        String all = held.stream().map(it -> " " + it).collect(Collectors.joining());
        say(name + " assigned" + all);
    }

    /** Hears some messages, and commits what it holds. */
    private void turn(KafkaConsumer<String, String> consumer) {
        var records = consumer.poll(Duration.ofMillis(100));
        StringBuilder heard = new StringBuilder();
        for (TopicPartition at : records.partitions()) {
            long first = records.records(at).get(0).offset();
            long next = first;
            for (var record : records.records(at)) {
                String wanted = at.partition() + "-" + next;
                String value = record.value();
                boolean fits = value == null || value.isEmpty() || value.equals(wanted);
                if (record.offset() != next || !fits) {
                    throw new IllegalStateException(record + " instead of " + wanted);
                }
                next++;
            }
            heard.append(" " + at.partition() + ":" + first + "-" + (next - 1));
            unsaved.put(at.partition(), next);
        }
        if (heard.length() > 0) {
            say(name + " heard" + heard);
        }
        if (unsaved.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync();
            String ends = unsaved.entrySet().stream()
                .map(it -> " " + it.getKey() + ":" + it.getValue())
                .collect(Collectors.joining());
            say(name + " committed" + ends);
            unsaved.clear();
        } catch (WakeupException asked) {
            throw asked;
        } catch (KafkaException error) {
            System.err.println("not committed: " + error);
        }
    }
}
