// A test that starts its own Kafka broker, as a process: `tandem broker`. Plain Java, so that it needs
// no test library; with JUnit, `Broker` goes into a field with @RegisterExtension or a @BeforeAll.
//
//     javac -cp 'kafka/lib/*' -d out examples/broker/OrdersTest.java
//     TANDEM=target/release/tandem java -cp 'out:kafka/lib/*' OrdersTest

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class OrdersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** A broker on a free port. It ends when its standard input closes: with this program, too. */
    static final class Broker implements AutoCloseable {
        private final Process process;
        final String bootstrap;

        Broker() throws IOException {
            String tandem = System.getenv().getOrDefault("TANDEM", "tandem");
            process = new ProcessBuilder(tandem, "broker", "--listen", "127.0.0.1:0",
                "--until-eof", "--auto-create-topics", "1")
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            // The line comes when it is ready.
            var out = new BufferedReader(new InputStreamReader(process.getInputStream()));
            var ready = Pattern.compile(".*\"listening\":\"([^\"]+)\".*").matcher(out.readLine());
            if (!ready.matches()) {
                throw new IOException("the broker does not say where it listens");
            }
            bootstrap = ready.group(1);
        }

        @Override
        public void close() throws IOException, InterruptedException {
            process.getOutputStream().close();
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }

    private static KafkaConsumer<String, String> consumer(String bootstrap, String group) {
        Map<String, Object> properties = Map.of(
            "bootstrap.servers", bootstrap,
            "group.id", group,
            "group.protocol", "consumer",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false");
        var text = new StringDeserializer();
        return new KafkaConsumer<>(properties, text, text);
    }

    private static KafkaProducer<String, String> producer(String bootstrap) {
        var text = new StringSerializer();
        return new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), text, text);
    }

    /** The service under test: writes so many bills, one for each order, and remembers where it is. */
    static void bill(String bootstrap, int count) throws Exception {
        try (var orders = consumer(bootstrap, "billing"); var bills = producer(bootstrap)) {
            orders.subscribe(List.of("orders"));
            int billed = 0;
            while (billed < count) {
                for (var order : orders.poll(Duration.ofMillis(100))) {
                    if (billed == count) {
                        break;
                    }
                    bills.send(new ProducerRecord<>("bills", "bill for " + order.value())).get();
                    var at = new TopicPartition(order.topic(), order.partition());
                    orders.commitSync(Map.of(at, new OffsetAndMetadata(order.offset() + 1)));
                    billed++;
                }
            }
        }
    }

    private static List<String> read(String bootstrap, String topic, int count) {
        List<String> all = new ArrayList<>();
        long end = System.nanoTime() + PATIENCE.toNanos();
        try (var reader = consumer(bootstrap, "test")) {
            reader.subscribe(List.of(topic));
            while (all.size() < count && System.nanoTime() < end) {
                reader.poll(Duration.ofMillis(100)).forEach(it -> all.add(it.value()));
            }
        }
        return all;
    }

    public static void main(String[] none) throws Exception {
        try (var broker = new Broker(); var producer = producer(broker.bootstrap)) {
            for (String what : List.of("apples", "pears", "plums")) {
                producer.send(new ProducerRecord<>("orders", what)).get();
            }
            bill(broker.bootstrap, 2);
            bill(broker.bootstrap, 1);
            var wanted = List.of("bill for apples", "bill for pears", "bill for plums");
            var bills = read(broker.bootstrap, "bills", 3);
            if (!bills.equals(wanted)) {
                throw new AssertionError(bills + " instead of " + wanted);
            }
        }
        System.out.println("each order was billed once");
    }
}
