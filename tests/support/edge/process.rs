//! `tandem edge` as a process, and clients of its edges.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tandem::edge::{Answer, Direction, EdgeCommand, Effect, Rule, Scope, Tls};
use tandem::ids::FaultId;
use tandem::time::Mono;

/// Nothing here takes longer, however loaded the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// After a rule is in force nothing comes for so long; what would come takes well under a
/// millisecond.
pub const SILENCE: Duration = Duration::from_millis(150);

/// The process; killed with this value.
pub struct Edges {
    process: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// What was said unasked.
    passed: Vec<(String, String)>,
}

impl Edges {
    pub fn start() -> Self {
        Self::start_as(&mut Command::new(crate::program()))
    }

    /// From `tandem`, with more in its environment.
    pub fn start_as(command: &mut Command) -> Self {
        let mut process =
            command.arg("edge").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (said, answers) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                drop(said.send(serde_json::from_str(&line).unwrap()));
            }
        });
        let orders = process.stdin.take();
        Self { process, orders, answers, passed: Vec::new() }
    }

    pub fn send_line(&mut self, line: &str) -> Answer {
        writeln!(self.orders.as_mut().unwrap(), "{line}").unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).unwrap();
            let Answer::Passed { fault, broker, .. } = answer else { return answer };
            self.passed.push((fault.to_string(), broker));
        }
    }

    pub fn order(&mut self, command: &EdgeCommand) -> Answer {
        self.send_line(&serde_json::to_string(command).unwrap())
    }

    /// Where the client finds its edge to the broker.
    pub fn open(&mut self, client: &str, broker: &str) -> String {
        self.open_by(client, broker, None).unwrap()
    }

    /// The same by TLS, or why not.
    pub fn open_by(
        &mut self,
        client: &str,
        broker: &str,
        tls: Option<Tls>,
    ) -> Result<String, String> {
        let (client, cluster) = (client.parse().unwrap(), "a".parse().unwrap());
        let bootstrap = broker.to_owned();
        match self.order(&EdgeCommand::Open { client, cluster, bootstrap, tls }) {
            Answer::Opened { bootstrap } => Ok(bootstrap),
            Answer::Refused { why } => Err(why),
            answer @ (Answer::InForce { .. } | Answer::Healed { .. } | Answer::Passed { .. }) => {
                panic!("{answer:?}")
            }
        }
    }

    pub fn put(&mut self, name: &str, rule: Rule) -> Mono {
        let answer = self.order(&EdgeCommand::Break { fault: fault(name), rule });
        let Answer::InForce { t } = answer else { panic!("{answer:?}") };
        t
    }

    pub fn heal(&mut self, name: &str) -> Mono {
        let answer = self.order(&EdgeCommand::Heal { fault: fault(name) });
        let Answer::Healed { t } = answer else { panic!("{answer:?}") };
        t
    }

    pub fn refuses(&mut self, rule: Rule) -> String {
        let answer = self.order(&EdgeCommand::Break { fault: fault("x"), rule });
        let Answer::Refused { why } = answer else { panic!("{answer:?}") };
        why
    }

    /// The next that is said unasked.
    pub fn passed(&mut self) -> (String, String) {
        if self.passed.is_empty() {
            let answer = self.answers.recv_timeout(PATIENCE).unwrap();
            let Answer::Passed { fault, broker, .. } = answer else { panic!("{answer:?}") };
            return (fault.to_string(), broker);
        }
        self.passed.remove(0)
    }

    /// Whether nothing more is said unasked.
    pub fn is_silent(&self) -> bool {
        self.passed.is_empty() && self.answers.recv_timeout(SILENCE).is_err()
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn lives(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Ends its input.
    pub fn close(&mut self) {
        self.orders = None;
    }

    /// Kibibytes that the process holds in memory.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Edges {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn fault(name: &str) -> FaultId {
    FaultId::try_from(format!("1.{name}")).unwrap()
}

/// A rule for one client and all brokers.
pub fn rule(client: &str, direction: Direction, apis: &[i16], effect: Effect) -> Rule {
    Rule {
        clients: [client.parse().unwrap()].into(),
        scope: Scope { cluster: "a".parse().unwrap(), brokers: None },
        direction,
        apis: (!apis.is_empty()).then(|| apis.iter().copied().collect()),
        effect,
    }
}

/// A client that speaks frames.
pub struct Client(pub TcpStream);

impl Client {
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    /// A request with that number and correlation id, and so many bytes behind its header.
    pub fn ask(&mut self, api: i16, correlation: i32, bytes: usize) {
        self.0.write_all(&request(api, correlation, bytes)).unwrap();
    }

    /// The next answer's correlation id and body.
    pub fn answer(&mut self) -> (i32, Vec<u8>) {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut frame).unwrap();
        let body = frame.split_off(4);
        (i32::from_be_bytes(frame.try_into().unwrap()), body)
    }

    /// Asks, and sees its answer.
    pub fn exchange(&mut self, api: i16, correlation: i32) {
        self.ask(api, correlation, 10);
        assert_eq!(self.answer().0, correlation);
    }

    /// Whether nothing comes for a while.
    pub fn hears_nothing(&mut self) -> bool {
        self.0.set_read_timeout(Some(SILENCE)).unwrap();
        let read = self.0.peek(&mut [0; 1]);
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// How the connection ends.
    pub fn end(&mut self) -> std::io::Result<usize> {
        self.0.read(&mut [0; 1])
    }

    /// Whether it ends by a reset, and not in good order.
    pub fn is_reset(&mut self) -> bool {
        self.end().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    }

    /// Whether it ends so at a request. The reset may come before the request was written, and is
    /// the error of the write then, and of nothing after it.
    pub fn is_reset_at(&mut self, api: i16, correlation: i32, bytes: usize) -> bool {
        match self.0.write_all(&request(api, correlation, bytes)) {
            Ok(()) => self.is_reset(),
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

pub fn request(api: i16, correlation: i32, bytes: usize) -> Vec<u8> {
    let mut frame = [api.to_be_bytes(), 3_i16.to_be_bytes()].concat();
    frame.extend(correlation.to_be_bytes());
    frame.extend([0xff, 0xff]);
    frame.extend((0..bytes).map(|at| (at * 7 + correlation as usize) as u8));
    let mut framed = (frame.len() as u32).to_be_bytes().to_vec();
    framed.extend(frame);
    framed
}
