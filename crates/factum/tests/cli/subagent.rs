//! `factum subagent …` against a real server, whose demo agent is the child.

use serde_json::json;

use crate::support::{Cli, Lines, output_of};

/// A session to have children in.
fn session(cli: &Cli) -> String {
    cli.json(&["call", "create_session"])["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_family_is_spawned_drawn_as_a_tree_and_closed_from_the_top() {
    let cli = Cli::new();
    let session = session(&cli);
    let spawn = ["subagent", "spawn", &session];
    let top =
        [&spawn[..], &["read", "it", "--nickname", "Ada", "--role", "reader", "--id", "sub_a", "--key", "k"]].concat();
    let below = [&spawn[..], &["--parent", "sub_a", "--isolation", "workspace"]].concat();
    let top = [cli.id(&top), cli.id(&top)];
    assert_eq!(top, ["sub_a", "sub_a"], "the same key gives the same child");
    let asking = cli.id(&[&below[..], &["--nickname", "Bea", "--id", "sub_b", "ask: which page?"]].concat());
    let idle = cli.id(&[&below[..], &["--nickname", "Carla", "--id", "sub_c"]].concat());
    Lines::start(cli.command(&["tail", &session])).until(&["action.required"]);

    let waited = cli.ok(&["subagent", "wait", "sub_a", &idle]);
    assert_eq!(waited, "+ sub_a  completed  Ada    reader\no sub_c  idle       Carla\n");
    let any = cli.json(&["subagent", "wait", &asking, "sub_a", "--any"]);
    assert_eq!((&any["timed_out"], &any["subagents"][1]["status"]), (&json!(false), &json!("completed")));
    // One that asks somebody does not rest.
    let over = cli.error(&["subagent", "wait", &asking, "--timeout", "1ms"], 1);
    assert!(over.contains("the time is over"), "{over}");
    let expected = "\
+ Ada       completed      reader  sub_a
|- ~ Bea    waiting_input          sub_b
`- o Carla  idle                   sub_c
";
    assert_eq!(cli.ok(&["subagent", "list", &session]), expected);

    let shown = cli.ok(&["subagent", "show", &asking]);
    for words in ["Bea", "~ waiting_input", "isolation workspace, permission mode default", "parent sub_a"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    let direct = cli.json(&["subagent", "list", &session, "--direct"]);
    assert_eq!((direct.as_array().unwrap().len(), &direct[0]["subagent_id"]), (1, &json!("sub_a")));
    assert_eq!(cli.json(&["subagent", "list", &session, "--below", "sub_a"]).as_array().unwrap().len(), 2);

    cli.ok(&["subagent", "close", "sub_a", "--reason", "enough"]);
    cli.ok(&["subagent", "wait", "sub_a", &asking, &idle]);
    assert_eq!(cli.json(&["subagent", "list", &session, "--open"]), json!([]));
    assert!(cli.ok(&["subagent", "list", &session]).contains("- . Bea    closed"));
    assert_eq!(cli.json(&["subagent", "show", "sub_a"])["status"], "closed");
}

#[test]
fn a_child_is_spoken_to_and_carried_on() {
    let cli = Cli::new();
    let session = session(&cli);
    let id = cli.id(&["subagent", "spawn", &session]);
    assert_eq!(cli.json(&["subagent", "show", &id])["status"], "idle");
    let turn = output_of(&mut cli.command(&["subagent", "send", &id, "-"]), "two\nlines\n");
    assert!(turn.starts_with("turn_"), "{turn}");
    cli.ok(&["subagent", "wait", &id]);
    let said = cli.json(&["subagent", "resume", &id, "--key", "r"]);
    assert_eq!(cli.json(&["subagent", "resume", &id, "--key", "r"]), said, "the same key");
    cli.ok(&["subagent", "wait", &id]);
    let events = cli.ok(&["tail", &session, "--no-follow", "-o", "jsonl"]);
    assert!(events.contains("\"text\":\"two\\nlines\""), "{events}");
    assert_eq!(events.matches("\"turn.submitted\"").count(), 2, "{events}");
}

#[test]
fn a_wait_ends_when_the_child_does() {
    let cli = Cli::new();
    let session = session(&cli);
    let id = cli.id(&["subagent", "spawn", &session, "ask: which page?"]);
    let wait = Lines::start(cli.command(&["subagent", "wait", &id, "--timeout", "10m"]));
    cli.ok(&["subagent", "close", &id]);
    let (lines, code) = wait.end();
    assert_eq!(
        (lines, code),
        (vec![format!(". {id}  closed  demo  interrupted: the child agent was closed")], Some(0))
    );
}

#[test]
fn errors_say_what_to_do() {
    let cli = Cli::new();
    let session = session(&cli);
    let error = cli.error(&["subagent", "show", "sub_nobody"], 1);
    assert!(error.contains("not_found") && error.contains("factum subagent list"), "{error}");
    let error = cli.error(&["subagent", "spawn", &session, "--mode", "bypass"], 1);
    assert!(error.contains("default"), "{error}");
    let error = cli.error(&["subagent", "send", "sub_nobody"], 2);
    assert!(error.contains("<TEXT>"), "{error}");
    let id = cli.id(&["subagent", "spawn", &session]);
    cli.ok(&["subagent", "close", &id]);
    let error = cli.error(&["subagent", "send", &id, "hello"], 1);
    assert!(error.contains("closed"), "{error}");
}
