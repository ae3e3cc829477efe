//! The permission bridge: asked through the channel, decided through the channel, recorded with everything.

use factum_model::ErrorCode;

use super::*;

/// A channel that decides, a turn through it that asks for permission, and the question as the channel gets it.
async fn asked(port: &Port) -> (String, Value) {
    port.enroll("c", json!({ "capabilities": ["permissions"] })).await;
    let session = port.submit_through("c", "approve: deploy", None).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "channel.permission_forwarded").await;
    let question = of(&arrived, "@channel").into_iter().find(|event| event["type"] == "channel.permission_forwarded");
    (session, question.unwrap().clone())
}

fn decision(question: &Value, decision: &str) -> Value {
    json!({ "action_id": question["action_id"], "decision": decision })
}

#[tokio::test]
async fn a_decision_comes_back_through_the_channel_with_all_five_facts() {
    for (word, verdict) in [("allow", "allow"), ("deny", "deny")] {
        let port = Port::new().await;
        let (session, question) = asked(&port).await;
        let asked = &question["payload"];
        assert_eq!((&question["session_id"], &question["channel_id"]), (&json!(session), &json!("c")));
        assert_eq!((&asked["channel_scoped"], &asked["requesting_peer"]), (&json!(true), &json!("agent://demo")));
        assert_eq!(asked["subject"]["kind"], "tool");
        assert!(asked["prompt"].is_string());
        port.through("c", "respond_action", decision(&question, word)).await.unwrap();
        let returned = port.own("c").await.into_iter().find(|event| event["type"] == "channel.permission_returned");
        let returned = returned.expect("recorded before the answer is given");
        let expected = json!({
            "direction": "inbound", "requesting_peer": asked["requesting_peer"], "subject": asked["subject"],
            "decision": verdict, "decided_by": "agent://alice", "decided_on": "remote", "source": "response",
            "channel_scoped": true,
        });
        assert_eq!(returned["payload"], expected);
        let messages = port.own_types("c").await.iter().filter(|kind| *kind == "channel.message").count();
        assert_eq!(messages, 0, "an approval is no message");
        let bridge = &port.summary("c").await["permission_bridge"];
        assert_eq!((&bridge[0]["decision"], &bridge[0]["source"]), (&json!(verdict), &json!("response")));
    }
}

#[tokio::test]
async fn a_decision_made_elsewhere_is_refused_and_recorded() {
    let mut port = Port::new().await;
    let (session, question) = asked(&port).await;
    port.enroll("other", json!({ "capabilities": ["permissions"], "session_ids": [session] })).await;
    for restarted in [false, true] {
        if restarted {
            port.restart().await;
        }
        let bob = member("agent://bob");
        let plainly = port.call_as(&port.alice, "respond_action", decision(&question, "allow")).await.unwrap_err();
        let by_another = port.call_as(&bob, "respond_action", decision(&question, "allow")).await.unwrap_err();
        let elsewhere = port.through("other", "respond_action", decision(&question, "allow")).await.unwrap_err();
        for refused in [plainly, by_another, elsewhere] {
            let expected = (ErrorCode::PermissionDenied, &json!("channel_scoped"));
            assert_eq!((refused.code, &refused.details["cause"]), expected);
            assert!(!format!("{refused:?}").contains("\"c\""), "which channel it is stays with those who have it");
        }
    }
    let thread = port.call("get_thread_read", json!({ "session_id": session })).await;
    assert_eq!(thread["status"], "waiting_permission", "an action that is not decided is never taken as approved");
    let attempts: Vec<Value> =
        port.own("c").await.iter().map(|event| event["payload"]["attempted_by"].clone()).collect();
    let attempts: Vec<&Value> = attempts.iter().filter(|by| by.is_string()).collect();
    assert_eq!(attempts, ["agent://alice", "agent://bob", "agent://alice"].repeat(2));
    assert_eq!(
        port.summary("other").await["permission_bridge"],
        json!([]),
        "it is asked nothing that is not its to decide"
    );
    port.through("c", "respond_action", decision(&question, "deny")).await.unwrap();
}

