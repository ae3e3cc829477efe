//! `factum job …` against a real server, whose demo agent works on the items.

use serde_json::{Value, json};

use crate::support::{Cli, Lines, output_of};

/// Watches a batch to its end: the last line, and the code.
fn watched(cli: &Cli, job: &str) -> (String, Option<i32>) {
    let (mut lines, code) = Lines::start(cli.command(&["job", "watch", job])).end();
    (lines.pop().unwrap(), code)
}

#[test]
fn every_line_of_stdin_is_an_item_and_watching_ends_with_the_batch() {
    let cli = Cli::new();
    let create = ["job", "create", "--instruction", "Say it", "--title", "Echo", "--items", "-", "--item", "first"];
    let job = output_of(&mut cli.command(&create), "{\"n\": 2}\n\nplain text\n");
    let job = job.trim();
    assert!(job.starts_with("job_"), "{job}");
    let ended = ("+ completed  Echo  3 of 3 items ended: 3 completed".to_owned(), Some(0));
    assert_eq!(watched(&cli, job), ended);
    assert_eq!(watched(&cli, job), ended, "one that has ended");

    let shown = cli.ok(&["job", "get", job]);
    for words in ["Echo", "+ completed, 3 of 3 items ended: 3 completed", "items:"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(cli.ok(&["job", "list"]).starts_with(&format!("+ {job}  completed  3/3  Echo")));
    assert_eq!(cli.json(&["job", "get", job, "--all"])["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(cli.json(&["job", "list", "--status", "running"]), json!([]));
}

#[test]
fn a_failed_item_is_tried_again_alone() {
    let cli = Cli::new();
    let job = cli.id(&["job", "create", "--instruction", "fail: on purpose", "--title", "Echo", "--item", "a"]);
    assert_eq!(watched(&cli, &job), ("x failed  Echo  1 of 1 item ended: 1 failed".to_owned(), Some(1)));
    let items = cli.json(&["job", "get", &job, "--status", "failed"])["items"].clone();
    let item = items[0]["job_item_id"].as_str().unwrap();
    cli.ok(&["job", "retry-item", &job, item, "--reason", "once more"]);
    assert_eq!(watched(&cli, &job).1, Some(1));
    assert_eq!(cli.json(&["job", "get", &job])["items"][0]["attempt_count"], 2);
}

#[test]
fn a_batch_is_cancelled_and_what_is_finished_stays() {
    let cli = Cli::new();
    let job = cli.id(&["job", "create", "--instruction", "x", "--item", "a", "--item", "b", "--queue", "nobody"]);
    let mut watch = Lines::start(cli.command(&["job", "watch", &job]));
    assert!(watch.next().contains("0 of 2 items ended"));
    cli.ok(&["job", "cancel", &job, "--reason", "nobody comes"]);
    let (lines, code) = watch.end();
    assert!(lines.last().unwrap().starts_with("- cancelled"), "{lines:?}");
    assert_eq!(code, Some(1));
}

#[test]
fn schedules_are_made_listed_and_ended() {
    let cli = Cli::new();
    let create =
        ["job", "schedule", "create", "--cron", "0 6 * * 1-5", "--time-zone", "Europe/Vienna", "--instruction", "x"];
    let schedule = cli.id(&[&create[..], &["--title", "News"]].concat());
    let list = cli.ok(&["job", "schedule", "list"]);
    assert!(list.starts_with(&format!("{schedule}  0 6 * * 1-5 Europe/Vienna  next ")), "{list}");
    assert!(list.ends_with("0 jobs  News\n"), "{list}");
    cli.ok(&["job", "schedule", "end", &schedule]);
    assert_eq!(cli.json(&["job", "schedule", "list"]), json!([]));
    let ended: Value = cli.json(&["job", "schedule", "list", "--ended"]);
    assert!(ended[0]["ended_at"].is_string(), "{ended}");
}

#[test]
fn errors_say_what_to_do() {
    let cli = Cli::new();
    let error = cli.error(&["job", "create", "--instruction", "x"], 2);
    assert!(error.contains("there are no items") && error.contains("--items FILE"), "{error}");
    let error = cli.error(&["job", "create", "--item", "x"], 2);
    assert!(error.contains("--instruction"), "{error}");
    let error = cli.error(&["job", "create", "--instruction", "x", "--items", "nowhere"], 2);
    assert!(error.contains("nowhere cannot be read"), "{error}");
    let error = cli.error(&["job", "schedule", "create", "--instruction", "x"], 2);
    assert!(error.contains("--cron") && error.contains("--every"), "{error}");
}
