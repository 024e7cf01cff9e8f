//! A real browser without a window: Chromium, driven over ChromeDriver's WebDriver interface.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::blocking::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use support::experiment::eventually;

/// A page may take so long to open, on a machine as loaded as it may be.
const PATIENCE: Duration = Duration::from_secs(120);
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// A browser with one page. Dropped, it is ended, and its profile is removed.
pub struct Browser {
    driver: Child,
    client: Client,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser on a free port.
    pub fn start() -> Self {
        // The provider of TLS; another thread may have installed the same one first.
        rustls::crypto::ring::default_provider().install_default().ok();
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new("chromedriver")
            .args(["--port=0", "--log-level=SEVERE"])
            // What it does not clear away goes with the profile.
            .env("TMPDIR", profile.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver: {error}; tests/all --install has it"));
        let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = said.find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("successfully on port ")?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        });
        let base = format!("http://127.0.0.1:{}", port.expect("chromedriver names its port"));
        let client = Client::builder().timeout(PATIENCE).no_proxy().build().unwrap();
        let mut arguments = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let mut browser =
            Self { driver, client, session: format!("{base}/session"), _profile: profile };
        let opened = browser.post("", &wanted);
        browser.session = format!("{base}/session/{}", opened["sessionId"].as_str().unwrap());
        browser
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let sent = self.client.post(format!("{}{path}", self.session)).json(body).send();
        let answer: Value = sent.unwrap().json().unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {}", answer["value"]);
        answer["value"].clone()
    }

    /// Says something to the browser beyond WebDriver.
    pub fn send(&self, command: &str, parameters: &Value) {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&self, file: &Path) {
        self.post("/url", &json!({"url": format!("file://{}", file.display())}));
    }

    /// What a piece of script returns.
    pub fn ask(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": format!("return {script}"), "args": []}))
    }

    /// Waits until it returns true.
    pub fn wait_for(&self, script: &str) {
        eventually(script, PATIENCE, || self.ask(script).as_bool().filter(|it| *it));
    }

    /// Waits for two frames: the page hides its tooltip when it scrolls, and hears of that in the
    /// next frame.
    pub fn await_frames(&self) {
        self.ask(
            "(() => { window.isStill = false; const still = () => { window.isStill = true; }; \
             requestAnimationFrame(() => requestAnimationFrame(still)); })()",
        );
        self.wait_for("window.isStill === true");
    }

    /// Presses keys, one after another; those without a letter by WebDriver's numbers.
    pub fn press(&self, keys: &[char]) {
        let press = |key: &char| {
            let key = key.to_string();
            [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
        };
        let actions: Vec<_> = keys.iter().flat_map(press).collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.post("/actions", &json!({"actions": [keyboard]}));
    }

    /// Moves the pointer there.
    pub fn point(&self, x: i64, y: i64) {
        let to = json!({"type": "pointerMove", "duration": 0, "x": x, "y": y});
        let pointer = json!({"type": "pointer", "id": "mouse", "actions": [to]});
        self.post("/actions", &json!({"actions": [pointer]}));
    }

    /// How large the window is, in CSS pixels.
    pub fn size(&self, width: u32, height: u32) {
        self.send(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
    }

    /// Everything that scripts or policies complained of.
    pub fn complaints(&self) -> Vec<Value> {
        self.post("/se/log", &json!({"type": "browser"})).as_array().unwrap().clone()
    }

    /// Everything that a file asked of a network or a disk since this was asked last.
    pub fn requests(&self, file: &Path) -> Vec<String> {
        let page = format!("file://{}", file.display());
        let log = self.post("/se/log", &json!({"type": "performance"}));
        let requests = log.as_array().unwrap().iter().filter_map(|entry| {
            let entry: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &entry["message"];
            // The browser's own pages are not what is looked at.
            let asks = message["method"] == "Network.requestWillBeSent"
                && message["params"]["documentURL"] == page.as_str();
            asks.then(|| message["params"]["request"]["url"].as_str().unwrap().to_owned())
        });
        requests.collect()
    }

    /// The page on paper, as a PDF in base64. WebDriver's command for that waits ten seconds, with
    /// any limit of the session; this one waits as long as `PATIENCE`.
    pub fn print(&self) -> String {
        let print = json!({"cmd": "Page.printToPDF", "params": {"printBackground": true}});
        self.post("/goog/cdp/execute", &print)["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to end it, the driver ends the browser; it is ours, and must not outlive us.
        self.client.delete(&self.session).send().ok();
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}