#[tokio::test]
async fn a_channel_that_only_follows_is_asked_and_others_may_answer() {
    let port = Port::new().await;
    let submitted = port.call("submit_turn", json!({ "input": [{ "type": "text", "text": "approve: deploy" }] })).await;
    let session = submitted["session_id"].as_str().unwrap();
    port.enroll("c", json!({ "capabilities": ["permissions"], "session_ids": [session] })).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "channel.permission_forwarded").await;
    let question = arrived.iter().find(|(_, event)| event["type"] == "channel.permission_forwarded").unwrap().1.clone();
    assert_eq!(question["payload"]["channel_scoped"], false);
    port.call("respond_action", decision(&question, "allow")).await;
    let arrived = read_until(&mut stream, "channel.permission_returned").await;
    let returned = &arrived.iter().find(|(_, event)| event["type"] == "channel.permission_returned").unwrap().1;
    let facts = ["direction", "decided_on", "source", "decision"].map(|name| returned["payload"][name].clone());
    assert_eq!(facts, ["outbound", "local", "response", "allow"].map(|word| json!(word)));
}

#[tokio::test]
async fn the_bridge_survives_a_restart_and_what_it_missed_is_made_up_for() {
    let mut port = Port::new().await;
    let (session, question) = asked(&port).await;
    port.restart().await;
    // Interrupted while the channel is away: the question is over, and the channel hears of it when it comes back.
    port.call("interrupt_turn", json!({ "session_id": session })).await;
    let back = port.call("reconnect_channel", json!({ "channel_id": "c" })).await;
    let bridge = &back["snapshot"]["permission_bridge"];
    assert_eq!(bridge.as_array().unwrap().len(), 1);
    assert_eq!((&bridge[0]["action_id"], &bridge[0]["decision"]), (&question["action_id"], &json!("deny")));
    assert_eq!(bridge[0]["source"], "superseded");
    let types = port.own_types("c").await;
    assert_eq!(types.iter().filter(|kind| *kind == "channel.permission_forwarded").count(), 1);
    assert_eq!(types.iter().filter(|kind| *kind == "channel.permission_returned").count(), 1);
}

/// A crash may come between what a session decided and what its channel is told. A channel that opens its stream is told then,
/// also where it did not say that it comes back.
#[tokio::test]
async fn a_stream_brings_what_a_crash_kept_from_its_channel() {
    let mut port = Port::new().await;
    port.call("create_session", json!({ "session_id": "s" })).await;
    port.enroll("c", json!({ "capabilities": ["permissions"], "session_ids": ["s"] })).await;
    port.handle.cut_channels();
    let turn = json!({ "session_id": "s", "input": [{ "type": "text", "text": "approve: deploy" }] });
    port.call("submit_turn", turn).await;
    until_fact(&port, "s", "action.required").await;
    port.restart().await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "channel.permission_forwarded").await;
    let question = arrived.iter().find(|(_, event)| event["type"] == "channel.permission_forwarded").unwrap().1.clone();
    drop(stream);
    port.handle.cut_channels();
    port.call("respond_action", decision(&question, "allow")).await;
    port.restart().await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    read_until(&mut stream, "channel.permission_returned").await;
}

async fn until_fact(port: &Port, session: &str, kind: &str) {
    let mut facts = port.runtime.subscribe(&port.alice, &session.parse().unwrap(), 0).await.unwrap();
    let named = format!("\"{kind}\"");
    let come = async {
        while !facts.next().await.unwrap().iter().any(|fact| String::from_utf8_lossy(&fact.json).contains(&named)) {}
    };
    tokio::time::timeout(PATIENCE, come).await.expect("the fact never came");
}

