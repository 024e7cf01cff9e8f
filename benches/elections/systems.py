"""The systems: how each starts, and what a contender of it prints when it leads."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


class Missing(Exception):
    """A program is not on this machine."""


def program(*names):
    """The first of these programs that is there."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise Missing(f"{names[0]} is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class System:
    """One server in a folder of its own. `settle` is how long a contender takes to stand by."""

    settle = 2.0

    def __init__(self, name, args):
        self.name, self.args, self.server = name, args, None
        self.find()

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="elections-"))
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.terminate()
            try:
                self.server.wait(10)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def serve(self, *command, port, **more):
        """Starts the server, and waits until it accepts."""
        log = open(self.folder / "server.log", "wb")
        self.server = subprocess.Popen(command, stdout=log, stderr=log, **more)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.server.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "server.log").read_text(errors="replace")[-2000:])

    def spawn(self, *command, **more):
        quiet = open(self.folder / "contenders.log", "ab")
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, **more)

    def leads(self, line):
        """True if the line says that the contender leads, False that it leads no longer."""
        return {"leads": True, "ended": False}.get(line.strip())


class Etcd(System):
    """`etcdctl lock`: a key of the contender, bound to a lease."""

    title = "etcd 3.4, `etcdctl lock`"

    def find(self):
        self.etcd, self.etcdctl = program("etcd"), program("etcdctl")
        # The server's least: three halves of an election timeout of 1 s, in whole seconds.
        self.terms = "lease 2 s, the least that it grants"

    def up(self):
        port, peer = free_port(), free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        peers = f"http://127.0.0.1:{peer}"
        self.serve(
            self.etcd, "--data-dir", str(self.folder / "data"), "--name", "one",
            "--listen-client-urls", self.endpoint, "--advertise-client-urls", self.endpoint,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"one={peers}", port=port,
        )  # fmt: skip

    def contender(self, name):
        environment = dict(os.environ, ETCDCTL_API="3")
        command = [self.etcdctl, "--endpoints", self.endpoint, "lock", "--ttl", "2", "role"]
        return self.spawn(*command, env=environment)

    def leads(self, line):
        # It prints its key once the lock is its own.
        return True if line.startswith("role/") else None


class ZooKeeper(System):
    """kazoo's lock: the lowest of ephemeral sequential nodes."""

    title = "ZooKeeper 3.8, kazoo's lock"
    tick, session = 2000, 4.0
    terms = "session 4 s, the least as shipped"

    def find(self):
        self.java = program("java")
        self.jars = "/etc/zookeeper/conf:/usr/share/java/*"
        if not Path("/usr/share/java/zookeeper.jar").exists():
            raise Missing("zookeeper is not installed")
        if subprocess.run([sys.executable, "-c", "import kazoo"], capture_output=True).returncode:
            self.python = "/usr/bin/python3"
            probe = subprocess.run([self.python, "-c", "import kazoo"], capture_output=True)
            if probe.returncode:
                raise Missing("python3-kazoo is not installed")
        else:
            self.python = sys.executable

    def up(self):
        self.port = free_port()
        settings = {
            "tickTime": self.tick,
            "dataDir": self.folder / "data",
            "clientPort": self.port,
            "admin.enableServer": "false",
        }
        lines = [f"{key}={value}" for key, value in settings.items()]
        (self.folder / "zoo.cfg").write_text("\n".join(lines) + "\n")
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        config = str(self.folder / "zoo.cfg")
        self.serve(self.java, "-cp", self.jars, main, config, port=self.port)

    def contender(self, name):
        hosts = f"127.0.0.1:{self.port}"
        script = str(HERE / "zookeeper_contender.py")
        return self.spawn(self.python, script, hosts, str(self.session), name)


class ZooKeeperFast(ZooKeeper):
    """The same with ticks of 100 ms, which makes the least session 200 ms."""

    tick, session = 100, 0.2
    terms = "session 0.2 s, with `tickTime=100`"


class Nats(System):
    """A key of a JetStream bucket, created where there is none, renewed by its holder."""

    title = "NATS 2.9, a key with a time to live"
    ttl = 1.0
    terms = "time to live 1 s"

    def find(self):
        self.nats = program("nats-server")
        self.python = self.args.nats_python
        if subprocess.run([self.python, "-c", "import nats"], capture_output=True).returncode:
            raise Missing("nats-py is not installed, see --nats-python")

    def up(self):
        self.port = free_port()
        store = str(self.folder / "store")
        self.serve(self.nats, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", store,
                   port=self.port)  # fmt: skip

    def contender(self, name):
        url = f"nats://127.0.0.1:{self.port}"
        script = str(HERE / "nats_contender.py")
        return self.spawn(self.python, script, url, str(self.ttl), name)


class Tandem(System):
    """Members of one group on an embedded broker, without a controller."""

    title = "Tandem, embedded broker"
    session = "1s"
    terms = "session 1 s, the default"
    more = ()

    def find(self):
        self.tandem = str(Path(self.args.tandem).resolve())
        if not Path(self.tandem).exists():
            raise Missing(f"{self.args.tandem} is not built: cargo build --release")
        self.lives = {}

    def up(self):
        port = free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        self.serve(self.tandem, "broker", "--listen", self.bootstrap, port=port)
        topology = self.folder / "t.yaml"
        topology.write_text(
            "version: 1\nname: elections\nroles: [r]\n"
            f'clusters: {{a: {{bootstrap: "{self.bootstrap}"}}}}\n'
            "groups: {p1: {cluster: a, members: 1}}\n"
        )
        # Creates the ledger.
        command = [self.tandem, "up", "-f", str(topology), "--for", "1s", "--keep"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def contender(self, name):
        life = self.lives[name] = self.lives.get(name, 0) + 1
        # Its standard input stays open for as long as this process lives: the end means exit.
        return self.spawn(
            self.tandem, "member", f"{name}.{life}", "--bootstrap", self.bootstrap,
            "--topic", "elections-p1", "--partitions", "1", "--consumer-group", "elections-p1",
            "--session", self.session, *self.more, stdin=subprocess.PIPE,
        )  # fmt: skip

    def leads(self, line):
        fact = json.loads(line)
        return True if "claimed" in fact else False if "lapsed" in fact else None


class TandemShort(Tandem):
    """The same with a short session."""

    session = "100ms"
    terms = "session 100 ms"
    more = ("--heartbeat", "30ms", "--wake", "15ms", "--threshold", "300ms")


class TandemStandIn(Tandem):
    """The same with stand-ins, which need no session."""

    session = "10s"
    terms = "session 10 s, stand-ins"
    more = ("--threshold", "30s", "--mesh", "127.0.0.1", "--stand-in", "13s")


SYSTEMS = {
    "tandem": Tandem,
    "tandem-100ms": TandemShort,
    "tandem-stand-in": TandemStandIn,
    "etcd": Etcd,
    "zookeeper": ZooKeeper,
    "zookeeper-fast": ZooKeeperFast,
    "nats": Nats,
}
