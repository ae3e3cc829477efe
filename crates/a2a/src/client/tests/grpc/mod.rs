//! The client over gRPC, against a real server: every operation, every kind of failure, and peers that mean harm.

mod fake;
mod hostile;

use a2a::{SendMessageResponse, TaskState};
use a2a_pb::proto;
use tonic::Code;

use super::super::{Binding, Failure, Peer, Spoken, discover};
use super::failures::{Kind, kind};
use super::fake::client;
use super::operations::{hello, list_of, states};
use fake::Fake;

async fn found(fake: &Fake) -> Peer {
    discover(&client(), fake.options()).await.unwrap()
}

#[tokio::test]
async fn every_operation_works() {
    let fake = Fake::start().await;
    let peer = found(&fake).await;
    let interface = peer.interface();
    assert_eq!((interface.binding, interface.spoken), (Binding::Grpc, Spoken::V1_0));
    assert_eq!(interface.url, format!("http://{}", fake.address), "a host and a port, reached as the card was");

    let SendMessageResponse::Task(task) = peer.send(hello(), Some("key-1")).await.unwrap() else { panic!("a message") };
    assert_eq!((task.id.as_str(), &task.status.state), ("t 1", &TaskState::Working));
    let asked = fake.last();
    assert_eq!((asked.call, asked.tenant.as_str()), ("send", "acme"));
    assert_eq!((asked.header("idempotency-key"), asked.header("authorization")), ("key-1", "Bearer secret"));
    assert_eq!((asked.header("a2a-version"), asked.header("content-type")), ("1.0", "application/grpc"));
    let message = asked.message.unwrap();
    assert_eq!((message.message_id.as_str(), message.role()), ("m1", proto::Role::User));

    let expected = [(None, TaskState::Working), (None, TaskState::Completed)];
    assert_eq!(states(peer.stream(hello(), None).await.unwrap()).await, expected);
    assert_eq!(fake.last().call, "stream");
    assert_eq!(states(peer.subscribe("t 1", Some("7")).await.unwrap()).await, expected);
    assert_eq!((fake.last().call, fake.last().header("last-event-id")), ("subscribe", "7"));
    assert_eq!(peer.get("t 1", Some(3)).await.unwrap().status.state, TaskState::Working);
    assert_eq!((fake.last().call, fake.last().history_length), ("get", Some(3)));
    assert_eq!(peer.cancel("t 1").await.unwrap().status.state, TaskState::Canceled);
    assert_eq!(peer.list(list_of("c1")).await.unwrap().tasks[0].id, "c1");
    assert_eq!((fake.last().call, fake.last().tenant.as_str()), ("list", "acme"));
    assert_eq!(peer.native_status(&TaskState::Working, None), "TASK_STATE_WORKING");
}

#[tokio::test]
async fn every_failure_is_of_one_kind() {
    let fake = Fake::start().await;
    let peer = found(&fake).await;
    let code = |code: Code| format!("code {}", i32::from(code));
    let table = [
        ("gone".to_owned(), Kind::Missing),
        ("over".to_owned(), Kind::Refused(-32004)),
        ("broken".to_owned(), Kind::Network(true)),
        ("closing".to_owned(), Kind::Network(true)),
        ("often".to_owned(), Kind::Network(false)),
        ("unknown".to_owned(), Kind::Auth),
        ("conflict".to_owned(), Kind::Refused(-32000)),
        ("no id".to_owned(), Kind::Malformed),
        ("no status".to_owned(), Kind::Malformed),
        (code(Code::NotFound), Kind::Missing),
        (code(Code::Unauthenticated), Kind::Auth),
        (code(Code::PermissionDenied), Kind::Auth),
        (code(Code::ResourceExhausted), Kind::Network(false)),
        (code(Code::Unavailable), Kind::Network(true)),
        (code(Code::Unknown), Kind::Network(true)),
        (code(Code::DeadlineExceeded), Kind::Network(true)),
        (code(Code::InvalidArgument), Kind::Refused(-32602)),
        (code(Code::Unimplemented), Kind::Refused(-32601)),
        (code(Code::FailedPrecondition), Kind::Refused(-32004)),
        (code(Code::OutOfRange), Kind::Refused(-32000)),
    ];
    for (id, expected) in table {
        let failure = peer.get(&id, None).await.unwrap_err();
        assert_eq!(kind(&failure), expected, "{id}: {failure:?}");
    }
}

#[tokio::test]
async fn a_stream_that_goes_wrong_says_so_where_it_does() {
    let fake = Fake::start().await;
    let peer = found(&fake).await;
    let failure = peer.subscribe("over", None).await.map(drop).unwrap_err();
    assert_eq!(kind(&failure), Kind::Refused(-32004));
    let mut updates = peer.subscribe("breaks", None).await.unwrap();
    assert!(updates.next().await.unwrap().is_some());
    assert_eq!(kind(&updates.next().await.unwrap_err()), Kind::Missing);
    let mut updates = peer.subscribe("empty", None).await.unwrap();
    assert_eq!(kind(&updates.next().await.unwrap_err()), Kind::Malformed);
}

#[tokio::test]
async fn a_credential_is_never_shown() {
    let fake = Fake::start().await;
    let peer = found(&fake).await;
    let failure = peer.get("unknown", None).await.unwrap_err();
    assert!(!format!("{peer:?} {failure:?} {failure}").contains("secret"));
}

/// In protocol buffers a state is a number, and so is what is kept of one that nobody knows.
#[tokio::test]
async fn a_state_that_nobody_knows_is_no_failure() {
    let fake = Fake::start().await;
    let peer = found(&fake).await;
    let task = peer.get("no state", None).await.unwrap();
    assert_eq!(task.status.state, TaskState::Unspecified);
    assert_eq!(peer.native_status(&task.status.state, task.metadata.as_ref()), "99");
}

#[tokio::test]
async fn an_answer_with_nothing_in_it_is_none() {
    let fake = Fake::start().await;
    let mut request = hello();
    request.message.parts = vec![a2a::Part::text("nothing")];
    let failure = found(&fake).await.send(request, None).await.unwrap_err();
    assert!(matches!(failure, Failure::Malformed { may_have_arrived: true, .. }), "{failure:?}");
}