/// Whoever was asked hears how that came out, although it follows or decides no more; it is asked nothing else.
#[tokio::test]
async fn a_channel_that_lets_go_of_a_session_hears_what_became_of_its_question() {
    let unfollow = ("follow_sessions", json!({ "channel_id": "c", "unfollow": ["s"] }));
    let give_up = ("enroll_channel", json!({ "channel_id": "c", "peer_role": "client" }));
    for (method, params) in [unfollow, give_up] {
        let port = Port::new().await;
        port.call("create_session", json!({ "session_id": "s" })).await;
        let turn = json!({ "session_id": "s", "input": [{ "type": "text", "text": "approve: deploy" }] });
        port.call("submit_turn", turn).await;
        port.enroll("c", json!({ "capabilities": ["permissions"], "session_ids": ["s"] })).await;
        let mut stream = port.stream("c", &[]).await.unwrap();
        let arrived = read_until(&mut stream, "channel.permission_forwarded").await;
        let asked =
            arrived.iter().find(|(_, event)| event["type"] == "channel.permission_forwarded").unwrap().1.clone();
        port.call(method, params).await;
        port.call("respond_action", decision(&asked, "allow")).await;
        read_until(&mut stream, "channel.permission_returned").await;
        drop(stream);
        port.call("reconnect_channel", json!({ "channel_id": "c" })).await;
        let types = port.own_types("c").await;
        let count = |kind: &str| types.iter().filter(|one| *one == kind).count();
        let bridged = (count("channel.permission_forwarded"), count("channel.permission_returned"));
        assert_eq!(bridged, (1, 1), "{method}");
        assert_eq!(port.summary("c").await["permission_bridge"].as_array().unwrap().len(), 1, "{method}");
    }
}

#[tokio::test]
async fn a_channel_that_does_not_decide_binds_nothing() {
    let port = Port::new().await;
    port.enroll("c", json!({})).await;
    let session = port.submit_through("c", "approve: deploy", None).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "action.required").await;
    let action = of(&arrived, &session).into_iter().find(|event| event["type"] == "action.required").unwrap().clone();
    port.call("respond_action", decision(&action, "allow")).await;
    let types = port.own_types("c").await;
    assert!(!types.iter().any(|kind| kind.contains("permission")), "{types:?}");
}

#[tokio::test]
async fn a_question_that_runs_out_comes_back_as_a_timeout() {
    let mut port = Port::new().await;
    port.enroll("c", json!({ "capabilities": ["permissions"] })).await;
    let turn = json!({ "agent": "timeout", "input": [{ "type": "text", "text": "deploy" }] });
    port.through("c", "submit_turn", turn).await.unwrap();
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "channel.permission_forwarded").await;
    let asked = &arrived.iter().find(|(_, event)| event["type"] == "channel.permission_forwarded").unwrap().1;
    assert_eq!(asked["payload"]["expires_at"], "2027-01-15T08:01:00Z");
    drop(stream);
    // The time runs out while nobody runs.
    port.clock.advance(Duration::from_secs(61));
    port.restart().await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    let arrived = read_until(&mut stream, "channel.permission_returned").await;
    let returned = &arrived.iter().find(|(_, event)| event["type"] == "channel.permission_returned").unwrap().1;
    let facts = ["decision", "source", "decided_by", "decided_on"].map(|name| returned["payload"][name].clone());
    assert_eq!(facts, ["deny", "timeout", "runtime://timer", "local"].map(|word| json!(word)));
}

/// Whoever leaves for good decides nothing any more; nobody may in its place, so it is a no, and the work goes on.
#[tokio::test]
async fn a_channel_that_closes_refuses_what_it_alone_could_decide() {
    let port = Port::new().await;
    let (session, question) = asked(&port).await;
    let mut stream = port.stream("c", &[]).await.unwrap();
    port.call_as(&port.alice, "close_channel", json!({ "channel_id": "c" })).await.unwrap();
    let (arrived, end) = read_to_the_end(&mut stream).await;
    let types: Vec<&Value> = of(&arrived, "@channel").iter().map(|event| &event["type"]).collect();
    let last = ["channel.disconnected", "channel.permission_returned"].map(|kind| json!(kind));
    assert_eq!(types[types.len() - 2..], last.iter().collect::<Vec<_>>(), "{arrived:?}");
    assert_eq!(end.details["cause"], "closed");
    let refused = port.call_as(&port.alice, "respond_action", decision(&question, "allow")).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["decision"]), (ErrorCode::Conflict, &json!("deny")));
    assert_eq!(refused.details["source"], "policy");
    let thread = port.call_as(&port.alice, "get_thread_read", json!({ "session_id": session })).await.unwrap();
    assert_eq!(thread["pending_actions"], json!([]), "{thread}");
}
