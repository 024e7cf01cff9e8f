//! Fault windows in Grafana, checked against a small server that takes what Grafana's HTTP API
//! documents for `POST /api/annotations`, and refuses everything else. No Grafana itself is run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tandem::observation::{RunEvent, What};
use tandem::time::Mono;

use support::experiment::{Experiment, eventually};
use support::web::{free_port, get, samples};

/// The dead are back sooner than by default, so a trial is over sooner.
const BRISK: &str = "--set defaults.threshold=1500ms --set defaults.restart.after=1500ms";
const TOKEN: &str = "glsa_this-is-secret";

/// What the server does.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Takes,
    Refuses,
    Hangs,
}

/// What it was sent that it took.
type Taken = Arc<Mutex<Vec<Value>>>;

fn server(manner: Manner) -> (u16, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Taken::default();
    let kept = Arc::clone(&taken);
    // It ends with the test's process.
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if manner == Manner::Hangs {
                held.push(stream);
                continue;
            }
            answer(stream, manner, &kept);
        }
    });
    (port, taken)
}

/// Requests of one connection.
fn answer(stream: TcpStream, manner: Manner, taken: &Taken) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut bearer, mut json) = (0, String::new(), false);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").unwrap();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => bearer = value.to_owned(),
                "content-type" => json = value == "application/json",
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let fits = first.starts_with("POST /api/annotations HTTP/1.1")
            && json
            && bearer == format!("Bearer {TOKEN}")
            && manner == Manner::Takes;
        let annotation = serde_json::from_slice::<Value>(&body).ok().filter(documented);
        let (status, says) = match (fits, annotation) {
            (false, _) => ("401 Unauthorized", "{\"message\":\"Invalid API key\"}"),
            (true, None) => ("400 Bad Request", "{\"message\":\"bad request data\"}"),
            (true, Some(annotation)) => {
                taken.lock().unwrap().push(annotation);
                ("200 OK", "{\"message\":\"Annotation added\",\"id\":1}")
            }
        };
        let length = says.len();
        let kind = "Content-Type: application/json";
        let head = format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
        if stream.write_all(format!("{head}{says}").as_bytes()).is_err() {
            return;
        }
    }
}

/// The fields that the API documents, each of its type, and no others.
fn documented(annotation: &Value) -> bool {
    let Some(fields) = annotation.as_object() else { return false };
    let known = fields.iter().all(|(name, value)| match name.as_str() {
        "dashboardUID" | "text" => value.is_string(),
        "panelId" => value.is_u64(),
        // Milliseconds, not nanoseconds: between the years 2001 and 2286.
        "time" | "timeEnd" => {
            value.as_u64().is_some_and(|ms| (1_000_000_000_000..10_000_000_000_000).contains(&ms))
        }
        "tags" => value.as_array().is_some_and(|tags| tags.iter().all(Value::is_string)),
        _ => false,
    });
    known && fields.get("text").is_some_and(|text| text != "")
}

const WITH_TOKEN: &str = "export GRAFANA_TOKEN=glsa_this-is-secret";

/// All of them, unless the run says at its end that some were not taken in time.
#[test]
fn each_fault_window_is_shown_with_its_times() {
    let (port, taken) = server(Manner::Takes);
    let scraped = free_port();
    let args = format!("--grafana http://127.0.0.1:{port} --metrics 127.0.0.1:{scraped}");
    let experiment = Experiment::claimless("kill-leader").with(&format!("--trials 2 {BRISK}"));
    let running = experiment.with(&args).after(WITH_TOKEN).start();
    // The other outlet of a run, while it goes on: four roles in two groups.
    eventually("a scrape", Duration::from_secs(60), || {
        let (_, text) = get(scraped, "/metrics").ok().filter(|(status, _)| *status == 200)?;
        let series = samples(&text).into_iter();
        let leaders = series.filter(|(name, _)| name.starts_with("neli_role_leaders{")).count();
        (leaders == 8).then_some(())
    });
    let finished = running.finish();
    finished.sound();
    let recording = finished.recording();
    let (zero, zero_wall) = (recording.header.zero, recording.header.zero_wall);
    let ms = |at: Mono| {
        let wall = u64::try_from(zero_wall.0).unwrap();
        wall + u64::try_from(at.since(zero).as_millis()).unwrap()
    };
    let facts = &recording.facts;
    let times = |asked: bool| {
        let fits = move |what: &What| match what {
            What::Run(RunEvent::FaultAsked { .. }) => asked,
            What::Run(RunEvent::FaultHealed { .. }) => !asked,
            _ => false,
        };
        facts.iter().filter(move |fact| fits(&fact.what)).map(|fact| ms(fact.t))
    };
    let windows: Vec<_> = times(true).zip(times(false)).collect();
    assert_eq!(windows.len(), 2, "one a trial: {finished}");
    let taken = taken.lock().unwrap();
    let mut shown: Vec<_> = taken
        .iter()
        .map(|one| (one["time"].as_u64().unwrap(), one["timeEnd"].as_u64().unwrap()))
        .collect();
    // What is answered late is sent again.
    shown.dedup();
    if finished.stderr.contains("annotations were lost") {
        assert!(shown.iter().all(|one| windows.contains(one)), "{shown:?}: {finished}");
    } else {
        assert_eq!(shown, windows, "{finished}");
    }
    for one in &*taken {
        assert_eq!(one["dashboardUID"], "tandem-neli");
        assert_eq!(one["tags"][0], "tandem");
        assert_eq!(one["tags"][1], "fault");
        assert_eq!(one["tags"][2], "kill");
        assert!(one["text"].as_str().unwrap().starts_with("kill of p"), "{one}");
    }
    for output in [&finished.stdout, &finished.stderr] {
        assert!(!output.contains(TOKEN), "the token is never shown");
    }
}

#[test]
fn annotations_that_are_not_taken_are_reported() {
    for (manner, message) in
        [(Manner::Refuses, "grafana: 1 of 1 annotations were lost"), (Manner::Hangs, "grafana: ")]
    {
        let (port, _) = server(manner);
        let args = format!("--trials 1 {BRISK} --grafana http://127.0.0.1:{port}");
        let experiment = Experiment::claimless("kill-leader").with(&args).after(WITH_TOKEN);
        let finished = experiment.finish();
        finished.sound();
        assert!(finished.stderr.contains(message), "{finished}");
    }
}

#[test]
fn an_invalid_address_is_refused() {
    let finished = Experiment::new("chaos/kill-leader.yaml").with("--grafana localhost").finish();
    assert_eq!(finished.code(), Some(2), "{finished}");
    assert!(finished.stderr.contains("is not an address of Grafana"), "{finished}");
    assert!(!finished.out.exists(), "{finished}");
}
