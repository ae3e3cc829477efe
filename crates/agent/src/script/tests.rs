//! Reading scripts: what is accepted, and what people are told about the rest.

use super::*;

fn problems(text: &str) -> String {
    Script::parse("test.toml", text).map(|_| "fine".to_owned()).unwrap_or_else(|error| error.to_string())
}

/// The problems of an entry with these steps.
fn steps(steps: &str) -> String {
    problems(&format!("name = \"test\"\n[[on]]\nany = true\nsteps = [{steps}]\n"))
}

#[test]
fn the_scripts_of_the_binary_make_sense() {
    assert_eq!((Script::demo().name.as_str(), Script::demo().entries.len()), ("demo", 6));
    assert_eq!((Script::waiting().name.as_str(), Script::waiting().entries.len()), ("waiting", 1));
}

#[test]
fn json_is_accepted_too() {
    let json = r#"{"name": "test", "on": [{"any": true, "steps": [{"say": "hello"}]}]}"#;
    let toml = "name = \"test\"\n[[on]]\nany = true\nsteps = [{ say = \"hello\" }]";
    assert_eq!(Script::parse("a", json), Script::parse("b", toml));
}

#[test]
fn every_step_of_the_reference_is_understood() {
    let all = r#"
        { say = "a", chunk = 3, delay_ms = 1 }, { say = "b", chunk = "chars", over_ms = 5 }, { reasoning = "r" },
        { reasoning_summary = "s" }, { status = { phase = "planning", title = "t", detail = "d" } }, { wait_ms = 1 },
        { tool = { name = "t", args = { a = ["{rest}", 1, { b = "{{}}" }] }, effect = "once", approval = true, prompt = "p",
            timeout_ms = 1, on_timeout = "cancel", duration_ms = 1, progress = ["x"], result = { url = "u" }, save = "tool" } },
        { ask = "q", schema = { type = "string" }, timeout_ms = 1, on_timeout = "wait", save = "answer" },
        { delegate = { peer = "north", message = "do {rest}", save = "given" } }, { say = "{given.text}" },
        { tools = [{ name = "a", error = "e" }, { ask = "q", save = "second" }] },
        { artifact = { name = "n", media_type = "m/t", text = "{tool.url} {answer} {second.outcome} {options.x}" } },
        { artifact = { base64 = "aGk=" } }, { artifact = { data = { a = [1, "{rest}"] } } },
        { artifact = { url = "https://example.com/{rest}" } }, { usage = { input_tokens = 1, cached_tokens = 2 } },
        { error = { category = "c", message = "m", retryable = true, times = 1 } },
        { steps = [{ say = "g" }], when = { tool = ["denied", "lost"], answer = "skipped" } },
        { say = "w", when = { answer = { equals = ["a", "b"] }, tool = { not = "c" } } },
        { repeat = { times = 2, until = { more = { equals = "done" } }, steps = [{ ask = "{index}", save = "more" }] } }, { finish = "done" }, { wait = "forever" }"#;
    assert_eq!(steps(all), "fine");
}

