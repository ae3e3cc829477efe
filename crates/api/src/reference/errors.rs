//! `errors.md`: every code, in words. The words are here, the numbers come from `status`.

use factum_model::ErrorCode;

use super::markdown::{Page, code};
use crate::status::{grpc_code, http_status, rpc_code};

const ABOUT: &str = "\
A refusal is the same object on every transport: `code`, `message` (for people), `retryable` (whether the same request may
succeed later, unchanged) and `details` (facts to act on). A refused command has written nothing.

HTTP answers with `application/problem+json`: that object, with RFC 9457's `type`, `title`, `status` and `detail` beside it.
JSON-RPC answers with an error whose `data` is that object. gRPC answers with a status
of the same message, and that object as JSON in the metadata `factum-error-bin`.

Faults of JSON-RPC itself have its own numbers: -32700 (not JSON), -32600 (not a request), -32601 (no such method).";

/// What a code means, when it happens, what to do.
struct Words {
    means: &'static str,
    when: &'static str,
    advice: &'static str,
}

pub(super) fn page() -> String {
    let mut page = Page::new("Errors", ABOUT);
    let row = |error: ErrorCode| {
        let retryable = if error.retryable() { "yes" } else { "" };
        let link = format!("[{}](#{})", code(error.as_str()), error.as_str());
        let grpc = code(&grpc_name(error));
        [link, http_status(error).to_string(), rpc_code(error).to_string(), grpc, retryable.to_owned()]
    };
    page.table(["code", "HTTP", "JSON-RPC", "gRPC", "retryable"], ErrorCode::ALL.map(row));
    for error in ErrorCode::ALL {
        let words = words(error);
        page.heading(2, error.as_str());
        page.text(words.means);
        page.list([format!("When: {}", words.when), format!("What to do: {}", words.advice)]);
    }
    page.finish()
}

/// `NOT_FOUND`, as gRPC's own documents spell it.
fn grpc_name(error: ErrorCode) -> String {
    let mut name = String::new();
    for letter in format!("{:?}", grpc_code(error)).chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn words(error: ErrorCode) -> Words {
    match error {
        ErrorCode::NotFound => Words {
            means: "There is no such thing, or you may not know that there is. The two are the same bytes.",
            when: "an id that does not exist, or that belongs to another account; over HTTP also a path that is not served.",
            advice: "check the id and the account of your credential. Asking again does not help.",
        },
        ErrorCode::PermissionDenied => Words {
            means: "You are known, and your credential is not good for this command, whatever it names.",
            when: "a scope is missing; `details.required_scope` names it. On `factum dev` also a request that a web page of \
                   another site sent.",
            advice: "use a credential with the scope; see [access.md](access.md).",
        },
        ErrorCode::Conflict => Words {
            means: "Something is there already, or changed in between.",
            when: "an id of your own is taken by other content, an `idempotency_key` was used with other params, an action \
                   was answered by somebody else first, or the thread is busy and `on_busy` is `reject`.",
            advice: "read the current state, decide again, and use a new key.",
        },
        ErrorCode::InvalidParams => Words {
            means: "The request is malformed.",
            when: "the params are not JSON, a field is missing or of the wrong type, or a cursor is not one of ours.",
            advice: "correct the request; `message` says where. Start again without the cursor.",
        },
        ErrorCode::LimitExceeded => Words {
            means: "A named limit was passed.",
            when: "a body, a text, a list, a batch or a nesting is too large. `details.limit` has its `name` and `max`.",
            advice: "send less at once, or have the operator raise that limit. The rest of a body that is too large is read, up \
                     to 64 MiB and for up to five seconds, so that the refusal arrives; whoever sends more is cut off. A \
                     WebSocket is closed with 1009.",
        },
        ErrorCode::RateLimited => Words {
            means: "Too many requests in too short a time.",
            when: "a principal passes its requests per second, over all its connections.",
            advice: "wait for `details.retry_after_ms` (HTTP also has `Retry-After`), then send the same request.",
        },
        ErrorCode::Unavailable => Words {
            means: "This cannot be done here or now.",
            when: "the server is shutting down, the store does not take writes, a request took too long, the keys of a token's \
                   issuer cannot be read, or the command is not part of this version (then `retryable` is false).",
            advice: "where `retryable` is true, wait and repeat with the same `idempotency_key`: after a timeout the first \
                     try may have taken effect.",
        },
        ErrorCode::Unauthenticated => Words {
            means: "There is no credential, or it is not accepted. Why it is not is in the server's log only, \
                    at the level `info`, for the first 60 of a minute.",
            when: "the header is missing or malformed, the key is revoked or expired, the token's signature, issuer, audience \
                   or time does not fit.",
            advice: "get a fresh credential; see [access.md](access.md).",
        },
        ErrorCode::PreconditionFailed => Words {
            means: "The state does not allow it.",
            when: "the turn has ended, the task is in a status that this does not start from (`moves.md` has the table). \
                   `details` says which state it is.",
            advice: "read the state; do what leads to one that allows it, or do nothing.",
        },
        ErrorCode::Internal => Words {
            means: "A defect on our side.",
            when: "it should not happen.",
            advice: "report it with the time and the trace id. What was acknowledged before is safe.",
        },
    }
}
