//! The limits of an edge. A connection that would exceed one is closed; other connections are not
//! affected.

/// Buffered bytes in one direction of one connection above which the edge stops reading, so that
/// further bytes wait in the system's buffers. A slow link carries at most this much per delay.
pub(super) const QUEUED_MAX: usize = 1 << 20;
/// Bytes of single requests or answers that rules hold, per connection and direction.
pub(super) const HELD_MAX: usize = 16 << 20;
/// The longest answer that is read as a whole, to rewrite its addresses. By default librdkafka and
/// Java clients fetch at most 50 MiB.
pub(super) const ANSWER_MAX: usize = 64 << 20;
/// The longest request: Kafka's own `socket.request.max.bytes`.
pub(super) const REQUEST_MAX: usize = 100 << 20;
/// The longest request that an edge answers itself.
pub(super) const ANSWERED_MAX: usize = 16 << 20;
/// The greatest distance of `acks` from the start of a Produce request: two strings of 32 KiB, and
/// the fields around them.
pub(super) const HEAD_MAX: usize = 68 << 10;
/// Requests of one connection that wait for their answers. librdkafka stops at 1,000,000, Java at
/// 5, and a broker reads one at a time.
pub(super) const OUTSTANDING_MAX: usize = 10_000;
/// Buffered bytes of all connections together.
pub(super) const BUFFERED_MAX: usize = 512 << 20;
/// Connections of one edge.
pub(super) const EDGE_CONNECTIONS_MAX: usize = 512;
/// Connections of all edges.
pub(super) const CONNECTIONS_MAX: usize = 8_192;
/// Edges of one client: one for each broker, and for each name under which a broker is known.
pub(super) const CLIENT_EDGES_MAX: usize = 256;
/// Edges of all clients.
pub(super) const EDGES_MAX: usize = 4_096;
/// Rules in force at once.
pub(super) const RULES_MAX: usize = 1_000;
/// Healed faults for which one edge waits for the first answer.
pub(super) const AWAITED_MAX: usize = 64;
/// The size of one read.
pub(super) const READ_MAX: usize = 64 << 10;