#[test]
fn problems_name_the_place_and_what_to_do() {
    let at = "test.toml: entry 1, step 1";
    for (text, expected) in [
        (
            r#"{ sya = "a" }"#,
            format!(
                "{at}: nothing to do; a step needs one of {}\n{at}: unknown key \"sya\"; did you mean \"say\"?",
                "say, reasoning, reasoning_summary, wait, wait_ms, tool, tools, ask, delegate, artifact, usage, error, status, steps, repeat, finish"
            ),
        ),
        (r#"{ say = "a", ask = "b" }"#, format!("{at}: say and ask in one step; make a step of each")),
        (r#"{ say = "a", dealy_ms = 5 }"#, format!("{at}: unknown key \"dealy_ms\"; did you mean \"delay_ms\"?")),
        (r#"{ say = 5 }"#, format!("{at}: say has to be a text, not a number")),
        (r#""say""#, format!("{at}: this has to be a table, not a text")),
        (
            r#"{ say = "a", chunk = "letters" }"#,
            format!("{at}: expected chunk to be \"words\", \"chars\" or a number of characters, not a text"),
        ),
        (
            r#"{ say = "{anwser}" }"#,
            format!(
                "{at}, say: no step before this one saves {{anwser}}; known: input, rest, turn_id, agent, index, options"
            ),
        ),
        (r#"{ wait = "for ever" }"#, format!("{at}: wait = \"for ever\" is unknown; did you mean \"forever\"?")),
        (r#"{ wait_ms = -1 }"#, format!("{at}: wait_ms has to be a whole number, 0 or more, not a number")),
        (
            r#"{ tool = { effect = "twice" } }"#,
            format!(
                "{at}, tool: name is missing; add name = \"search\"\n{at}, tool: effect = \"twice\" is unknown; known: pure, idempotent, once, unknown"
            ),
        ),
        (
            r#"{ tool = { name = "ask_user" } }"#,
            format!("{at}, tool: name \"ask_user\" is kept for questions; use ask = \"…\""),
        ),
        (
            r#"{ tool = { name = "t", timeout_ms = 5 } }"#,
            format!("{at}, tool: timeout_ms is about the approval, and there is none; add approval = true"),
        ),
        (
            r#"{ tool = { name = "t", result = 1, error = "e" } }"#,
            format!("{at}, tool: result and error in one tool; keep the one you mean"),
        ),
        (
            r#"{ tool = { name = "t", save = "rest" } }"#,
            format!("{at}, tool: cannot save as \"rest\"; take letters, digits, _ and -, and no built-in name"),
        ),
        (
            r#"{ tool = { name = "t", save = "x", result = "{x}" } }"#,
            format!(
                "{at}, tool, result: no step before this one saves {{x}}; known: input, rest, turn_id, agent, index, options"
            ),
        ),
        (
            r#"{ ask = "q", on_timeout = "deny" }"#,
            format!("{at}: on_timeout without timeout_ms; add timeout_ms = 60000"),
        ),
        (r#"{ say = "a", when = { x = "denied" } }"#, format!("{at}: when: no step before this one saves \"x\"")),
        (
            r#"{ ask = "q", save = "x" }, { say = "a", when = { x = "denyed" } }"#,
            "test.toml: entry 1, step 2: when: \"denyed\" is not an outcome; did you mean \"denied\"?".to_owned(),
        ),
        (r#"{ artifact = { name = "n" } }"#, format!("{at}, artifact: an artifact needs one of text, data, base64, url")),
        (
            r#"{ artifact = { text = "t", url = "u" } }"#,
            format!("{at}, artifact: an artifact needs one of text, data, base64, url"),
        ),
        (
            r#"{ ask = "q", save = "x" }, { say = "a", when = { x = { equal = "y" } } }"#,
            "test.toml: entry 1, step 2, when, x: what is it compared with? Say equals = \"done\" or not = \"done\", a text or a list of texts\ntest.toml: entry 1, step 2, when, x: unknown key \"equal\"; did you mean \"equals\"?".to_owned(),
        ),
        (
            r#"{ repeat = { times = 2, until = { y = { not = "z" } }, steps = [{ ask = "q", save = "x" }] } }"#,
            format!("{at}, repeat: until: no step before this one saves \"y\"; did you mean \"x\"?"),
        ),
        (
            r#"{ error = { category = "interrupted", message = "m" } }"#,
            format!("{at}, error: category \"interrupted\" is kept for restarts; use another word"),
        ),
        (
            r#"{ repeat = { times = 2, steps = [{ say = "a", x = 1 }] } }"#,
            format!("{at}, repeat, step 1: unknown key \"x\"; known: when, say, chunk, delay_ms, over_ms"),
        ),
        (
            r#"{ repeat = { times = 200, steps = [{ ask = "q" }] } }"#,
            "test.toml: entry 1: 200 tool and ask steps with all repetitions; 199 are allowed in a turn".to_owned(),
        ),
        (
            r#"{ repeat = { times = 99999999, steps = [{ say = "q" }] } }"#,
            "test.toml: entry 1: 100000000 steps with all repetitions; 10000 are allowed".to_owned(),
        ),
    ] {
        assert_eq!(steps(text), expected, "{text}");
    }
}

#[test]
fn problems_of_the_file_and_its_entries() {
    for (text, expected) in [
        (
            "",
            "test.toml: name is missing; add name = \"helper\"\ntest.toml: on is missing; add [[on]] with any = true and steps = [{ say = \"…\" }]",
        ),
        ("name = 5\non = []", "test.toml: name has to be a text, not a number"),
        ("name = \"a b\"\non = []", "test.toml: name \"a b\" cannot be used; take letters, digits, _ and -"),
        (
            "name = \"a\"\n[[on]]\nsteps = [{ say = \"x\" }]",
            "test.toml: entry 1: which input is it for? Say one of starts_with, equals, contains or any = true",
        ),
        (
            "name = \"a\"\n[[on]]\nany = true\nstep = []",
            "test.toml: entry 1: steps is missing; add steps = [{ say = \"…\" }]\ntest.toml: entry 1: unknown key \"step\"; did you mean \"steps\"?",
        ),
        (
            "name = \"a\"\n[[on]]\nany = true\nsteps = [{ say = \"x\" }]\n[[on]]\nequals = \"x\"\nsteps = [{ say = \"x\" }]",
            "test.toml: entry 2: it is never reached, because entry 1 takes any input; put it before that one",
        ),
        (
            "name = \"a\"\n[[on]]\nany = true\nreply = \"mesage\"\nsteps = [{ say = \"x\" }]",
            "test.toml: entry 1: reply = \"mesage\" is unknown; did you mean \"message\"?",
        ),
        (
            "name = \"a\"\n[[on]]\nany = true\nreply = \"message\"\nsteps = [{ steps = [{ ask = \"x\" }] }]",
            "test.toml: entry 1: reply = \"message\" sends one message, and questions and approvals need a task; take one of them out",
        ),
        (
            "name = \"a\"\n[[on]]\nany = true\nreply = \"message\"\nsteps = [{ artifact = { text = \"x\" } }]",
            "test.toml: entry 1: reply = \"message\" sends one message, and artifacts need a task; take one of them out",
        ),
        (
            "name = \"a\"\naccepts = [\"text\"]\n[[on]]\nany = true\nsteps = [{ say = \"x\" }]",
            "test.toml: accepts has to list media types, such as accepts = [\"text/plain\"]",
        ),
        ("{", "test.toml: this is not JSON: EOF while parsing an object at line 1 column 1"),
    ] {
        assert_eq!(problems(text), expected, "{text}");
    }
    assert!(problems("name = ").starts_with("test.toml: this is not TOML: TOML parse error at line 1, column 8"));
}
