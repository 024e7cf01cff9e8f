// Kafka Streams with a state store: counts the records of each key of the topic `words`, and says
// `KEY COUNT` on standard output for each of them. The store is RocksDB in a folder, with a changelog
// topic on the broker from which a new folder is filled.

import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;

public final class Counter {
    public static void main(String[] words) throws Exception {
        Properties properties = new Properties();
        properties.put("application.id", "counter");
        properties.put("bootstrap.servers", words[0]);
        properties.put("state.dir", words[1]);
        properties.put("default.key.serde", Serdes.String().getClass().getName());
        properties.put("default.value.serde", Serdes.String().getClass().getName());
        properties.put("num.stream.threads", 2);
        // Each update is passed on, and committed soon.
        properties.put("statestore.cache.max.bytes", 0);
        properties.put("commit.interval.ms", 100);
        properties.put("consumer.session.timeout.ms", 10000);
        properties.put("consumer.heartbeat.interval.ms", 300);
        properties.put("consumer.auto.offset.reset", "earliest");
        var builder = new StreamsBuilder();
        builder.stream("words").groupByKey().count(Materialized.as("counts")).toStream()
            .foreach((key, count) -> System.out.println(key + " " + count));
        var streams = new KafkaStreams(builder.build(), properties);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return null;
        });
        streams.start();
        Thread.currentThread().join();
    }
}
