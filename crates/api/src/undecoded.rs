//! gRPC calls that no service of ours sees: the library refuses messages that cannot be read and methods that are not there, in
//! words and with numbers of its own; here they become what `docs/reference/errors.md` says of the same fault everywhere else.

use factum_model::{ErrorCode, Refusal};
use tonic::{Code, Status};

use crate::grpc::ERROR_METADATA;

/// Where A2A's statuses have their details.
const DETAILS: &str = "grpc-status-details-bin";

/// What a service of the library answers with.
pub(crate) type GrpcResponse = http::Response<tonic::body::Body>;

/// A call that did not get to its service.
pub(crate) enum Lost {
    /// Its message cannot be read.
    Message(Refusal),
    /// The service has no such method.
    Method,
}

/// A response as it is, unless it is the library's about a call that it did not pass on. Services of ours put details beside
/// every refusal, so a status without any is not theirs.
pub(crate) fn reworded<B: Default>(
    response: http::Response<B>,
    max: usize,
    status: impl FnOnce(&Lost) -> Status,
) -> http::Response<B> {
    let headers = response.headers();
    if headers.contains_key(ERROR_METADATA) || headers.contains_key(DETAILS) {
        return response;
    }
    let Some(said) = Status::from_header_map(headers) else { return response };
    let lost = match said.code() {
        Code::OutOfRange => {
            let message = format!("the message is larger than body_bytes_max, {max} bytes");
            let refusal = Refusal::new(ErrorCode::LimitExceeded, message);
            Lost::Message(refusal.with("limit", serde_json::json!({ "name": "body_bytes", "max": max })))
        }
        Code::Internal => Lost::Message(Refusal::invalid(format!("the message cannot be read: {}", said.message()))),
        Code::Unimplemented => Lost::Method,
        _ => return response,
    };
    status(&lost).into_http()
}

/// The words for a method that is not there.
pub(crate) const NO_SUCH_METHOD: &str = "the service has no such method";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::{lost, status};

    #[test]
    fn only_what_the_library_says_is_reworded() {
        let details = Status::with_details(Code::Internal, "ours", b"details".to_vec().into());
        let table = [
            (Status::out_of_range("too much"), Code::ResourceExhausted),
            (Status::internal("no protobuf"), Code::InvalidArgument),
            (Status::unimplemented("no such method"), Code::Unimplemented),
            (status(&Refusal::internal("ours")), Code::Internal),
            (details, Code::Internal),
        ];
        for (said, expected) in table {
            let told = said.to_string();
            let response = reworded(said.into_http::<()>(), 7, lost);
            let now = Status::from_header_map(response.headers()).expect("a status");
            assert_eq!(now.code(), expected, "{told}");
        }
    }
}
