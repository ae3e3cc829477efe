//! `factum task …` against a real server.

use serde_json::json;

use crate::support::{Cli, Lines, Messages, Terminal, check_error, json as json_of};

#[test]
fn a_task_is_created_started_reported_on_and_completed() {
    let cli = Cli::new();
    let create = [
        "task",
        "create",
        "Write",
        "the",
        "report",
        "--title",
        "Report",
        "--require-artifact",
        "report.pdf",
        "--criterion",
        "tests=all of them pass",
        "--priority",
        "high",
        "--attempts",
        "3",
        "--key",
        "k",
    ];
    let id = cli.id(&create);
    assert!(id.starts_with("task_"), "{id}");
    assert_eq!(cli.id(&create), id, "the same key gives the same task");
    assert!(cli.id(&["task", "start", &id]).starts_with("run_"));
    cli.ok(&["task", "progress", &id, "--percent", "40", "--step", "counting", "--counter", "pages=3"]);

    let error = cli.error(&["task", "complete", &id], 1);
    for words in ["precondition_failed", "- the artifact report.pdf is not there", "- the criterion tests is open"] {
        assert!(error.contains(words), "{words}\n{error}");
    }
    let shown = cli.ok(&["task", "get", &id]);
    for words in ["Report", "* running, high", "Write the report", "40%, counting, pages 3", "1 attempt:", "needs:"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    let list = cli.ok(&["task", "list", "--status", "running"]);
    assert!(list.starts_with(&format!("{id}  * running  Report  40% counting")), "{list}");

    cli.ok(&["task", "complete", &id, "--artifact", "report.pdf", "--met", "tests=evd_1", "--summary", "as asked"]);
    let task = cli.json(&["task", "get", &id]);
    assert_eq!((&task["status"], &task["acceptance"]["criteria"][0]["state"]), (&json!("completed"), &json!("met")));
    assert_eq!(cli.json(&["task", "list", "--status", "running"]), json!([]));
    assert_eq!(cli.ok(&["task", "list", "-o", "jsonl"]).lines().count(), 1);
}

#[test]
fn a_failed_attempt_is_retried_and_the_old_one_stays() {
    let cli = Cli::new();
    let id = cli.id(&["task", "create", "Try", "--start"]);
    cli.ok(&["task", "fail", &id, "no", "luck", "--category", "weather"]);
    let error = cli.error(&["task", "start", &id], 1);
    assert!(error.contains("failed") && error.contains("retry_task"), "{error}");
    assert!(cli.id(&["task", "retry", &id, "--reason", "the sun is out"]).starts_with("run_"));
    let shown = cli.ok(&["task", "get", &id]);
    for words in ["2 attempts:", "1  x failed", "weather: no luck", "2  * running"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    cli.ok(&["task", "pause", &id, "--reason", "lunch"]);
    assert_eq!(cli.json(&["task", "get", &id])["status"], "paused");
    cli.ok(&["task", "resume", &id]);
    cli.ok(&["task", "update", &id, "--title", "Try again", "--priority", "urgent", "--metadata", "{\"a\":1}"]);
    let task = cli.json(&["task", "get", &id]);
    assert_eq!(
        (&task["status"], &task["title"], &task["metadata"]["a"]),
        (&json!("running"), &json!("Try again"), &json!(1))
    );
}

/// A report that waits for two of its three parts: its session, the report and the parts.
fn graph(cli: &Cli) -> (String, String, [String; 3]) {
    let top = cli.id(&["task", "create", "Report", "--start"]);
    let session = cli.json(&["task", "get", &top])["session_id"].as_str().unwrap().to_owned();
    let part = |name: &str| cli.id(&["task", "create", name, "--parent", &top]);
    let parts = [part("Collect"), part("Draw"), part("Write")];
    cli.ok(&["task", "link", &parts[0], "blocks", &parts[2]]);
    cli.ok(&["task", "link", &parts[2], "blocked_by", &parts[1], "--reason", "needs pictures"]);
    (session, top, parts)
}

#[test]
fn a_graph_is_drawn_as_a_tree() {
    let cli = Cli::new();
    let (session, top, parts) = graph(&cli);
    cli.ok(&["task", "start", &parts[0]]);
    cli.ok(&["task", "progress", &parts[0], "--percent", "7"]);
    let tree = cli.ok(&["task", "tree", &top]);
    let expected = format!(
        "* Report      running       {top}\n\
         |- * Collect  running   7%  {}\n\
         |- o Draw     accepted      {}\n\
         `- # Write    blocked       {}\n      <- blocked by Collect, Draw\n",
        parts[0], parts[1], parts[2]
    );
    assert_eq!(tree, expected);
    assert_eq!(cli.ok(&["task", "tree", "--session", &session]), tree);
    let cut = cli.ok(&["task", "tree", &top, "--width", "1"]);
    assert!(cut.ends_with("`- ... and 2 more (1 accepted, 1 blocked)\n"), "{cut}");
    assert_eq!(cli.json(&["task", "tree", &top]).as_array().unwrap().len(), 4);

    let mut command = cli.command(&["task", "tree", &parts[0]]);
    command.env("LC_ALL", "C.UTF-8");
    let tree = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(tree.starts_with("● Collect  running  7%"), "{tree}");

    let error = cli.error(&["task", "link", &parts[2], "blocks", &parts[1]], 1);
    assert!(error.contains("conflict") && error.contains("cycle"), "{error}");
    cli.ok(&["task", "unlink", &parts[0], "blocks", &parts[2]]);
    assert!(cli.ok(&["task", "tree", &top]).contains("<- blocked by Draw\n"));
}

#[test]
fn watching_ends_with_the_task_at_the_top_and_says_how() {
    let cli = Cli::new();
    let (_, top, parts) = graph(&cli);
    let mut watch = Lines::start(cli.command(&["task", "watch", &top]));
    assert_eq!(watch.next(), "* running  Report  0 of 4 ended: 2 accepted, 1 running, 1 blocked");
    cli.ok(&["task", "start", &parts[0]]);
    watch.until(&["* running", "Collect"]);
    cli.ok(&["task", "progress", &parts[0], "--percent", "50", "--step", "halfway"]);
    watch.until(&["* running", "Collect  50% halfway"]);
    cli.ok(&["task", "complete", &parts[0], "--summary", "all there"]);
    watch.until(&["+ completed", "Collect  all there"]);
    let late = cli.id(&["task", "create", "Late", "--parent", &top]);
    watch.until(&["o accepted", "Late  new"]);
    for part in [&parts[1], &parts[2], &late] {
        cli.ok(&["task", "cancel", part]);
    }
    cli.ok(&["task", "complete", &top]);
    let (rest, code) = watch.end();
    assert_eq!(rest.last().unwrap(), "+ completed  Report  5 of 5 ended: 3 cancelled, 2 completed");
    assert_eq!(code, Some(0));

    assert_eq!(cli.error(&["task", "watch", &parts[1]], 1), "", "one that has ended otherwise");
}

#[test]
fn a_machine_watches_events() {
    let cli = Cli::new();
    let id = cli.id(&["task", "create", "Report", "--start"]);
    let mut watch = Lines::start(cli.command(&["task", "watch", &id, "-o", "jsonl"]));
    // Something happens until it is seen, so that the end comes when somebody watches.
    let seen = std::thread::spawn(move || (watch.next(), watch));
    for report in (0..10_000).take_while(|_| !seen.is_finished()) {
        cli.ok(&["task", "progress", &id, "--counter", &format!("reports={report}")]);
    }
    let (first, mut watch) = seen.join().unwrap();
    assert_eq!(json_of(&first)["type"], "task.progress");
    cli.ok(&["task", "fail", &id, "no luck", "--final"]);
    assert_eq!(json_of(&watch.until(&["task.failed"]))["task_id"], id);
    assert_eq!(watch.end().1, Some(1));
}

#[test]
fn a_terminal_shows_bars() {
    let cli = Cli::new();
    let id = cli.id(&["task", "create", "Report", "--start"]);
    let mut command = cli.command(&["task", "watch", &id]);
    command.env("TERM", "xterm");
    let mut watch = Terminal::start(command, Messages::Screen);
    watch.until("0/1");
    cli.ok(&["task", "progress", &id, "--percent", "50", "--step", "halfway"]);
    watch.until(" 50%  halfway");
    cli.ok(&["task", "fail", &id, "no", "luck", "--final"]);
    watch.until("x failed  Report");
    assert_eq!(watch.child.wait().unwrap().code(), Some(1));
}

#[test]
fn errors_say_what_to_do() {
    let cli = Cli::new();
    let error = cli.error(&["task", "get", "task_nobody"], 1);
    assert!(error.contains("not_found") && error.contains("factum task list"), "{error}");
    let error = cli.error(&["task", "list", "--status", "runing"], 2);
    assert!(error.contains("running") && error.contains("waiting_input"), "{error}");
    let error = cli.error(&["task", "create", "x", "--timeout", "soon"], 2);
    assert!(error.contains("500ms, 2s, 1m"), "{error}");
    let error = cli.error(&["task", "progress", "task_1"], 2);
    assert!(error.contains("--percent"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let error = check_error(dir.path(), &["task", "list", "--url", "http://127.0.0.1:1"], 3);
    assert!(error.contains("no answer from"), "{error}");
}
