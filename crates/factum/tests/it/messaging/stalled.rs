//! Readers that never read: nobody else notices, the server keeps nothing for them, and they miss nothing in the end.

use factum_testkit::{Reader, Server, within};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::*;
use crate::support::dev;

const READERS: usize = 4;
const STALLED: usize = 8;
/// In each of two rounds: far more than sockets and rings between a server and a reader hold.
const MESSAGES: u64 = 256;
const MESSAGE_BYTES: usize = 32 * 1024;
/// What the stalled may cost altogether. Were messages kept for each of them, it would be several times as much.
const KEPT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A reader of the channel's events that reads the head of the answer and then nothing.
async fn stall(server: &Server, channel: &str, since: u64) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // Little room on this side, so that the server has to stop soon.
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address().parse().unwrap()).await.unwrap();
    let token = BOB;
    let head = format!(
        "GET /v1/channels/{channel}/events?sinceSequence={since} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\
         authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    within("the head of a stream", stream.read_exact(&mut first)).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

/// Follows to a sequence and gives the sequences of the messages it was told.
async fn follow(mut reader: Reader, to: u64) -> Vec<u64> {
    let mut sequences: Vec<u64> = Vec::new();
    within("every message", async {
        while sequences.last() != Some(&to) {
            let event = reader.next().await.expect("the stream goes on");
            if event.data["kind"] == "messageEvent" {
                sequences.push(event.data["event"]["sequence"].as_u64().unwrap());
            }
        }
    })
    .await;
    sequences
}

async fn open(server: &Server, channel: &str, since: u64) -> Reader {
    let path = format!("/v1/channels/{channel}/events?sinceSequence={since}");
    let request = server.http(Some(BOB)).get(&path).header("accept", "text/event-stream");
    Reader::of_channel(within("a stream", request.send()).await.unwrap())
}

/// Publishes a round to those who read it, all of which has to arrive in order.
async fn round(server: &Server, channel: &str, since: u64) {
    let ann = server.http(Some(ANN));
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        readers.spawn(follow(open(server, channel, since).await, since + MESSAGES));
    }
    let words = "x".repeat(MESSAGE_BYTES);
    for number in 1..=MESSAGES {
        let event = publish(&ann, channel, &words).await;
        assert_eq!(event["sequence"], since + number);
    }
    let expected: Vec<u64> = (since + 1..=since + MESSAGES).collect();
    while let Some(seen) = readers.join_next().await {
        assert_eq!(seen.unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_never_read_change_nothing_for_the_others() {
    let (_dir, server) = dev().await;
    let channel = channel_with_bob(&server.http(Some(ANN))).await;
    // What a round costs by itself, and the same with those who never read.
    let begun = server.resident_bytes();
    round(&server, &channel, 0).await;
    let without = server.resident_bytes().saturating_sub(begun);
    let mut stalled = Vec::new();
    for number in 0..STALLED {
        // Some stall while they catch up, the others while they follow.
        let since = if number % 2 == 0 { 0 } else { MESSAGES };
        stalled.push(stall(&server, &channel, since).await);
    }
    let begun = server.resident_bytes();
    round(&server, &channel, MESSAGES).await;
    let with = server.resident_bytes().saturating_sub(begun);
    let kept = with.saturating_sub(without);
    assert!(kept < KEPT_BYTES_MAX, "{STALLED} stalled readers cost {kept} bytes ({with} with, {without} without them)");

    // One that begins to read at last has missed nothing.
    let ids = read_at_last(stalled.pop().unwrap(), 2 * MESSAGES).await;
    assert_eq!(ids, (MESSAGES + 1..=2 * MESSAGES).collect::<Vec<_>>());
}

/// The ids of all frames up to the one with this id.
async fn read_at_last(mut stream: TcpStream, last: u64) -> Vec<u64> {
    let (mut ids, mut line, mut piece) = (Vec::<u64>::new(), Vec::new(), vec![0; 64 * 1024]);
    within("what was missed", async {
        while ids.last() != Some(&last) {
            let read = stream.read(&mut piece).await.unwrap();
            assert_ne!(read, 0, "the stream goes on");
            for byte in &piece[..read] {
                match byte {
                    b'\r' => {}
                    b'\n' => {
                        let text = std::str::from_utf8(&line).unwrap();
                        ids.extend(text.strip_prefix("id: ").map(|id| id.parse::<u64>().unwrap()));
                        line.clear();
                    }
                    byte => line.push(*byte),
                }
            }
        }
    })
    .await;
    ids
}
